"""Reduce: lift or combine every group of a table with one vectorised call, keys carried along."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from skypane.model.groups import Groups
from skypane.queries.base import Grouped, Query
from skypane.tables.grouping import Order
from skypane.tables.take import take_rows


def lift(query: Query, table: pa.Table, order: Order, frame: Sequence[str]) -> Grouped:
    """Lift every group of rows; ``frame`` columns (keys, pane) are carried along."""
    reads = query.reads()
    if reads is None or query.selective:
        return _reduce(query, query.lift, table, order, frame)
    return _apart(query.lift, table.select(list(reads)), table, order, frame)


def combine(query: Query, table: pa.Table, order: Order, frame: Sequence[str]) -> Grouped:
    """Combine every group of partial rows; ``frame`` columns are carried along."""
    if query.selection is not None or query.keeps_records or query.reads_frame:
        return _reduce(query, query.combine, table, order, frame)
    own = table.drop_columns([name for name in frame if name in table.column_names])
    return _apart(query.combine, own, table, order, frame)


def _reduce(
    query: Query, reduce: Callable[[pa.Table, Groups], Grouped], table: pa.Table, order: Order, frame: Sequence[str]
) -> Grouped:
    if (selection := query.selection) is not None:
        # Only what is compared is brought into order; payload columns are touched once, for the survivors.
        chosen = selection.select(take_rows(table.select(list(selection.inputs())), order.rows), order.groups)
        return Grouped(take_rows(table, order.rows[chosen]), order.groups.after_keeping(chosen))
    if query.keeps_records:
        return Grouped(take_rows(table, order.rows), order.groups)
    return _apart(reduce, table, table, order, frame)


def _apart(
    reduce: Callable[[pa.Table, Groups], Grouped], own: pa.Table, table: pa.Table, order: Order, frame: Sequence[str]
) -> Grouped:
    """Only the query's own columns are brought into order, which is most of the work; of the frame, a row a group."""
    reduced = reduce(take_rows(own, order.rows), order.groups)
    return with_frame(reduced, take_rows(table.select(list(frame)), order.first_rows()))


def with_frame(grouped: Grouped, representatives: pa.Table) -> Grouped:
    """Put each group's representative columns in front of its rows."""
    frame = take_rows(representatives, grouped.groups.row_ids())
    body = grouped.table
    return Grouped(
        pa.table([*frame.columns, *body.columns], names=[*frame.column_names, *body.column_names]),
        grouped.groups,
    )
