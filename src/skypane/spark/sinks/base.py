"""Sink: the contract between a step and the place its rows go to."""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from skypane.spark.schemas import local_dataframe, spark_schema, takes_arrow
from skypane.spark.store.writers import ArrowWriter, RowWriter, Written
from skypane.tables.batches import small_batches

_LOCAL_ROWS = 20_000
_LOCAL_BYTES = 1 << 26


class StepRows:
    """The rows that one step emits to one sink: already computed and stored, readable any number of times."""

    def __init__(
        self, spark: SparkSession, schema: pa.Schema, written: Sequence[Written], *, stored: bool = False
    ) -> None:
        self._spark = spark
        self.stored = stored
        """Whether a process before this one wrote them, and sinks may have shown them already."""
        self.schema = schema
        self.written = list(written)

    @property
    def rows(self) -> int:
        """How many rows."""
        return sum(file.rows for file in self.written)

    def table(self) -> pa.Table:
        """All of them, on the driver."""
        tables = [self.read(file) for file in self.written if file.path]
        return pa.concat_tables(tables) if tables else self.schema.empty_table()

    def read(self, file: Written) -> pa.Table:
        """The rows of one file; refuse one that was lost or damaged since it was stored."""
        if self.stored:
            file.check()
        return file.table().cast(self.schema)

    def dataframe(self) -> DataFrame:
        """As a Spark DataFrame; large outputs are read by the workers."""
        if not self.rows:
            return self._spark.createDataFrame([], spark_schema(self.schema))
        if self.rows <= _LOCAL_ROWS and takes_arrow(self._spark) and (table := self.table()).nbytes <= _LOCAL_BYTES:
            return local_dataframe(self._spark, table)
        files, schema = [file for file in self.written if file.path], self.schema
        for file in files if self.stored else ():
            file.check()

        def read(batches):  # type: ignore[no-untyped-def]
            for batch in batches:
                for index in batch.column(0).to_pylist():
                    yield from small_batches(files[index].table().cast(schema))

        return self._spark.range(0, len(files), 1, len(files)).mapInArrow(read, spark_schema(self.schema))


@dataclass(frozen=True)
class Continuation:
    """Whose rows a sink is going to get, and from which step on; by default those of a new query."""

    query_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    """Of the checkpoint: a query that starts over with a new checkpoint is another query."""
    step: int = 0
    """Committed so far. The sink has rows of later steps only if ``pending`` has some."""
    keys: Sequence[str] = ()
    """The key columns: together with ``window`` they tell which answer a revision replaces."""
    output: str = "sink"
    """Which rows of the query: ``sink``, ``late``, ``quarantine`` or ``failed``."""
    checkpoint: str | None = None
    """Where the query can be continued from, for messages."""
    revised: bool = False
    """Whether answers come again: the column ``revision`` is then ours, and not one that the records have."""
    shown: int = 0
    """The last committed step that had rows for this :meth:`Sink.place`: a sink without them is from a backup."""
    pending: Sequence[Written] = ()
    """Rows of the step after ``step``, stored before a crash. The sink may have shown them; they come again first."""

    @property
    def owner(self) -> dict[str, str | None]:
        """For a sink to store with its rows."""
        return {"query_id": self.query_id, "output": self.output, "checkpoint": self.checkpoint}

    def owns(self, owner: Mapping[str, str | None]) -> bool:
        """Whether rows with this owner are of the same query, and the same output of it."""
        return (owner["query_id"], owner["output"]) == (self.query_id, self.output)


class Sink(ABC):
    """Where rows go. Only :meth:`publish` and :meth:`describe` are required.

    Publishing a step twice must look like publishing it once: after a crash the last step comes again, with the same
    rows. A step is stored with all of its rows before any sink gets one of them.
    ``skypane.testing.sink_laws.check_sink`` checks it.
    """

    def place(self) -> Path | str | None:
        """The place that only one query may write to at a time: a folder, or another name."""
        return None

    def check(self, spark: SparkSession, schema: pa.Schema) -> None:
        """Refuse rows of this schema if they cannot be stored; called before ``open``, and by ``explain()``, which
        starts nothing: touch nothing here."""
        del spark, schema

    def open(self, spark: SparkSession, schema: pa.Schema, continuation: Continuation | None = None) -> None:
        """Called once, before the first step; fail here if rows of this query cannot be stored."""
        del spark, schema, continuation

    def writer(self, scratch: Path) -> RowWriter:
        """How workers hand rows over; the default leaves them in the step's scratch folder."""
        return ArrowWriter(str(scratch))

    @abstractmethod
    def publish(self, step: int, rows: StepRows) -> None:
        """Make the rows of a step visible; those of a step that is there already are the same."""

    def close(self) -> None:  # noqa: B027 - most sinks have nothing to close
        """Called once, when the query has ended, if ``open`` succeeded."""

    @abstractmethod
    def describe(self) -> str:
        """A few words for ``query.explain()``."""
