"""MemorySink: rows kept on the driver, queryable as a table."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import SparkSession

from skypane.model.errors import OptionError
from skypane.spark.schemas import spark_schema
from skypane.spark.sinks.base import Sink, StepRows
from skypane.spark.sinks.upsert import replaced_by


class MemorySink(Sink):
    """For notebooks and tests: ``spark.table(name)`` shows all rows so far. Forgotten when the process ends."""

    def __init__(self, name: str) -> None:
        if not isinstance(name, str) or not name.isidentifier():
            raise OptionError(
                f"MemorySink(name={name!r}): the name becomes a table; use letters, digits and underscores."
            )
        self.name = name
        self._steps: dict[int, pa.Table] = {}
        self._keys: Sequence[str] = ()
        self._spark: SparkSession | None = None
        self._schema: pa.Schema | None = None

    def identify(self, keys: Sequence[str]) -> None:
        """Revisions replace the answers of the same key and window."""
        self._keys = tuple(keys)

    def open(self, spark: SparkSession, schema: pa.Schema) -> None:
        """Create the table, empty or with what an earlier run of this process left in it."""
        self._spark, self._schema = spark, schema
        self._refresh()

    def publish(self, step: int, rows: StepRows) -> None:
        """Replace the step's rows."""
        had = self._steps.pop(step, None)
        if rows.rows:
            # Copied out of the scratch file, which goes away with the step.
            stream = pa.BufferOutputStream()
            with pa.ipc.new_stream(stream, rows.schema) as writer:
                writer.write_table(rows.table())
            self._steps[step] = pa.ipc.open_stream(stream.getvalue()).read_all()
            self._replace(step)
        if rows.rows or had is not None:
            self._refresh()

    def _replace(self, step: int) -> None:
        replaced = replaced_by(self._keys, self._steps[step])
        if replaced is not None:
            for earlier in [number for number in self._steps if number < step]:
                rest = replaced.remove_from(self._steps[earlier])
                self._steps[earlier] = self._steps[earlier] if rest is None else rest

    def table(self) -> pa.Table:
        """All rows so far, in the order of their steps."""
        assert self._schema is not None, "the sink has not been opened by a query yet"
        return pa.concat_tables([self._schema.empty_table(), *(self._steps[step] for step in sorted(self._steps))])

    def describe(self) -> str:
        """The table."""
        return f"table {self.name} in memory"

    def _refresh(self) -> None:
        assert self._spark is not None
        assert self._schema is not None
        # In one piece: PySpark takes an empty piece for the end of the table and loses what comes after it.
        frame = self._spark.createDataFrame(self.table().combine_chunks(), schema=spark_schema(self._schema))
        frame.createOrReplaceTempView(self.name)
