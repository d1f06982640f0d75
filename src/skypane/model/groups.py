"""Groups: where each group of rows starts and ends in a table that is sorted by group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]
Float64Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Groups:
    """The rows of group ``i`` are ``offsets[i]:offsets[i + 1]``; a group may be empty."""

    offsets: Int64Array

    @classmethod
    def whole(cls, rows: int) -> Groups:
        """All rows in one group."""
        return cls(np.array([0, rows], dtype=np.int64))

    @classmethod
    def from_sizes(cls, sizes: npt.ArrayLike) -> Groups:
        """Groups of the given sizes, one after the other."""
        sizes = np.asarray(sizes, dtype=np.int64)
        offsets = np.zeros(len(sizes) + 1, dtype=np.int64)
        np.cumsum(sizes, out=offsets[1:])
        return cls(offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def rows(self) -> int:
        """How many rows all groups have together."""
        return int(self.offsets[-1])

    @property
    def sizes(self) -> Int64Array:
        """How many rows each group has."""
        return np.diff(self.offsets)

    def row_ids(self) -> Int64Array:
        """The group id of each row."""
        return np.repeat(np.arange(len(self), dtype=np.int64), self.sizes)

    def after_keeping(self, indices: Int64Array) -> Groups:
        """The groups of the rows that are left when only ``indices`` (ascending) are kept."""
        return Groups(np.searchsorted(indices, self.offsets).astype(np.int64))
