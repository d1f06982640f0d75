"""MemorySink: rows kept on the driver, queryable as a table."""

from __future__ import annotations

import threading
from weakref import WeakKeyDictionary

import pyarrow as pa
from pyspark.sql import SparkSession

from skypane.model.errors import OptionError
from skypane.spark.schemas import local_dataframe
from skypane.spark.sinks.base import Continuation, Sink, StepRows
from skypane.spark.sinks.upsert import replaced_by

_opening = threading.Lock()
_open_tables: WeakKeyDictionary[SparkSession, set[str]] = WeakKeyDictionary()
"""The tables that running queries fill, by session."""


class MemorySink(Sink):
    """For notebooks and tests: ``spark.table(name)`` shows all rows so far.

    Forgotten when the process ends, or another query is given the sink.
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str) or not name.isidentifier():
            raise OptionError(
                f"MemorySink(name={name!r}): the name becomes a table; use letters, digits and underscores."
            )
        self.name = name
        self._open = False
        self._steps: dict[int, pa.Table] = {}
        self._continuation: Continuation | None = None
        self._spark: SparkSession | None = None
        self._schema: pa.Schema | None = None

    def place(self) -> str:
        """The name of the table."""
        return self.describe()

    def open(self, spark: SparkSession, schema: pa.Schema, continuation: Continuation | None = None) -> None:
        """Create the table: empty, or with what an earlier run of the same query has left in this process."""
        continuation = continuation or Continuation()
        with _opening:
            if self._open or self.name in _open_tables.get(spark, ()):
                raise OptionError(
                    f"MemorySink({self.name!r}): another running query fills that table. Stop that one, or choose "
                    "another name."
                )
            _open_tables.setdefault(spark, set()).add(self.name)
            self._open = True
        before, self._continuation = self._continuation, continuation
        self._spark, self._schema = spark, schema
        try:
            self._steps = self._still_valid(before)
            self._refresh()
        except BaseException:
            self.close()
            raise

    def _still_valid(self, before: Continuation | None) -> dict[int, pa.Table]:
        """What an earlier run left that is of the same query, as far as its checkpoint has come."""
        now, schema = self._continuation, self._schema
        assert now is not None
        assert schema is not None
        if before is None or not now.owns(before.owner):
            return {}
        # The session's time zone and the order of columns may have changed.
        return {n: rows.select(schema.names).cast(schema) for n, rows in self._steps.items() if n <= now.step + 1}

    def close(self) -> None:
        """Let another query have the name; the rows stay."""
        if self._spark is not None:
            with _opening:
                _open_tables.get(self._spark, set()).discard(self.name)
                self._open = False

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
        assert self._continuation is not None
        if not self._continuation.revised:
            return
        replaced = replaced_by(self._continuation.keys, self._steps[step])
        if replaced is not None:
            for earlier in [number for number in self._steps if number < step]:
                rest = replaced.remove_from(self._steps[earlier])
                self._steps[earlier] = self._steps[earlier] if rest is None else rest

    def table(self) -> pa.Table:
        """All rows so far, in the order of their steps."""
        assert self._schema is not None, "the sink has not been opened by a query yet"
        return pa.concat_tables([self._schema.empty_table(), *(self._steps[step] for step in sorted(self._steps))])

    def describe(self) -> str:
        """One line for ``explain()``."""
        return f"table {self.name} in memory"

    def _refresh(self) -> None:
        assert self._spark is not None
        assert self._schema is not None
        local_dataframe(self._spark, self.table()).createOrReplaceTempView(self.name)
