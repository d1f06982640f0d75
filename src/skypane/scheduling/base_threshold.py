"""BaseThreshold: how large a shard usually is - mean plus standard deviation of the shards closed lately."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

WARM_UP_PANES = 5
MEMORY_SHARDS = 100


class BaseThreshold:
    """Remembers the sizes of the last closed shards; those without records are left out."""

    def __init__(self) -> None:
        self._sizes: deque[int] = deque(maxlen=MEMORY_SHARDS)
        self._pane_sizes: deque[int] = deque(maxlen=MEMORY_SHARDS)
        self._panes = 0

    def observe(self, shards: Iterable[int]) -> None:
        """Take in the shard sizes of a closed pane."""
        sizes = [size for size in shards if size > 0]
        if sizes:
            self._panes += 1
            self._sizes.extend(sizes)
            self._pane_sizes.append(sum(sizes))

    @property
    def records(self) -> float:
        """The threshold in records; infinite, so that nothing is split, during the first panes."""
        if self._panes < WARM_UP_PANES:
            return math.inf
        mean = sum(self._sizes) / len(self._sizes)
        return mean + math.sqrt(sum((size - mean) ** 2 for size in self._sizes) / len(self._sizes))

    @property
    def largest_pane(self) -> int:
        """The largest pane remembered: a threshold above it splits nothing."""
        return max(self._pane_sizes, default=0)

    @property
    def mean_pane(self) -> float:
        """The mean size of the panes remembered."""
        return sum(self._pane_sizes) / len(self._pane_sizes) if self._pane_sizes else 0.0

    def to_json(self) -> dict[str, object]:
        """A form that survives JSON."""
        return {"sizes": list(self._sizes), "pane_sizes": list(self._pane_sizes), "panes": self._panes}

    def restore(self, body: Mapping[str, Any]) -> None:
        """Continue from :meth:`to_json`."""
        self._sizes = deque(body["sizes"], maxlen=MEMORY_SHARDS)
        self._pane_sizes = deque(body["pane_sizes"], maxlen=MEMORY_SHARDS)
        self._panes = body["panes"]
