"""TileTree: partials of neighbours combined two by two, so that any range of them is the combination of a few tiles.

The leaves are groups of partial rows in some order; a tile is the combination of two neighbours of the level below. A
range of n leaves is covered by at most 2 log2(n) tiles. Every level takes one vectorised call, whatever the leaves
belong to, and costs half as much as the level below, so that the tree costs about one combination for each leaf.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from skypane.flow.windows.slide.base import cut
from skypane.model.groups import Groups, Int64Array
from skypane.queries.base import Grouped, Query
from skypane.queries.reduce import combine
from skypane.tables.grouping import Order
from skypane.tables.ranges import ranges


class Covered(NamedTuple):
    """Some ranges of leaves: which of those asked for, the rows of their tiles by range, how many tiles each has."""

    run: range
    order: Order
    members: Groups


class TileTree:
    """Leaves without rows are allowed: trees of equally many leaves add up in the same order, to the last bit."""

    def __init__(self, query: Query, leaves: Grouped, frame: Sequence[str], longest: int) -> None:
        self._leaves = len(leaves.groups)
        self._tiles = _tiles(query, leaves, frame, longest)

    @property
    def table(self) -> pa.Table:
        """The rows of all tiles."""
        return self._tiles.table

    def cover(self, first: Int64Array, end: Int64Array) -> Iterator[Covered]:
        """The tiles that cover the leaves ``first .. end - 1``, for many ranges, as many at once as fit into memory.

        No range is longer than the tree was made for.
        """
        members, counts = _covering(first, end, self._leaves)
        groups = Groups.from_sizes(counts)
        member_rows = self._tiles.groups.sizes[members]
        for run in cut(groups, member_rows):
            low, high = int(groups.offsets[run.start]), int(groups.offsets[run.stop])
            own = Groups(groups.offsets[run.start : run.stop + 1] - low)
            rows = ranges(self._tiles.groups.offsets[members[low:high]], member_rows[low:high])
            row_groups = Groups(Groups.from_sizes(member_rows[low:high]).offsets[own.offsets])
            yield Covered(run, Order(rows, row_groups), own)


def _tiles(query: Query, leaves: Grouped, frame: Sequence[str], longest: int) -> Grouped:
    """All levels one after the other: leaves, then pairs, then pairs of pairs, as large as a range can use."""
    levels = [leaves]
    while len(levels[-1].groups) > 1 and 2 ** len(levels) <= longest:
        below = levels[-1]
        bounds = below.groups.offsets[: len(below.groups) // 2 * 2 + 1 : 2]
        sizes = np.diff(bounds)
        full = sizes > 0
        order = Order(np.arange(bounds[-1], dtype=np.int64), Groups.from_sizes(sizes[full]))
        # A tile across two keys is never used; combining it does no harm.
        combined = combine(query, below.table, order, frame)
        sizes[full] = combined.groups.sizes
        levels.append(Grouped(combined.table, Groups.from_sizes(sizes)))
    sizes = np.concatenate([level.groups.sizes for level in levels])
    names = levels[0].table.column_names if len(levels) == 1 else levels[1].table.column_names
    return Grouped(pa.concat_tables([level.table.select(names) for level in levels]), Groups.from_sizes(sizes))


def _covering(first: Int64Array, end: Int64Array, leaves: int) -> tuple[Int64Array, Int64Array]:
    """The tiles that cover each range of leaves, range by range, and how many there are for each."""
    low, high = first.copy(), end.copy()
    chosen: list[Int64Array] = [np.zeros(0, dtype=np.int64)]
    owner: list[Int64Array] = [np.zeros(0, dtype=np.int64)]
    start, width = 0, leaves
    while (low < high).any():
        left = np.flatnonzero((low < high) & (low % 2 == 1))
        right = np.flatnonzero((low < high) & (high % 2 == 1))
        owner += [left, right]
        chosen += [start + low[left], start + high[right] - 1]
        low, high = (low + 1) // 2, high // 2
        start, width = start + width, width // 2
    owners, tiles = np.concatenate(owner), np.concatenate(chosen)
    return tiles[np.argsort(owners, kind="stable")], np.bincount(owners, minlength=len(first)).astype(np.int64)
