"""Ranges: many runs of consecutive numbers, in one array."""

from __future__ import annotations

import numpy as np

from skypane.model.groups import Groups, Int64Array


def ranges(starts: Int64Array, sizes: Int64Array) -> Int64Array:
    """``starts[0], starts[0] + 1, ...`` for ``sizes[0]`` numbers, then the same for the next."""
    if len(sizes) and int(sizes.max()) <= 1:  # as with one row a group: no runs to speak of
        return starts[sizes > 0]
    return np.repeat(starts, sizes) + ramp(sizes)


def ramp(sizes: Int64Array) -> Int64Array:
    """``0 .. sizes[0] - 1, 0 .. sizes[1] - 1, ...``."""
    offsets = Groups.from_sizes(sizes).offsets
    return np.arange(offsets[-1], dtype=np.int64) - np.repeat(offsets[:-1], sizes)
