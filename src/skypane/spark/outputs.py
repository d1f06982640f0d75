"""Outputs: where the rows of a step go - results, late records, quarantined ones, failed windows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import SparkSession

from skypane.spark.sinks.base import Sink, StepRows
from skypane.spark.store.failpoints import reach
from skypane.spark.store.writers import Written


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


@dataclass(frozen=True)
class Outputs:
    """The results, and those of the side outputs that somebody wants."""

    results: Output
    late: Output | None = None
    quarantine: Output | None = None
    failed: Output | None = None

    def __iter__(self) -> Iterator[Output]:
        side = (self.late, self.quarantine, self.failed)
        return iter([self.results, *(output for output in side if output is not None)])
