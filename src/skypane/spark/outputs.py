"""Outputs: where the rows of a step go - results, late records, quarantined ones, failed windows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from skypane.flow.definition import Definition
from skypane.flow.program import Program
from skypane.flow.windows.lowering import FAILED
from skypane.model.columns import DELAY, HARMFUL, REASON, WATERMARK, WINDOW
from skypane.spark.options import LaunchOptions
from skypane.spark.schemas import with_own_types
from skypane.spark.sinks.base import Sink, StepRows
from skypane.spark.store.failpoints import reach
from skypane.spark.store.writers import RowWriter, Written


@dataclass(frozen=True)
class Output:
    """A sink and the schema of the rows it gets."""

    name: str
    sink: Sink
    schema: pa.Schema
    revised: bool = False
    """Whether late records correct answers, which then have a ``revision``."""

    @property
    def option(self) -> str:
        """How the user names the sink."""
        return "sink" if self.name == "results" else self.name

    def publish(self, spark: SparkSession, step: int, rows: Sequence[Written]) -> None:
        """Make the rows of a step visible."""
        self.sink.publish(step, StepRows(spark, self.schema, rows))
        reach(f"{self.name}.published")


def writer_of(output: Output | None, scratch: Path) -> RowWriter | None:
    """What tasks write its rows with; ``None`` where there is no such output."""
    return None if output is None else output.sink.writer(scratch)


@dataclass(frozen=True)
class Outputs:
    """The result sink and the configured side sinks."""

    results: Output
    late: Output | None = None
    quarantine: Output | None = None
    failed: Output | None = None

    def __iter__(self) -> Iterator[Output]:
        side = (self.late, self.quarantine, self.failed)
        return iter([self.results, *(output for output in side if output is not None)])


def outputs_of(program: Program, options: LaunchOptions, records: pa.Schema, prepared: pa.Schema) -> Outputs:
    """Each sink with the schema of its rows."""
    definition, query = program.definition, program.definition.query
    quarantined = records.append(pa.field(REASON, pa.string()))
    records, prepared = definition.accepted_schema(records), definition.accepted_schema(prepared)
    results = program.processing.result_schema(prepared)
    of_records = {*results.names} - {*query.added_columns()} if query.selective else {*definition.keys}
    results = with_own_types(results, prepared, of_records)
    return Outputs(
        Output("results", options.sink, results, revised=definition.allowed_lateness_us > 0),
        Output("late", options.late, _late_schema(definition, records)) if options.late else None,
        Output("quarantine", options.quarantine, quarantined) if options.quarantine else None,
        Output("failed", options.failed, _failed_schema(definition, results)) if options.failed else None,
    )


def _late_schema(definition: Definition, records: pa.Schema) -> pa.Schema:
    watermark = pa.field(WATERMARK, pa.timestamp("us", definition.time_zone))
    return pa.schema([*records, pa.field(DELAY, pa.duration("us")), watermark, pa.field(HARMFUL, pa.bool_())])


def _failed_schema(definition: Definition, results: pa.Schema) -> pa.Schema:
    return pa.schema([*(results.field(name) for name in (*definition.keys, WINDOW)), *FAILED])
