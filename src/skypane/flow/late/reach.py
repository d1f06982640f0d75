"""Reach: the windows that keep a record, given all other records that are known.

A window keeps a record if the query selects it from the rows of the window: a record that every window leaves out
changes no answer. For a query whose rows dominate each other, these windows follow each other. For another selection
they are searched for, from many windows at once to a single one. A row that is left out of some rows is left out of
more rows, too, so that

* no window of a range keeps a row that is not selected from the panes that all of them have;
* every window of a range keeps a row that is selected from the panes that any of them has.

What is selected from a range of panes, a tree of tiles tells. So the cost grows with the rows, and with how often
windows next to each other disagree, but not with the number of windows. All of this holds for selections that select
from parts, and then from what is left, as they select from all: that is what makes panes possible at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.flow.windows.slide import critical
from skypane.flow.windows.slide.critical import window_range
from skypane.flow.windows.slide.tile_tree import TileTree
from skypane.kernels.arrays import NONE_PANE
from skypane.kernels.sliding import STILL_ALIVE, bound_groups, bound_one, warm_bounds
from skypane.model.columns import PANE, PREFIX
from skypane.model.groups import BoolArray, Int64Array
from skypane.queries.reduce import combine
from skypane.tables.grouping import key_codes, sort_by

_ROW = f"{PREFIX}reaching"


class Reach(NamedTuple):
    """Each row with a range of windows that keep it; a row may have none, or several."""

    rows: Int64Array
    first: Int64Array
    last: Int64Array


def reach(definition: Definition, table: pa.Table, wanted: BoolArray) -> Reach:
    """The windows that keep each of the wanted rows; where every record counts, all its windows do."""
    if definition.query.dominance is not None:
        return _by_dominance(definition, table, wanted)
    if definition.query.selection is not None and wanted.any():
        return _by_selection(definition, table, wanted)
    rows, panes = np.flatnonzero(wanted), table.column(PANE).to_numpy()[wanted]
    return _some(Reach(rows, definition.window.first_window(panes), definition.window.last_window(panes)))


def warm_reach() -> None:
    """Compile the kernels."""
    warm_bounds()


def _some(found: Reach) -> Reach:
    """Without the empty ranges."""
    return _where(found, found.first <= found.last)


def _by_dominance(definition: Definition, table: pa.Table, wanted: BoolArray) -> Reach:
    """Between the nearest older and the nearest younger pane with a row that dominates it."""
    query = definition.query.dominance
    assert query is not None
    codes = key_codes(table, definition.keys)
    order = sort_by(codes, np.zeros(len(codes), dtype=np.int64))
    rows, groups = order.rows, order.groups
    values = query.matrix(table.select(list(query.inputs())).take(pa.array(rows)))
    panes, asked = table.column(PANE).to_numpy()[rows], wanted[rows]
    older, younger = np.full(len(rows), NONE_PANE), np.full(len(rows), STILL_ALIVE)
    big = groups.sizes > critical.BIG_KEY_ROWS
    for index in np.flatnonzero(big):
        own = slice(int(groups.offsets[index]), int(groups.offsets[index + 1]))
        if asked[own].any():
            bound_one(values[own], panes[own], asked[own], older[own], younger[own], definition.window.shape)
    if not big.all():
        bound_groups(values, panes, asked & ~np.repeat(big, groups.sizes), groups.offsets, older, younger)
    entered, left = window_range(definition.window, panes, older, younger)
    return _some(Reach(rows[asked], entered[asked], left[asked]))


def _by_selection(definition: Definition, table: pa.Table, wanted: BoolArray) -> Reach:
    """Ranges of windows, halved until the windows of each agree."""
    panes = _Panes(definition, table, wanted)
    asked = panes.asked(wanted)
    if not len(asked.rows):
        return asked
    found, level = [], int((asked.last - asked.first).max()).bit_length()
    asked = _split(asked, level)
    while len(asked.rows):
        level -= 1
        kept, disputed = panes.decide(asked)
        found.append(kept)
        asked = _split(disputed, max(level, 0))
    return _together(found)


def _split(asked: Reach, level: int) -> Reach:
    """Every range cut at the multiple of ``2 ** level`` in it: so the ranges of neighbours become the same ones."""
    border = (asked.last >> level) << level
    older = Reach(asked.rows, asked.first, np.minimum(asked.last, border - 1))
    return _some(_together([older, Reach(asked.rows, np.maximum(asked.first, border), asked.last)]))


def _together(parts: Sequence[Reach]) -> Reach:
    return Reach(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


class _Panes:
    """The panes of the keys that are asked about, and what is selected from any range of them."""

    def __init__(self, definition: Definition, table: pa.Table, wanted: BoolArray) -> None:
        query = definition.query.selection
        assert query is not None
        self._query, self._window = query, definition.window
        codes = key_codes(table, definition.keys)
        rows = np.flatnonzero(np.isin(codes, codes[wanted]))
        slim = table.select(list(query.inputs())).append_column(_ROW, pa.array(np.arange(table.num_rows)))
        slim, codes, panes = slim.take(pa.array(rows)), codes[rows], table.column(PANE).to_numpy()[rows]
        order = sort_by(codes, panes)
        self._leaves = combine(query, slim, order, ())
        keys, self._pane = codes[order.first_rows()], panes[order.first_rows()]
        self._key = np.concatenate(([0], np.cumsum(keys[1:] != keys[:-1]))).astype(np.int64)
        self._oldest = int(self._pane.min())
        self._stride = int(self._pane.max()) - self._oldest + 2
        # At most so many panes share a window with one.
        self._tree = TileTree(query, self._leaves, (), 2 * definition.window.panes_per_window)
        self._leaf = np.full(table.num_rows, -1)
        self._leaf[self._leaves.table.column(_ROW).to_numpy()] = self._leaves.groups.row_ids()

    def asked(self, wanted: BoolArray) -> Reach:
        """All windows of each wanted row that its own pane keeps."""
        rows = np.flatnonzero(wanted & (self._leaf >= 0))
        panes = self._pane[self._leaf[rows]]
        return _some(Reach(rows, self._window.first_window(panes), self._window.last_window(panes)))

    def decide(self, asked: Reach) -> tuple[Reach, Reach]:
        """The ranges all of whose windows keep the row, and those of which only some may."""
        key = self._key[self._leaf[asked.rows]]
        step, width = self._window.panes_per_slide, self._window.panes_per_window
        shared = self._place(key, asked.last * step), self._place(key, asked.first * step + width)
        every = self._place(key, asked.first * step), self._place(key, asked.last * step + width)
        alive = self._selects(asked.rows, *shared)
        equal = (shared[0] == every[0]) & (shared[1] == every[1])
        kept = alive & equal
        unsure = np.flatnonzero(alive & ~equal)
        kept[unsure] = self._selects(asked.rows[unsure], every[0][unsure], every[1][unsure])
        return _where(asked, kept), _where(asked, alive & ~kept)

    def _place(self, key: Int64Array, pane: Int64Array) -> Int64Array:
        """The first leaf of a key that is of this pane or a younger one."""
        number = np.clip(pane - self._oldest, 0, self._stride - 1)
        own = self._key * self._stride + self._pane - self._oldest
        return np.searchsorted(own, key * self._stride + number).astype(np.int64)

    def _selects(self, rows: Int64Array, first: Int64Array, end: Int64Array) -> BoolArray:
        """Whether the row is selected from the rows of the leaves ``first .. end - 1``."""
        codes, which = np.unique(first * (len(self._key) + 1) + end, return_inverse=True)
        pairs = [np.zeros(0, dtype=np.int64)]
        rows_of_all = len(self._leaf)
        for run, order, _ in self._tree.cover(*np.divmod(codes, len(self._key) + 1)):
            gathered = self._tree.table.take(pa.array(order.rows))
            chosen = self._query.select(gathered.select(list(self._query.inputs())), order.groups)
            numbers = gathered.column(_ROW).to_numpy()[chosen]
            pairs.append((order.groups.row_ids()[chosen] + run.start) * rows_of_all + numbers)
        selected: BoolArray = np.isin(which * rows_of_all + rows, np.concatenate(pairs))
        return selected


def _where(asked: Reach, mask: BoolArray) -> Reach:
    return Reach(asked.rows[mask], asked.first[mask], asked.last[mask])
