"""Preparation: the internal columns that Spark computes in the engine, computed here in plain Python."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any

import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.model.columns import DISTINCT, GROUP, ID, KEY_GROUPS
from skypane.model.errors import OptionError
from skypane.queries.base import Query
from skypane.tables.canonical import canonical
from skypane.tables.grouping import one_zero


def prepared(definition: Definition, rows: pa.Table) -> pa.Table:
    """Add all internal columns that the stages of a query need."""
    columns = () if definition.distinct is None else definition.distinct.columns
    with_id = definition.needs_record_id
    return prepare(definition.query, definition.keys, rows, with_id=with_id, distinct_by=columns)


def prepare(
    query: Query, keys: Sequence[str], rows: pa.Table, *, with_id: bool = False, distinct_by: Sequence[str] = ()
) -> pa.Table:
    """Add the key group, the record id and the query's expressions (plain columns or whole numbers only)."""
    columns = {name: one_zero(rows.column(name)) if name in keys else rows.column(name) for name in rows.column_names}
    own = list(columns.values())
    for name, expression in query.expressions().items():
        columns[name] = _evaluate(rows, expression.sql)
    if with_id or query.needs_record_id():
        columns[ID] = pa.array([_hash(row) for row in _values(own)], pa.int64())
    if distinct_by:
        ids = _values([canonical(rows.column(name)) for name in distinct_by])
        columns[DISTINCT] = pa.array([None if None in values else _hash(values) for values in ids], pa.int64())
    groups = [_hash(key) % KEY_GROUPS for key in _values([columns[key] for key in keys])]
    columns[GROUP] = pa.array(groups if keys else [0] * rows.num_rows, pa.int32())
    return pa.table(columns)


def _evaluate(rows: pa.Table, sql: str) -> pa.ChunkedArray:
    if sql in rows.column_names:
        return rows.column(sql)
    if sql.isdigit():
        return pa.chunked_array([pa.array([int(sql)] * rows.num_rows, pa.int64())])
    raise OptionError(f"{sql!r} is not a column; only Spark can evaluate SQL expressions.")


def _values(columns: Sequence[pa.ChunkedArray]) -> Iterable[tuple[Any, ...]]:
    """Rows as plain values; times as numbers, since Python has none beyond the year 9999."""
    return zip(*(_plain(column).to_pylist() for column in columns), strict=True)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_date32(kind):
        return column.cast(pa.int32())
    return column.cast(pa.int64()) if pa.types.is_timestamp(kind) or pa.types.is_duration(kind) else column


def _hash(values: tuple[object, ...]) -> int:
    """Hash a text that differs for nulls, signs of zeros and borders of lists."""
    return int.from_bytes(blake2b(repr(values).encode(), digest_size=8).digest(), "little", signed=True)
