"""Transfer: what goes from Spark to the tasks of the pane stage - some columns of the records, or sums of them."""

from __future__ import annotations

from typing import NamedTuple

from pyspark.sql import DataFrame

from skypane.flow.definition import Definition
from skypane.spark.condensing.condensing import Condensing
from skypane.spark.condensing.eligibility import condensing_of
from skypane.spark.jobs.sending import Sending
from skypane.spark.options import LaunchOptions


class Transfer(NamedTuple):
    """Decided when a query starts."""

    sending: Sending
    condensing: Condensing | None
    """Pre-aggregates records, where the query allows it; whether it pays, the plan of each step says."""


def transfer_of(prepared: DataFrame, definition: Definition, options: LaunchOptions) -> Transfer:
    """For records with all internal columns."""
    reads = _reads(definition, options)
    sending = Sending.of(prepared, definition.query.expressions(), definition.keys, reads)
    guard = options.punctuator.guard
    return Transfer(sending, condensing_of(prepared, definition, sending, guard, whole_records=reads is None))


def _reads(definition: Definition, options: LaunchOptions) -> set[str] | None:
    """The columns that the stages read, unless whole records are needed: by the query, or by sinks that get them."""
    query, elsewhere = definition.query, (options.late, options.quarantine, options.duplicates)
    reads = None if query.selective or definition.wants_records else query.reads()
    if reads is None or any(sink is not None for sink in elsewhere):
        return None
    ids = () if definition.distinct is None else definition.distinct.columns
    return {*filter(None, (definition.time, definition.partition, definition.corrupt)), *reads, *ids}
