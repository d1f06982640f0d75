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
from skypane.flow.late.pane_order import PaneOrder
from skypane.flow.windows.slide.critical import window_range
from skypane.flow.windows.slide.tile_tree import TileTree
from skypane.kernels import sliding
from skypane.kernels.sliding import STILL_ALIVE, bound_groups, bound_one, warm_bounds
from skypane.model.columns import PANE, PREFIX
from skypane.model.groups import BoolArray, Int64Array
from skypane.model.panes import NO_PANE
from skypane.tables.grouping import key_codes, sort_by
from skypane.tables.take import take_rows

_ROW = f"{PREFIX}reaching"


class Reach(NamedTuple):
    """Each row with a range of windows that keep it; a row may have none, or several."""

    rows: Int64Array
    first: Int64Array
    last: Int64Array


def reach(definition: Definition, table: pa.Table, wanted: BoolArray) -> Reach:
    """The windows that keep each of the ``wanted`` rows; if every record counts, all its windows."""
    if definition.query.dominance is not None:
        return _by_dominance(definition, table, wanted)
    if definition.query.selection is not None and wanted.any():
        return _Panes(definition, table, wanted).find()
    rows, panes = np.flatnonzero(wanted), table.column(PANE).to_numpy()[wanted]
    return _some(Reach(rows, definition.window.first_window(panes), definition.window.last_window(panes)))


def warm_reach() -> None:
    """Compile the kernels before the first step."""
    warm_bounds()


def _some(found: Reach) -> Reach:
    """Drop empty ranges."""
    return _where(found, found.first <= found.last)


def _by_dominance(definition: Definition, table: pa.Table, wanted: BoolArray) -> Reach:
    """Between the nearest older and the nearest younger pane with a row that dominates it."""
    query = definition.query.dominance
    assert query is not None
    codes = key_codes(table, definition.keys)
    order = sort_by(codes, np.zeros(len(codes), dtype=np.int64))
    rows, groups = order.rows, order.groups
    values = query.matrix(take_rows(table.select(list(query.inputs())), rows))
    panes, asked = table.column(PANE).to_numpy()[rows], wanted[rows]
    older, younger = np.full(len(rows), NO_PANE), np.full(len(rows), STILL_ALIVE)
    big = groups.sizes > sliding.BIG_KEY_ROWS
    for index in np.flatnonzero(big):
        own = slice(int(groups.offsets[index]), int(groups.offsets[index + 1]))
        if asked[own].any():
            bound_one(values[own], panes[own], asked[own], older[own], younger[own], definition.window.shape)
    if not big.all():
        bound_groups(values, panes, asked & ~np.repeat(big, groups.sizes), groups.offsets, older, younger)
    entered, left = window_range(definition.window, panes, older, younger)
    return _some(Reach(rows[asked], entered[asked], left[asked]))


def _split(asked: Reach, level: int) -> Reach:
    """Every range cut at the multiple of ``2 ** level`` in it: so the ranges of neighbours become the same ones."""
    border = (asked.last >> level) << level
    older = Reach(asked.rows, asked.first, np.minimum(asked.last, border - 1))
    return _some(_together([older, Reach(asked.rows, np.maximum(asked.first, border), asked.last)]))


def _together(parts: Sequence[Reach]) -> Reach:
    return Reach._make(np.concatenate(columns) for columns in zip(*parts, strict=True))


class _Panes:
    """The panes of the keys that are asked about, and what is selected from any range of them."""

    def __init__(self, definition: Definition, table: pa.Table, wanted: BoolArray) -> None:
        query = definition.query.selection
        assert query is not None
        self._query, self._window = query, definition.window
        codes = key_codes(table, definition.keys)
        self._rows = np.flatnonzero(np.isin(codes, codes[wanted]))
        self._wanted = wanted[self._rows]
        table = take_rows(table.select(list(dict.fromkeys((*definition.keys, PANE, *query.inputs())))), self._rows)
        self._pane = table.column(PANE).to_numpy()
        self._order = PaneOrder(table, definition.keys)
        slim = table.select(list(query.inputs())).append_column(_ROW, pa.array(np.arange(table.num_rows)))
        leaves = self._order.combined(query, slim, ())
        self._kept = leaves.table.column(_ROW).to_numpy()
        # At most so many panes share a window with one.
        self._tree = TileTree(query, leaves, frame=(), longest=2 * definition.window.panes_per_window)

    def find(self) -> Reach:
        """Ranges of windows, halved until the windows of each agree."""
        rows = self._kept[self._wanted[self._kept]]
        panes = self._pane[rows]
        asked = _some(Reach(rows, self._window.first_window(panes), self._window.last_window(panes)))
        level = int((asked.last - asked.first).max(initial=0)).bit_length()
        asked, found = _split(asked, level), [_where(asked, np.zeros(len(asked.rows), dtype=np.bool_))]
        while len(asked.rows):
            level = max(level - 1, 0)
            kept, disputed = self._decide(asked)
            found.append(kept)
            asked = _split(disputed, level)
        all_found = _together(found)
        return all_found._replace(rows=self._rows[all_found.rows])

    def _decide(self, asked: Reach) -> tuple[Reach, Reach]:
        """The ranges all of whose windows keep the row, and those of which only some may."""
        key = self._order.key_of_row[asked.rows]
        shared = self._order.window(self._window, key, asked.last, asked.first)
        every = self._order.window(self._window, key, asked.first, asked.last)
        alive = self._selects(asked.rows, *shared)
        equal = (shared[0] == every[0]) & (shared[1] == every[1])
        kept = alive & equal
        unsure = np.flatnonzero(alive & ~equal)
        kept[unsure] = self._selects(asked.rows[unsure], every[0][unsure], every[1][unsure])
        return _where(asked, kept), _where(asked, alive & ~kept)

    def _selects(self, rows: Int64Array, first: Int64Array, end: Int64Array) -> BoolArray:
        """Whether the row is selected from the rows of the leaves ``first .. end - 1``."""
        codes, which = np.unique(first * (len(self._order) + 1) + end, return_inverse=True)
        pairs = [np.zeros(0, dtype=np.int64)]
        for run, order, _ in self._tree.cover(*np.divmod(codes, len(self._order) + 1)):
            gathered = take_rows(self._tree.table, order.rows)
            chosen = self._query.select(gathered.select(list(self._query.inputs())), order.groups)
            numbers = gathered.column(_ROW).to_numpy()[chosen]
            pairs.append((order.groups.row_ids()[chosen] + run.start) * len(self._rows) + numbers)
        selected: BoolArray = np.isin(which * len(self._rows) + rows, np.concatenate(pairs))
        return selected


def _where(asked: Reach, mask: BoolArray) -> Reach:
    return Reach(asked.rows[mask], asked.first[mask], asked.last[mask])
