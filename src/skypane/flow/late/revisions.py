"""Revisions: the corrected answers of windows that had fired already, for records within the allowed lateness."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skypane.flow.definition import Definition
from skypane.flow.late.reach import reach
from skypane.flow.late.window_answers import KeyWindows, WindowAnswers
from skypane.flow.windows.lowering import Failed
from skypane.flow.windows.slide.base import Fired
from skypane.model.columns import GROUP, PREFIX
from skypane.model.groups import BoolArray, Groups, Int64Array
from skypane.queries.base import Grouped
from skypane.tables.grouping import key_codes
from skypane.tables.ranges import ranges
from skypane.tables.take import take_rows

WINDOW_ID = f"{PREFIX}window"
NUMBER = f"{PREFIX}revision"
_ROW = f"{PREFIX}row"


@dataclass(frozen=True)
class Revised:
    """Corrected answers, and what to remember of them."""

    answers: Fired
    numbers: Int64Array
    """The revision number of each group of the answers."""
    log: pa.Table
    """Key group, keys, window and revision number of each group: later revisions count on from there."""
    failed: Failed | None = None
    """The windows whose answers stay as they were, since a function of the user's failed on the corrected ones."""


def revise(
    definition: Definition,
    amended: pa.Table,
    history: pa.Table | None,
    log: pa.Table | None,
    fired_before: int,
) -> Revised | None:
    """Answer the windows below ``fired_before`` again that ``amended`` rows are in; ``None`` if there are none.

    ``history`` has the rows of all sealed panes that share a window with an amended row, ``log`` all earlier revisions.
    """
    rows, is_new = _concerned(definition, amended, history)
    windows = WindowAnswers(definition, rows)
    # The answer of a window that keeps none of the new rows is what it was.
    requested = windows.touched(reach(definition, rows, is_new), fired_before)
    if not len(requested.window):
        return None
    new, failed = windows.answers(requested, np.ones(rows.num_rows, dtype=np.bool_))
    changed = _shows(new, amended.num_rows)
    # More records never take all rows of an answer away, but a function of the user's may.
    unsure = ~changed & ((new.groups.sizes > 0) | definition.query.runs_functions)
    if failed is not None:
        unsure[failed.groups] = False
    answer = _some(new, changed)
    if unsure.any():
        old, failed_before = windows.answers(KeyWindows(requested.key[unsure], requested.window[unsure]), ~is_new)
        differs = _differs(definition, rows, _some(new, unsure), old)
        if failed_before is not None:  # what was sent last is an answer from before it failed, or nothing
            differs[failed_before.groups] = True
        changed[unsure] = differs
        answer = _some(new, changed)
        if definition.query.runs_functions:
            answer = _without_gaps(definition, answer, windows.leads(requested.key[changed]))
    if failed is None and not changed.any():
        return None
    chosen = Fired(requested.window[changed], answer)
    numbers = _next_numbers(definition, chosen, log)
    log = _log_of(definition, chosen, numbers, amended)
    return Revised(answers=chosen, numbers=numbers, log=log, failed=failed)


def _without_gaps(definition: Definition, answer: Grouped, leads: pa.Table) -> Grouped:
    """An answer that has lost all its rows becomes one row of nulls: rows cannot say otherwise that there are none.

    ``leads`` has a row with the key of each group.
    """
    table, groups = answer
    gaps = groups.sizes == 0
    keys = take_rows(leads, np.flatnonzero(gaps))
    columns = [
        keys.column(field.name) if field.name in definition.keys else pa.nulls(keys.num_rows, field.type)
        for field in table.schema
    ]
    rows = pa.concat_tables([table, pa.table(columns, schema=table.schema)])
    starts = np.where(gaps, table.num_rows + np.cumsum(gaps) - 1, groups.offsets[:-1])
    sizes = np.where(gaps, 1, groups.sizes)
    return Grouped(take_rows(rows, ranges(starts, sizes)), Groups.from_sizes(sizes))


def _concerned(definition: Definition, amended: pa.Table, history: pa.Table | None) -> tuple[pa.Table, BoolArray]:
    """All rows of the amended keys, each with a number of its own, and which of them are new."""
    history = amended.slice(0, 0) if history is None else history.select(amended.column_names)
    table = pa.concat_tables([amended, history])
    number = np.arange(table.num_rows)
    codes = key_codes(table, definition.keys)
    concerned = np.isin(codes, codes[: amended.num_rows])
    table = table.append_column(_ROW, pa.array(number)).filter(pa.array(concerned))
    return table, number[concerned] < amended.num_rows


def _some(answer: Grouped, wanted: BoolArray) -> Grouped:
    """Select some groups with their rows."""
    table, groups = answer
    return Grouped(table.filter(pa.array(np.repeat(wanted, groups.sizes))), Groups.from_sizes(groups.sizes[wanted]))


def _shows(new: Grouped, amended: int) -> BoolArray:
    """Which answers have a new record: no need to know what they were before."""
    shows = np.zeros(len(new.groups), dtype=np.bool_)
    if _ROW in new.table.column_names:
        shows[new.groups.row_ids()[new.table.column(_ROW).to_numpy() < amended]] = True
    return shows


