"""Eligibility: which queries Spark can pre-aggregate. Decided once, at the start; whether it pays, the plan says."""

from __future__ import annotations

from pyspark.sql import DataFrame

from skypane.flow.definition import Definition
from skypane.flow.processing.choice import processing_kind
from skypane.flow.processing.out_of_order import OutOfOrder
from skypane.lateness.future_guard import FutureGuard
from skypane.spark.condensing.certain_range import spacing_guess_unsafe
from skypane.spark.condensing.condensing import Condensing
from skypane.spark.jobs.sending import Sending
from skypane.spark.schemas import arrow_schema


def condensing_of(
    prepared: DataFrame, definition: Definition, sending: Sending, guard: FutureGuard, *, whole_records: bool
) -> Condensing | None:
    """For records with all internal columns; ``None`` if the query, a sink or a guard needs them one by one."""
    if whole_records or spacing_guess_unsafe(definition, guard):
        return None
    if definition.distinct is not None:
        return None
    if processing_kind(definition).name != OutOfOrder.name or definition.partition is not None:
        return None
    schema = arrow_schema(prepared)
    if schema.field(definition.time).type.tz is None:  # in SQL it is no number of microseconds, but for a time zone
        return None
    columns = definition.query.condensed(schema)
    if columns is None:
        return None
    return Condensing(definition, sending, {name: sql.format(x=sending.sql(of)) for name, (sql, of) in columns.items()})
