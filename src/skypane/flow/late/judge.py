"""Judge: would a late record have changed an answer, had this step's late records come in time?

It would not if every window that the record is in leaves it out of its partial even so: a record that is dominated in
each of its windows changes no skyline and no top-delta. For aggregates every record counts. Windows are judged by what
is known now: sealed panes of the history, open panes as they are.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.flow.windows.slide import critical
from skypane.flow.windows.slide.critical import window_range
from skypane.kernels.sliding import STILL_ALIVE, bound_groups, bound_one, warm_bounds
from skypane.model.columns import PANE
from skypane.model.groups import BoolArray
from skypane.model.panes import NO_PANE
from skypane.tables.grouping import key_codes, sort_by
from skypane.tables.ranges import ramp


def judge(definition: Definition, late: pa.Table, known: pa.Table | None, judged_from: int) -> pa.Array:
    """For each late row: true for harmful, false for harmless, null if its pane, below ``judged_from``, is too old."""
    panes = late.column(PANE).to_numpy()
    harmful = definition.window.in_some_window(panes)
    if not definition.query.selective:
        return pa.array(harmful)
    unknown = panes < judged_from
    asked = harmful & ~unknown
    if asked.any():
        rows = late.filter(pa.array(asked))
        table = rows if known is None else pa.concat_tables([rows, known.select(rows.column_names)])
        wanted = np.arange(table.num_rows) < rows.num_rows
        answer = _by_selection if definition.query.dominance is None else _by_dominance
        harmful[asked] = answer(definition, table, wanted)[wanted]
    return pa.array(harmful, mask=unknown)


def _by_dominance(definition: Definition, table: pa.Table, wanted: BoolArray) -> BoolArray:
    """In which windows is the row not dominated? In a range of them, perhaps an empty one."""
    query = definition.query.dominance
    assert query is not None
    codes = key_codes(table, definition.keys)
    order = sort_by(codes, np.zeros(len(codes), dtype=np.int64))
    rows, groups = order.rows, order.groups
    values = query.matrix(table.select(list(query.inputs())).take(pa.array(rows)))
    panes, asked = table.column(PANE).to_numpy()[rows], wanted[rows]
    older, younger = np.full(len(rows), NO_PANE), np.full(len(rows), STILL_ALIVE)
    big = groups.sizes > critical.BIG_KEY_ROWS
    for index in np.flatnonzero(big):
        own = slice(int(groups.offsets[index]), int(groups.offsets[index + 1]))
        if asked[own].any():
            bound_one(values[own], panes[own], asked[own], older[own], younger[own], definition.window.shape)
    if not big.all():
        bound_groups(values, panes, asked & ~np.repeat(big, groups.sizes), groups.offsets, older, younger)
    entered, left = window_range(definition.window, panes, older, younger)
    survives = np.empty(len(rows), dtype=np.bool_)
    survives[rows] = entered <= left
    return survives


def _by_selection(definition: Definition, table: pa.Table, wanted: BoolArray) -> BoolArray:
    """Which rows does the query select from the rows of any window of theirs?"""
    query, window = definition.query.selection, definition.window
    assert query is not None
    panes, codes = table.column(PANE).to_numpy(), key_codes(table, definition.keys)
    concerned = np.isin(codes, codes[wanted])
    low = np.maximum(window.first_window(panes), window.first_window(panes[wanted]).min())
    high = np.minimum(window.last_window(panes), window.last_window(panes[wanted]).max())
    count = np.where(concerned, np.maximum(high - low + 1, 0), 0)
    rows = np.repeat(np.arange(table.num_rows), count)
    order = sort_by(np.repeat(low, count) + ramp(count), codes[rows])
    members = rows[order.rows]
    chosen = query.select(table.select(list(query.inputs())).take(pa.array(members)), order.groups)
    survives = np.zeros(table.num_rows, dtype=np.bool_)
    survives[members[chosen]] = True
    return survives


def warm_judge() -> None:
    """Compile the kernels."""
    warm_bounds()


def count_harmful(harmful: pa.Array) -> int:
    """How many late records did harm: those too old to judge are taken for harmful."""
    return int(np.count_nonzero(harmful.fill_null(True).to_numpy(zero_copy_only=False)))
