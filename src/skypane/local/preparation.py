"""Preparation: the internal columns that Spark computes in the engine, computed here in plain Python."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import pyarrow as pa

from skypane.model.columns import GROUP, ID, KEY_GROUPS
from skypane.model.errors import OptionError
from skypane.queries.base import Query


def prepare(query: Query, keys: Sequence[str], rows: pa.Table) -> pa.Table:
    """Add the key group, the record id and the query's expressions (plain columns or whole numbers only)."""
    columns = {name: rows.column(name) for name in rows.column_names}
    for name, expression in query.expressions().items():
        column = _evaluate(rows, expression.sql)
        columns[name] = column.cast(pa.float64(), safe=False) if expression.as_double else column
    if query.needs_record_id():
        columns[ID] = pa.array(
            [_hash(row) for row in zip(*(c.to_pylist() for c in rows.columns), strict=True)], pa.int64()
        )
    values = zip(*(rows.column(key).to_pylist() for key in keys), strict=True)
    groups = [_hash(value) % KEY_GROUPS for value in values] if keys else [0] * rows.num_rows
    columns[GROUP] = pa.array(groups, pa.int32())
    return pa.table(columns)


def _evaluate(rows: pa.Table, sql: str) -> pa.ChunkedArray:
    if sql in rows.column_names:
        return rows.column(sql)
    if sql.isdigit():
        return pa.chunked_array([pa.array([int(sql)] * rows.num_rows, pa.int64())])
    raise OptionError(f"{sql!r} is not a column; only Spark can evaluate SQL expressions.")


def _hash(values: tuple[object, ...]) -> int:
    text = repr(tuple(0.0 if value == 0 else value for value in values)).encode()
    return zlib.crc32(text) << 20 | zlib.adler32(text) & 0xFFFFF
