"""TilesSlide: windows of any associative query from a few large tiles each, instead of from all their panes.

The panes of a step are the leaves of a tree of tiles. All windows together take one vectorised call for all keys, and
the tree needs no state: it is built again from the panes that are kept anyway.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from skypane.flow.windows.lowering import AnswerRows
from skypane.flow.windows.slide.base import Firing, span_at
from skypane.flow.windows.slide.recompute import RecomputeSlide
from skypane.flow.windows.slide.tile_tree import TileTree
from skypane.model.columns import PANE
from skypane.model.groups import Groups, Int64Array
from skypane.model.panes import Span
from skypane.queries.base import Grouped
from skypane.tables.grouping import key_codes
from skypane.tables.ranges import ranges
from skypane.tables.take import take_rows


class TilesSlide(RecomputeSlide):
    """The cost of a window grows with the logarithm of the number of its panes."""

    name = "tiles"

    @property
    def any_order(self) -> bool:
        """Leaves of one key are neighbours."""
        return False

    def visits(self, windows: int) -> int:
        """Building the tree costs about as much again as its leaves."""
        return min(2, windows)

    def _answers(self, firing: Firing) -> Iterator[tuple[Int64Array, AnswerRows]]:
        panes, sizes = firing.panes, firing.panes.groups.sizes
        leaves = Grouped(panes.table, Groups(np.append(panes.groups.offsets[:-1][sizes > 0], panes.groups.rows)))
        first, end, window_id = self._leaf_ranges(leaves, firing.span)
        if not len(window_id):
            return
        longest = int((end - first).max())
        tree = TileTree(self._definition.query, leaves, frame=self._definition.frame, longest=longest)
        for run, order, members in tree.cover(first, end):
            window_ids = window_id[run.start : run.stop]
            yield window_ids, self._answer(tree.table, order, members, window_ids, firing.naming)

    def _leaf_ranges(self, leaves: Grouped, span: Span) -> tuple[Int64Array, Int64Array, Int64Array]:
        """For every window to fire that has panes: its first leaf, the one after its last, and its number.

        Leaves are in the order of (key, pane). A window is found at its first leaf: the one whose predecessor is of
        another key, or too old to be in the window.
        """
        window = self._definition.window
        leads = take_rows(leaves.table.select([*self._definition.keys, PANE]), leaves.groups.offsets[:-1])
        pane, key = leads.column(PANE).to_numpy(), key_codes(leads, self._definition.keys)
        key = np.concatenate(([0], np.cumsum(key[1:] != key[:-1]))).astype(np.int64)
        newest, span = window.last_window(pane), span_at(span, leads)
        unseen = np.array(np.broadcast_to(span.first, len(pane)))
        follows = np.flatnonzero(key[1:] == key[:-1]) + 1
        unseen[follows] = np.maximum(unseen[follows], newest[follows - 1] + 1)
        low = np.maximum(window.first_window(pane), unseen)
        count = np.maximum(np.minimum(newest, span.end - 1) - low + 1, 0)
        first = np.repeat(np.arange(len(pane)), count)
        window_id = ranges(low, count)
        # One number for (key, pane), in order: where the window's end would be inserted is the leaf after its last.
        oldest = int(pane.min())
        stride = int(pane.max()) - oldest + window.panes_per_window + 2
        after = window_id * window.panes_per_slide + window.panes_per_window - oldest
        end = np.searchsorted(key * stride + pane - oldest, key[first] * stride + np.minimum(after, stride - 1))
        by_window = np.argsort(window_id, kind="stable")
        return first[by_window], end[by_window].astype(np.int64), window_id[by_window]
