"""One table, once: skyline, top-delta and top-k of a DataFrame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from skypane.local.one_table import answer_of, check_once, partial_of
from skypane.model.columns import PREFIX
from skypane.model.errors import OptionError
from skypane.model.groups import Groups
from skypane.queries.base import Query
from skypane.spark.prepare import normalised_keys, with_computed_columns
from skypane.spark.records import check_session, column_names_of, records_of
from skypane.spark.schemas import arrow_schema, map_in_arrow, quoted, spark_schema
from skypane.spark.table_size import is_small
from skypane.spark.workers import check_workers
from skypane.tables.batches import small_batches
from skypane.tables.rows import without_internal


def answer_once(df: DataFrame, query: Query, by: Sequence[str], invalid: str) -> DataFrame:
    """The query's answer for each group of rows with equal ``by`` columns.

    Partials are made where the rows are, then merged; of a small table one task does all, in one job. Kernels are
    compiled where they are needed, in the workers: a small table never needs those that take long.
    """
    check_session(df)
    if df.isStreaming:
        raise OptionError(
            "This function answers for one table, once; for a stream use sp.stream(df, ...) with .window(...), or with "
            ".live(...) for the answer at every instant."
        )
    records, names = records_of(df), column_names_of(df)
    keys = tuple(names.find(name, "Grouping column") for name in by)
    query = query.resolved(names)
    check_once(records, keys, invalid)
    prepared = with_computed_columns(normalised_keys(df, keys), query, ())
    check_workers(df.sparkSession)
    query.check(arrow_schema(prepared))

    def local(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from small_batches(partial_of(query, keys, batches, invalid))

    def final(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        partial = partial_of(query, keys, batches, "trusted")
        yield from small_batches(without_internal(answer_of(query, keys, partial)))

    def at_once(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        partial = partial_of(query, keys, batches, invalid)
        yield from small_batches(without_internal(answer_of(query, keys, partial)))

    answer_schema = _answer_schema(df, prepared, query)
    if is_small(df):
        return map_in_arrow(prepared.coalesce(1), at_once, answer_schema)
    partials = map_in_arrow(prepared, local, prepared.schema)
    spread = partials.repartition(*map(quoted, keys)) if keys else partials.repartition(1)
    return map_in_arrow(spread, final, answer_schema)


def _answer_schema(df: DataFrame, prepared: DataFrame, query: Query) -> StructType:
    """The records' own columns as they are, then what the query adds."""
    nothing = Groups.from_sizes([])
    lifted = query.lift(arrow_schema(prepared).empty_table(), nothing)
    answer = query.lower(lifted.table, lifted.groups).table.schema
    own = {field.name: field for field in df.schema.fields}
    return StructType(
        [own.get(field.name, field) for field in spark_schema(answer).fields if not field.name.startswith(PREFIX)]
    )
