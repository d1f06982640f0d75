"""DiscardSink: rows are counted and dropped, for measuring."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from skypane.spark.sinks.base import Continuation, Sink, StepRows
from skypane.spark.store.writers import CountingWriter, RowWriter


class DiscardSink(Sink):
    """Counts rows and drops them in the workers: for measuring."""

    def __init__(self) -> None:
        self.rows = 0
        self._last = (0, 0)
        self._continuation: Continuation | None = None

    def open(self, spark: SparkSession, schema: pa.Schema, continuation: Continuation | None = None) -> None:
        """Another query is counted from nothing."""
        del spark, schema
        before, self._continuation = self._continuation, continuation or Continuation()
        if before is None or not self._continuation.owns(before.owner):
            self.rows, self._last = 0, (0, 0)

    def writer(self, scratch: Path) -> RowWriter:
        """Write nothing: rows stay on the workers."""
        del scratch
        return CountingWriter()

    def publish(self, step: int, rows: StepRows) -> None:
        """Add up; a step that comes again is counted once."""
        last_step, last_rows = self._last
        self.rows += rows.rows - (last_rows if step == last_step else 0)
        self._last = (step, rows.rows)

    def describe(self) -> str:
        """One line for ``explain()``."""
        return "discarded"
