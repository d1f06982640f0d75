"""Lifting: records, or partials of several tasks, become one partial per key and pane."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.model.columns import PANE
from skypane.queries.reduce import combine, lift
from skypane.tables.grouping import key_codes, sort_by
from skypane.tables.rows import keep_rows


def in_some_window(definition: Definition, rows: pa.Table) -> pa.Table:
    """The records that are in any window: those between hopping windows are in none."""
    inside = definition.window.in_some_window(rows.column(PANE).to_numpy())
    return rows if inside.all() else keep_rows(rows, inside)


def lift_rows(definition: Definition, rows: pa.Table) -> pa.Table:
    """One partial per key and pane."""
    panes = rows.column(PANE).to_numpy()
    order = sort_by(key_codes(rows, definition.keys), panes)
    return lift(definition.query, rows, order, definition.frame).table


def combine_partials(definition: Definition, parts: Sequence[pa.Table]) -> pa.Table:
    """One partial per key and pane from several; those of one table are different ones."""
    if len(parts) == 1:
        return parts[0]
    table = pa.concat_tables(parts)
    order = sort_by(key_codes(table, definition.keys), table.column(PANE).to_numpy())
    return combine(definition.query, table, order, definition.frame).table