def _differs(definition: Definition, inputs: pa.Table, new: Grouped, old: Grouped) -> BoolArray:
    """Which of the new answers differ from the old answer of the same key and window."""
    sizes = new.groups.sizes
    same = sizes == old.groups.sizes
    compared = np.flatnonzero(same & (sizes > 0))
    if len(compared):
        left, right = _rows_of(new, compared), _rows_of(old, compared)
        equal = np.ones(left.num_rows, dtype=np.bool_)
        for name in _telling_columns(definition, left, inputs):
            equal &= _equal(left.column(name), right.column(name))
        same[compared] = np.logical_and.reduceat(equal, Groups.from_sizes(sizes[compared]).offsets[:-1])
    differs: BoolArray = ~same
    return differs


def _telling_columns(definition: Definition, answer: pa.Table, inputs: pa.Table) -> list[str]:
    """The columns in which equal answers agree: of a selected record its number, and what the query adds to it."""
    if not definition.query.selective:
        return [name for name in answer.column_names if name not in definition.keys]
    return [name for name in answer.column_names if name == _ROW or name not in inputs.column_names]


def _rows_of(answer: Grouped, groups: Int64Array) -> pa.Table:
    """The rows of some groups, in a fixed order within each."""
    table, borders = answer
    sizes = borders.sizes[groups]
    offsets = Groups.from_sizes(sizes).offsets
    rows = np.repeat(borders.offsets[groups] - offsets[:-1], sizes) + np.arange(offsets[-1])
    if _ROW in table.column_names:
        group = np.repeat(np.arange(len(groups)), sizes)
        rows = rows[np.lexsort((table.column(_ROW).to_numpy()[rows], group))]
    return take_rows(table, rows)


def _equal(left: pa.ChunkedArray, right: pa.ChunkedArray) -> BoolArray:
    """Elementwise, where null equals null and NaN equals NaN."""
    if pa.types.is_nested(left.type):
        pairs = zip(left.to_pylist(), right.to_pylist(), strict=True)
        return np.array([repr(a) == repr(b) for a, b in pairs], dtype=np.bool_)
    equal = pc.fill_null(pc.equal(left, right), False)
    both_null = pc.and_(pc.is_null(left, nan_is_null=True), pc.is_null(right, nan_is_null=True))
    both: BoolArray = np.asarray(pc.or_(equal, both_null).to_numpy(zero_copy_only=False), dtype=np.bool_)
    return both


def _leads(fired: Fired) -> pa.Table:
    """One row of each group."""
    return take_rows(fired.answer.table, fired.answer.groups.offsets[:-1])


def _codes(
    definition: Definition, left: pa.Table, left_windows: Int64Array, right: pa.Table, right_windows: Int64Array
) -> tuple[Int64Array, Int64Array]:
    """Numbers that are equal exactly where key and window are."""
    keys = list(definition.keys)
    both = pa.concat_tables([left.select(keys), right.select(keys)]) if keys else None
    windows = np.concatenate((left_windows, right_windows))
    codes = np.zeros(len(windows), dtype=np.int64) if both is None else key_codes(both, keys)
    codes = codes * (int(windows.max() - windows.min()) + 1) + windows - windows.min()
    return codes[: len(left_windows)], codes[len(left_windows) :]


def _next_numbers(definition: Definition, chosen: Fired, log: pa.Table | None) -> Int64Array:
    """One more than the last revision of the key's window."""
    numbers = np.ones(len(chosen.window_ids), dtype=np.int64)
    if log is None or not log.num_rows or not len(numbers):
        return numbers
    logged = log.column(WINDOW_ID).to_numpy()
    codes, logged_codes = _codes(definition, _leads(chosen), chosen.window_ids, log, logged)
    order = np.lexsort((log.column(NUMBER).to_numpy(), logged_codes))
    last = np.searchsorted(logged_codes[order], codes, side="right") - 1
    known = (last >= 0) & (logged_codes[order][last] == codes)
    numbers[known] += log.column(NUMBER).to_numpy()[order][last[known]]
    return numbers


def _log_of(definition: Definition, chosen: Fired, numbers: Int64Array, amended: pa.Table) -> pa.Table:
    keys = list(definition.keys)
    leads = _leads(chosen).select(keys)
    if keys:
        both = pa.concat_tables([amended.select(keys), leads])
        codes = key_codes(both, keys)
        values, first = np.unique(codes[: amended.num_rows], return_index=True)
        rows = first[np.searchsorted(values, codes[amended.num_rows :])]
        groups = amended.column(GROUP).take(pa.array(rows))
    else:
        groups = pa.chunked_array([pa.array(np.zeros(len(numbers), dtype=np.int32))])
    columns = {GROUP: groups, **{key: leads.column(key) for key in keys}}
    return pa.table({**columns, WINDOW_ID: pa.array(chosen.window_ids), NUMBER: pa.array(numbers)})
