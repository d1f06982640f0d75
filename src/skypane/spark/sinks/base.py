"""Sink: the contract between a step and the place its rows go to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from skypane.spark.schemas import spark_schema
from skypane.spark.store.files import map_table
from skypane.spark.store.writers import ArrowWriter, RowWriter, Written

_LOCAL_ROWS = 20_000


class StepRows:
    """The rows that one step emits to one sink: already computed, readable any number of times."""

    def __init__(self, spark: SparkSession, schema: pa.Schema, written: Sequence[Written]) -> None:
        self._spark = spark
        self.schema = schema
        self.written = list(written)

    @property
    def rows(self) -> int:
        """How many."""
        return sum(file.rows for file in self.written)

    def table(self) -> pa.Table:
        """All of them, on the driver."""
        tables = [map_table(file.path).cast(self.schema) for file in self.written]
        return pa.concat_tables(tables) if tables else self.schema.empty_table()

    def dataframe(self) -> DataFrame:
        """As a Spark DataFrame; large outputs are read by the workers."""
        if self.rows <= _LOCAL_ROWS:
            # In one piece: PySpark takes an empty piece for the end of the table and loses what comes after it.
            return self._spark.createDataFrame(self.table().combine_chunks(), schema=spark_schema(self.schema))
        paths = [file.path for file in self.written]

        def read(batches):  # type: ignore[no-untyped-def]
            for batch in batches:
                for index in batch.column(0).to_pylist():
                    yield from map_table(paths[index]).to_batches()

        return self._spark.range(0, len(paths), 1, len(paths)).mapInArrow(read, spark_schema(self.schema))


class Sink(ABC):
    """Publishing a step twice must look like publishing it once: after a crash the same step comes again."""

    def continue_from(self, step: int) -> None:
        """Called first: the checkpoint has committed steps up to ``step``; fail if the sink holds steps beyond that.

        A crash may have left rows of ``step + 1``, never more: those would be of another checkpoint.
        """
        del step

    def identify(self, keys: Sequence[str]) -> None:
        """Called before ``open``: the key columns, which tell with ``window`` which answer a revision replaces."""
        del keys

    def open(self, spark: SparkSession, schema: pa.Schema) -> None:
        """Called once, before the first step; fail here if rows of this schema cannot be stored."""
        del spark, schema

    def writer(self, scratch: Path) -> RowWriter:
        """How workers hand rows over; the default leaves them in the step's scratch folder."""
        return ArrowWriter(str(scratch))

    @abstractmethod
    def publish(self, step: int, rows: StepRows) -> None:
        """Make the rows of a step visible, replacing those of an earlier attempt at the same step."""

    @abstractmethod
    def describe(self) -> str:
        """A few words for ``query.explain()``."""
