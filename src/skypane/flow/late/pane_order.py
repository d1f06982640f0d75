"""PaneOrder: the panes of all keys in a row, so that the panes of one window of one key are a range of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from skypane.model.columns import PANE
from skypane.model.groups import BoolArray, Groups, Int64Array
from skypane.model.panes import Panes
from skypane.queries.base import Grouped, Query
from skypane.queries.reduce import combine
from skypane.tables.grouping import Order, key_codes, sort_by


class PaneOrder:
    """The leaves are the panes that some row of the table is of, key by key, oldest first."""

    def __init__(self, table: pa.Table, keys: Sequence[str]) -> None:
        codes, panes = key_codes(table, keys), table.column(PANE).to_numpy()
        self._order = sort_by(codes, panes)
        self._pane, code = panes[self._order.first_rows()], codes[self._order.first_rows()]
        self._key = np.concatenate(([0], np.cumsum(code[1:] != code[:-1]))).astype(np.int64)
        self._oldest = int(self._pane.min())
        self._stride = int(self._pane.max()) - self._oldest + 2
        leaf = np.empty(table.num_rows, dtype=np.int64)
        leaf[self._order.rows] = self._order.groups.row_ids()
        self.key_of_row = self._key[leaf]
        """Numbers from 0, one for each key."""

    def __len__(self) -> int:
        return len(self._pane)

    def window(
        self, spec: Panes, key: Int64Array, first: Int64Array, last: Int64Array
    ) -> tuple[Int64Array, Int64Array]:
        """The panes from the start of window ``first`` to the end of window ``last``: first leaf, and after the last.

        With a ``first`` that is younger than ``last``, the panes that both have.
        """
        start, end = first * spec.panes_per_slide, last * spec.panes_per_slide + spec.panes_per_window
        return self._place(key, start), self._place(key, end)

    def _place(self, key: Int64Array, pane: Int64Array) -> Int64Array:
        """The first leaf of a key that is of this pane or a younger one."""
        number = np.clip(pane - self._oldest, 0, self._stride - 1)
        own = self._key * self._stride + self._pane - self._oldest
        return np.searchsorted(own, key * self._stride + number).astype(np.int64)

    def combined(
        self, query: Query, table: pa.Table, frame: Sequence[str], present: BoolArray | None = None
    ) -> Grouped:
        """One partial for each leaf, of those rows that are present; leaves without rows stay, empty."""
        rows, sizes = self._order.rows, self._order.groups.sizes
        if present is not None:
            here = present[rows]
            sizes = Groups(np.concatenate(([0], np.cumsum(here)))[self._order.groups.offsets]).sizes
            rows = rows[here]
        full = sizes > 0
        reduced = combine(query, table, Order(rows, Groups.from_sizes(sizes[full])), frame)
        sizes = np.zeros(len(sizes), dtype=np.int64)
        sizes[full] = reduced.groups.sizes
        return Grouped(reduced.table, Groups.from_sizes(sizes))
