"""One table, once: skyline, top-delta and top-k of a DataFrame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from skypane.model.columns import PREFIX
from skypane.model.errors import DataError, OptionError, SchemaError
from skypane.model.groups import Groups
from skypane.queries.base import Query, find_column
from skypane.queries.reduce import combine, lift
from skypane.spark.prepare import check_reserved, normalised_keys, with_computed_columns
from skypane.spark.schemas import arrow_schema, map_in_arrow, quoted, spark_schema
from skypane.tables.batches import small_batches
from skypane.tables.grouping import Order, key_codes, sort_by
from skypane.tables.rows import without_internal
from skypane.tables.take import take_rows

_LIFT_ROWS = 1 << 18
_LIFT_BYTES = 1 << 28


def answer_once(df: DataFrame, query: Query, by: Sequence[str], invalid: str) -> DataFrame:
    """The query's answer for each group of rows with equal ``by`` columns: partials where the rows are, then merged."""
    if df.isStreaming:
        raise OptionError("This function answers for one table, once; for a stream use sp.stream(df, ...).window(...).")
    if invalid not in {"error", "drop"}:
        raise OptionError(
            f"invalid={invalid!r} must be 'error' (stop at a null or NaN) or 'drop' (leave such rows out)."
        )
    keys = tuple(by)
    records = arrow_schema(df)
    check_reserved(records.names)
    for key in keys:
        if pa.types.is_nested(find_column(records, key, "Grouping column").type):
            raise SchemaError(f"Grouping column {key!r} must be a plain column. Use its fields.")
    prepared = with_computed_columns(normalised_keys(df, keys), query, ())
    schema = prepared.schema
    query.warm_up()
    query.check(arrow_schema(prepared))

    def local(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from small_batches(_reduced(query, keys, batches, invalid))

    def final(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        whole = _reduced(query, keys, batches, "trusted")
        if not whole.num_rows:
            return
        order = _by_key(whole, keys)
        answer = query.lower(take_rows(whole, order.rows), order.groups).table
        yield from small_batches(without_internal(answer))

    partials = map_in_arrow(prepared, local, schema)
    spread = partials.repartition(*map(quoted, keys)) if keys else partials.repartition(1)
    return map_in_arrow(spread, final, _answer_schema(df, prepared, query))


def _answer_schema(df: DataFrame, prepared: DataFrame, query: Query) -> StructType:
    """The records' own columns as they are, then what the query adds."""
    nothing = Groups.from_sizes([])
    lifted = query.lift(arrow_schema(prepared).empty_table(), nothing)
    answer = query.lower(lifted.table, lifted.groups).table.schema
    own = {field.name: field for field in df.schema.fields}
    return StructType(
        [own.get(field.name, field) for field in spark_schema(answer).fields if not field.name.startswith(PREFIX)]
    )


def _reduced(query: Query, keys: tuple[str, ...], batches: Iterator[pa.RecordBatch], invalid: str) -> pa.Table:
    """One partial per key of all rows, held in bounded memory."""
    partials: list[pa.Table] = []
    pending: list[pa.RecordBatch] = []
    for batch in batches:
        pending.append(batch)
        if sum(b.num_rows for b in pending) >= _LIFT_ROWS or sum(b.nbytes for b in pending) >= _LIFT_BYTES:
            partials.append(_lifted(query, keys, pa.Table.from_batches(pending), invalid))
            pending = []
    if pending:
        partials.append(_lifted(query, keys, pa.Table.from_batches(pending), invalid))
    if not partials:
        return pa.table({})  # A partition without rows.
    if len(partials) == 1:
        return partials[0]
    table = pa.concat_tables(partials)
    return combine(query, table, _by_key(table, keys), keys).table


def _lifted(query: Query, keys: tuple[str, ...], rows: pa.Table, invalid: str) -> pa.Table:
    problems = [] if invalid == "trusted" else [problem for problem in query.invalid(rows) if problem.mask.any()]
    if problems and invalid == "error":
        mask, reason = problems[0]
        raise DataError(f"{int(mask.sum())} rows: {reason}. Filter them out first, or pass invalid='drop'.")
    if problems:
        rows = rows.filter(pa.array(~np.logical_or.reduce([problem.mask for problem in problems])))
    return lift(query, rows, _by_key(rows, keys), keys).table


def _by_key(table: pa.Table, keys: tuple[str, ...]) -> Order:
    codes = key_codes(table, keys)
    return sort_by(codes, np.zeros_like(codes))
