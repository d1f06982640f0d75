"""WindowAnswers: the answers of some windows of some keys, from the rows of their panes - all rows, or those of before.

Skylines are read off the ranges of windows that each row is in; other answers are combined from tiles of panes. Both
times the same tree adds up: what a new row does not change stays the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.flow.late.pane_order import PaneOrder
from skypane.flow.late.reach import Reach
from skypane.flow.windows.lowering import AnswerRows, Failed, lowered
from skypane.flow.windows.slide.critical import CriticalSlide
from skypane.flow.windows.slide.tile_tree import Covered, TileTree
from skypane.model.columns import PANE, PREFIX
from skypane.model.groups import BoolArray, Groups, Int64Array
from skypane.queries.base import Grouped
from skypane.queries.reduce import combine
from skypane.tables.grouping import Order
from skypane.tables.ranges import ranges
from skypane.tables.take import take_rows

_INDEX = f"{PREFIX}index"


class KeyWindows(NamedTuple):
    """Windows of keys, each once, in the order of (key, window)."""

    key: Int64Array
    window: Int64Array


class WindowAnswers:
    """Rows of any number of keys; keys have the numbers of the order."""

    def __init__(self, definition: Definition, rows: pa.Table) -> None:
        self._definition = definition
        self._rows = rows
        self._order = PaneOrder(rows, definition.keys)

    def touched(self, found: Reach, before: int) -> KeyWindows:
        """The windows below ``before`` that keep some row."""
        last = np.minimum(found.last, before - 1)
        real = found.first <= last
        key, first, last = self._order.key_of_row[found.rows[real]], found.first[real], last[real]
        if not len(key):
            return KeyWindows(key, first)
        oldest = int(first.min())
        stride = int(last.max()) - oldest + 2
        # One number for (key, window); ranges that overlap become one before they are written out.
        low, high = key * stride + first - oldest, key * stride + last - oldest
        order = np.argsort(low, kind="stable")
        low, high = low[order], np.maximum.accumulate(high[order])
        begins = np.flatnonzero(np.append(True, low[1:] > high[:-1]))
        ends = np.append(begins[1:], len(low)) - 1
        keys, windows = np.divmod(ranges(low[begins], high[ends] - low[begins] + 1), stride)
        return KeyWindows(keys, windows + oldest)

    def leads(self, keys: Int64Array) -> pa.Table:
        """A row of each of these keys."""
        numbers, first = np.unique(self._order.key_of_row, return_index=True)
        return take_rows(self._rows, first[np.searchsorted(numbers, keys)])

    def answers(self, requested: KeyWindows, present: BoolArray) -> AnswerRows:
        """One group of answer rows for each window, of those rows that are present; perhaps an empty one."""
        if self._definition.query.dominance is not None:
            return self._selected(requested, *self._by_dominance(requested, present))
        if self._definition.query.selection is not None:
            return self._selected(requested, *self._by_selection(requested, present))
        parts = list(self._by_tiles(requested, present))
        sizes = np.concatenate([part.answer.groups.sizes for part in parts])
        answer = Grouped(pa.concat_tables([part.answer.table for part in parts]), Groups.from_sizes(sizes))
        return AnswerRows(answer, Failed.together([part.failed for part in parts if part.failed is not None]))

    def _selected(self, requested: KeyWindows, rows: Int64Array, groups: Groups) -> AnswerRows:
        # The key of an answer is in its rows; one without rows has none, and needs none.
        first = np.append(rows, 0)[groups.offsets[:-1]]
        return lowered(
            self._definition, Grouped(take_rows(self._rows, rows), groups), self._rows, first, requested.window
        )

    def _by_dominance(self, requested: KeyWindows, present: BoolArray) -> tuple[Int64Array, Groups]:
        """The rows of each window: every row is in a range of windows."""
        query = self._definition.query.dominance
        assert query is not None
        slim = self._slim((*self._definition.keys, PANE, *query.inputs()))
        skylines = self._order.combined(self._definition.query, slim, (), present).table
        entered, left = CriticalSlide(self._definition).windows_of(skylines)
        index = skylines.column(_INDEX).to_numpy()
        key = self._order.key_of_row[index]
        oldest = int(requested.window.min())
        stride = int(requested.window.max()) - oldest + 2
        places = requested.key * stride + requested.window - oldest
        low = np.searchsorted(places, key * stride + np.clip(entered - oldest, 0, stride - 1))
        high = np.searchsorted(places, key * stride + np.clip(left - oldest, -1, stride - 2), side="right")
        count = np.maximum(high - low, 0)
        place = ranges(low, count)
        by_place = np.argsort(place, kind="stable")
        sizes = np.bincount(place, minlength=len(requested.window))
        return np.repeat(index, count)[by_place], Groups.from_sizes(sizes)

    def _by_selection(self, requested: KeyWindows, present: BoolArray) -> tuple[Int64Array, Groups]:
        """The rows of each window, selected from tiles."""
        query = self._definition.query.selection
        assert query is not None
        slim = self._slim(tuple(query.inputs()))
        tree, covered = self._tree(self._order.combined(query, slim, (), present), requested)
        rows, sizes = [], []
        for _, order, _ in covered:
            gathered = take_rows(tree.table, order.rows)
            chosen = query.select(gathered.select(list(query.inputs())), order.groups)
            rows.append(gathered.column(_INDEX).to_numpy()[chosen])
            sizes.append(order.groups.after_keeping(chosen).sizes)
        return np.concatenate(rows), Groups.from_sizes(np.concatenate(sizes))

    def _by_tiles(self, requested: KeyWindows, present: BoolArray) -> Iterator[AnswerRows]:
        """The answers of each window, with their keys."""
        query = self._definition.query
        tree, covered = self._tree(self._order.combined(query, self._rows, self._definition.frame, present), requested)
        for run, order, _ in covered:
            full = order.groups.sizes > 0
            some = Order(order.rows, Groups.from_sizes(order.groups.sizes[full]))
            whole = combine(query, tree.table, some, self._definition.frame)
            numbers = np.flatnonzero(full) + run.start
            answer, failed = lowered(self._definition, whole, tree.table, some.first_rows(), requested.window[numbers])
            sizes = np.zeros(len(full), dtype=np.int64)
            sizes[full] = answer.groups.sizes
            failed = None if failed is None else failed._replace(groups=numbers[failed.groups])
            yield AnswerRows(Grouped(answer.table, Groups.from_sizes(sizes)), failed)

    def _tree(self, leaves: Grouped, requested: KeyWindows) -> tuple[TileTree, Iterator[Covered]]:
        first, end = self._order.window(self._definition.window, requested.key, requested.window, requested.window)
        frame = () if self._definition.query.selective else self._definition.frame
        tree = TileTree(self._definition.query, leaves, frame=frame, longest=int((end - first).max()))
        return tree, tree.cover(first, end)

    def _slim(self, names: tuple[str, ...]) -> pa.Table:
        """Only what decides; payload is touched once, for the rows of answers."""
        return self._rows.select(list(dict.fromkeys(names))).append_column(
            _INDEX, pa.array(np.arange(self._rows.num_rows))
        )
