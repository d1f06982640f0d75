"""Differences: ``emit="changes"`` for any query - the whole answers of windows, each against that of the window before.

The last window that has fired is answered once more at the start of a step, from panes that are kept for it, so that
nothing but panes has to be remembered. Panes that are sealed stay as they are, so its answer does, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skypane.flow.definition import Definition
from skypane.flow.windows.slide.base import Fired, came_and_went, span_at
from skypane.model.columns import ID, PREFIX
from skypane.model.errors import SchemaError
from skypane.model.groups import BoolArray, Int64Array
from skypane.model.panes import Span
from skypane.tables.grouping import key_codes, sort_by

KEY = f"{PREFIX}key"


def differences(definition: Definition, fired: Iterable[Fired], span: Span) -> Iterator[Fired]:
    """What enters and leaves the answer of a key in each window of the span.

    ``fired`` are the whole answers of these windows and of the one before the first.
    """
    together = [one for one in fired if one.answer.table.num_rows]
    if not together:
        return
    table = pa.concat_tables([one.answer.table for one in together])
    window_id = np.concatenate([one.window_ids[one.answer.groups.row_ids()] for one in together])
    key, span = key_codes(table, definition.keys), span_at(span, table)
    before, after = _neighbours(window_id, row_codes(table.drop_columns([*definition.keys]), key))
    comes = np.flatnonzero(~before & (window_id >= span.first))
    goes = np.flatnonzero(~after & (window_id + 1 < span.end))
    yield from came_and_went(table, key, (comes, window_id[comes]), (goes, window_id[goes] + 1))


def _neighbours(window_id: Int64Array, row: Int64Array) -> tuple[BoolArray, BoolArray]:
    """For each row: whether the window before has it, too, and whether the one after has it.

    Rows may repeat within a window: the n-th of equals is matched with the n-th of the next window.
    """
    order = sort_by(row, window_id)
    nth = np.empty(len(row), dtype=np.int64)
    nth[order.rows] = np.arange(len(row)) - np.repeat(order.groups.offsets[:-1], order.groups.sizes)
    lines = np.lexsort((window_id, nth, row))
    follows = (
        (row[lines[1:]] == row[lines[:-1]])
        & (nth[lines[1:]] == nth[lines[:-1]])
        & (window_id[lines[1:]] == window_id[lines[:-1]] + 1)
    )
    before, after = np.zeros(len(row), dtype=np.bool_), np.zeros(len(row), dtype=np.bool_)
    before[lines[1:]], after[lines[:-1]] = follows, follows
    return before, after


def row_codes(table: pa.Table, key: Int64Array) -> Int64Array:
    """Numbers that are equal exactly where key and row are equal."""
    compared = {name: _bits(table.column(name)) for name in _compared(table.schema)}
    return key_codes(pa.table({KEY: key} | compared), [KEY, *compared])


def _compared(schema: pa.Schema) -> list[str]:
    """The columns that identify a row: those of plain types, and the id for the rest of the record."""
    return [
        field.name
        for field in schema
        if field.name == ID or not (field.name.startswith(PREFIX) or pa.types.is_nested(field.type))
    ]


def check_comparable(answers: pa.Schema) -> None:
    """Raise :class:`SchemaError` if rows cannot be compared."""
    if ID in answers.names:
        return
    for field in answers:
        if pa.types.is_nested(field.type) and not field.name.startswith(PREFIX):
            raise SchemaError(
                f".emit('changes') compares answers, and column {field.name!r} of type {field.type} cannot be "
                "compared. "
                f"Drop it, turn it into text with F.to_json, or use .emit('full')."
            )


def _bits(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Doubles as the numbers that their bits make: 0.0 and -0.0 are not the same answer."""
    if not pa.types.is_floating(column.type):
        return column
    return pa.chunked_array([chunk.view(pa.int64()) for chunk in pc.cast(column, pa.float64()).chunks], pa.int64())
