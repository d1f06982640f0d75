"""Outputs: where the rows of a step go - results, late records, quarantined ones, duplicates, failed windows."""

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
from skypane.spark.store.disk import disk
from skypane.spark.store.failpoints import reach
from skypane.spark.store.manifest import Manifest, OutputRows, SparkStepped
from skypane.spark.store.writers import RowWriter, Written
from skypane.tables.rows import conform, with_columns_of


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

    @property
    def place(self) -> str | None:
        """Where the sink writes to, as manifests have it."""
        place = self.sink.place()
        return None if place is None else str(place)

    def written_here(self, rows: pa.Table | None, scratch: Path) -> tuple[Written, ...]:
        """Rows that the step itself decided about, written as its tasks would have."""
        if rows is None:
            return ()
        rows = conform(with_columns_of(rows, self.schema), self.schema)
        written = self.sink.writer(scratch).write([rows])
        return () if written is None else (written,)

    def rows(self, files: Sequence[Written], before: Manifest) -> OutputRows:
        """The rows of the step after a manifest."""
        shown = before.step + 1 if files else before.shown(self.name, self.place)
        return OutputRows(self.place, tuple(files), shown)

    def publish(self, spark: SparkSession, step: int, files: Sequence[Written], *, stored: bool = False) -> None:
        """Make the rows of a step visible; with ``stored``, those that a process before this one has prepared."""
        self.sink.publish(step, StepRows(spark, self.schema, files, stored=stored))
        reach(f"{self.name}.published")

    def pending(self, manifest: Manifest) -> tuple[Written, ...]:
        """The rows of a prepared step that this sink has to show.

        A sink that has taken the place of another one since gets what that one has not taken away.
        """
        stored = manifest.outputs.get(self.name)
        if stored is None:
            return ()
        if stored.place == self.place:
            return stored.files
        return tuple(file for file in stored.files if not file.path or disk().exists(Path(file.path)))


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
    duplicates: Output | None = None

    def __iter__(self) -> Iterator[Output]:
        side = (self.late, self.failed, self.quarantine, self.duplicates)
        return iter([self.results, *(output for output in side if output is not None)])

    def rows_of(self, stepped: SparkStepped, scratch: Path, before: Manifest) -> dict[str, OutputRows]:
        """The files with the rows of a step, by output; those that the driver has are written now."""
        windows = stepped.windows
        files = {
            "results": windows.answers,
            "late": windows.late,
            "failed": windows.failed,
            "quarantine": stepped.panes.quarantined,
            "duplicates": stepped.panes.duplicates,
        }
        own = {"quarantine": stepped.refused, "duplicates": stepped.copies}
        return {
            output.name: output.rows((*files[output.name], *output.written_here(own.get(output.name), scratch)), before)
            for output in self
        }

    def publish(self, spark: SparkSession, manifest: Manifest) -> None:
        """Have each sink show the rows of a prepared step, one sink after the other."""
        for output in self:
            output.publish(spark, manifest.step, manifest.outputs[output.name].files)

    def publish_pending(self, spark: SparkSession, manifest: Manifest) -> None:
        """The same after a restart, where sinks may have shown some of the rows, or be others than before."""
        for output in self:
            output.publish(spark, manifest.step, output.pending(manifest), stored=True)


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
        Output("duplicates", options.duplicates, records) if options.duplicates else None,
    )


def _late_schema(definition: Definition, records: pa.Schema) -> pa.Schema:
    watermark = pa.field(WATERMARK, pa.timestamp("us", definition.time_zone))
    return pa.schema([*records, pa.field(DELAY, pa.duration("us")), watermark, pa.field(HARMFUL, pa.bool_())])


def _failed_schema(definition: Definition, results: pa.Schema) -> pa.Schema:
    return pa.schema([*(results.field(name) for name in (*definition.keys, WINDOW)), *FAILED])
