"""TilesSlide: windows of any associative query from a few large tiles each, instead of from all their panes.

The panes of a step are the leaves of a binary tree; a tile is the combination of two neighbours of the level below. A
window of n panes is the combination of at most 2 log2(n) tiles. Every level, and all windows together, take one
vectorised call for all keys, and the tree needs no state: it is built again from the panes that are kept anyway, which
costs one combination for each pane.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from skypane.flow.windows.slide.base import Fired, cut
from skypane.flow.windows.slide.recompute import RecomputeSlide
from skypane.model.columns import PANE
from skypane.model.groups import Groups, Int64Array
from skypane.model.panes import Span
from skypane.queries.base import Grouped
from skypane.queries.reduce import combine
from skypane.tables.grouping import Order, key_codes
from skypane.tables.ranges import ramp, ranges


class TilesSlide(RecomputeSlide):
    """The cost of a window grows with the logarithm of the number of its panes."""

    name = "tiles"

    def _answers(self, panes: Grouped, span: Span) -> Iterator[Fired]:
        sizes = panes.groups.sizes
        leaves = Grouped(panes.table, Groups(np.append(panes.groups.offsets[:-1][sizes > 0], panes.groups.rows)))
        first, end, window_id = self._leaf_ranges(leaves, span)
        if not len(window_id):
            return
        tiles = self._tiles(leaves, int((end - first).max()))
        members, counts = _covering(first, end, len(leaves.groups))
        groups = Groups.from_sizes(counts)
        member_rows = tiles.groups.sizes[members]
        for run in cut(groups, member_rows):
            low, high = int(groups.offsets[run.start]), int(groups.offsets[run.stop])
            own = Groups(groups.offsets[run.start : run.stop + 1] - low)
            rows = ranges(tiles.groups.offsets[members[low:high]], member_rows[low:high])
            row_groups = Groups(Groups.from_sizes(member_rows[low:high]).offsets[own.offsets])
            yield Fired(window_id[run.start : run.stop], self._answer(tiles.table, Order(rows, row_groups), own))

    def _leaf_ranges(self, leaves: Grouped, span: Span) -> tuple[Int64Array, Int64Array, Int64Array]:
        """For every window to fire that has panes: its first leaf, the one after its last, and its number.

        Leaves are in the order of (key, pane). A window is found at its first leaf: the one whose predecessor is of
        another key, or too old to be in the window.
        """
        window = self._definition.window
        leads = leaves.table.select([*self._definition.keys, PANE]).take(pa.array(leaves.groups.offsets[:-1]))
        pane, key = leads.column(PANE).to_numpy(), key_codes(leads, self._definition.keys)
        key = np.concatenate(([0], np.cumsum(key[1:] != key[:-1]))).astype(np.int64)
        newest = window.last_window(pane)
        unseen = np.full(len(pane), span.first)
        follows = np.flatnonzero(key[1:] == key[:-1]) + 1
        unseen[follows] = np.maximum(span.first, newest[follows - 1] + 1)
        low = np.maximum(window.first_window(pane), unseen)
        count = np.maximum(np.minimum(newest, span.end - 1) - low + 1, 0)
        first = np.repeat(np.arange(len(pane)), count)
        window_id = np.repeat(low, count) + ramp(count)
        # One number for (key, pane), in order: where the window's end would be inserted is the leaf after its last.
        oldest = int(pane.min())
        stride = int(pane.max()) - oldest + window.panes_per_window + 2
        after = window_id * window.panes_per_slide + window.panes_per_window - oldest
        end = np.searchsorted(key * stride + pane - oldest, key[first] * stride + np.minimum(after, stride - 1))
        by_window = np.argsort(window_id, kind="stable")
        return first[by_window], end[by_window].astype(np.int64), window_id[by_window]

    def _tiles(self, leaves: Grouped, longest: int) -> Grouped:
        """All levels one after the other: leaves, then pairs, then pairs of pairs, as large as a window can use."""
        levels = [leaves]
        while len(levels[-1].groups) > 1 and 2 ** len(levels) <= longest:
            below = levels[-1]
            bounds = below.groups.offsets[: len(below.groups) // 2 * 2 + 1 : 2]
            order = Order(np.arange(bounds[-1], dtype=np.int64), Groups(bounds))
            # A tile across two keys is never used; combining it does no harm.
            levels.append(combine(self._definition.query, below.table, order, self._definition.frame))
        sizes = np.concatenate([level.groups.sizes for level in levels])
        names = levels[0].table.column_names if len(levels) == 1 else levels[1].table.column_names
        return Grouped(pa.concat_tables([level.table.select(names) for level in levels]), Groups.from_sizes(sizes))


def _covering(first: Int64Array, end: Int64Array, leaves: int) -> tuple[Int64Array, Int64Array]:
    """The tiles that cover each range of leaves, range by range, and how many there are for each."""
    low, high = first.copy(), end.copy()
    chosen: list[Int64Array] = []
    owner: list[Int64Array] = []
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
