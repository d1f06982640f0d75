"""A streaming source that costs almost nothing: prepared points in Arrow batches, paced or as fast as they are read."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit

from skypane.traffic.points import anticorrelated, correlated, independent

BLOCK_ROWS = 65_536
START_US = 1_800_000_000_000_000


class BenchSource(DataSource):
    """Options: rate (records per second of event time), attributes, batch (records), paced, partitions, delay_ms.

    And points: the number of a distribution in :data:`DISTRIBUTIONS`; without it, one block of points over and over.
    """

    @classmethod
    def name(cls) -> str:
        """The short name."""
        return "skypane-bench"

    def schema(self) -> str:
        """Time, then attributes."""
        return "ts timestamp, " + ", ".join(f"a{i} double" for i in range(int(self.options["attributes"])))

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802
        """For spark.readStream."""
        del schema
        return BenchReader({k: float(v) for k, v in self.options.items()})


class BenchPartition(InputPartition):
    """Records first .. end - 1."""

    def __init__(self, first: int, end: int) -> None:
        self.first, self.end = first, end


class BenchReader(DataSourceStreamReader):
    """Record n has the event time START + n / rate - delay; delays are uniform with the given mean."""

    def __init__(self, options: dict[str, float]) -> None:
        self._rate = options["rate"]
        self._attributes = int(options["attributes"])
        self._batch = int(options.get("batch", 0))
        self._partitions = int(options.get("partitions", 2))
        self._delay_us = options.get("delay_ms", 200) * 1e3
        self._points = int(options["points"]) if "points" in options else None
        self._next = 0
        self._began: float | None = None

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """The options decide."""
        return ReadAllAvailable()

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """The first record."""
        return {"record": 0}

    def latestOffset(self, start: dict[Any, Any], limit: ReadLimit) -> dict[str, int]:  # noqa: ARG002, N802
        """One batch further; or, paced, as far as the clock is."""
        if self._batch:
            self._next = int(start["record"]) + self._batch
        else:
            now = time.monotonic()
            self._began = now if self._began is None else self._began
            self._next = int((now - self._began) * self._rate)
        return {"record": self._next}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """Equal shares."""
        borders = np.linspace(start["record"], end["record"], self._partitions + 1).astype(int).tolist()
        return [BenchPartition(a, b) for a, b in pairwise(borders)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Slices of a prepared block, with running times."""
        assert isinstance(partition, BenchPartition)
        points, delays = prepared(self._attributes)
        names = ["ts", *(f"a{i}" for i in range(self._attributes))]
        for first in range(partition.first, partition.end, BLOCK_ROWS):
            rows = min(BLOCK_ROWS, partition.end - first)
            times = START_US + (np.arange(first, first + rows) / self._rate * 1e6 - delays[:rows] * self._delay_us)
            # Another rotation of the block for every batch: the same numbers, but not the same records.
            turn = first * 7_919 % BLOCK_ROWS
            columns = [pa.array(np.roll(points[i], turn)[:rows]) for i in range(self._attributes)]
            if self._points is not None:
                drawn = draw(self._points, np.random.default_rng(first), self._attributes, rows)
                columns = [pa.array(drawn[i]) for i in range(self._attributes)]
            yield pa.RecordBatch.from_arrays(
                [pa.array(times.astype(np.int64)).cast(pa.timestamp("us", "UTC")), *columns], names
            )


DISTRIBUTIONS = ("independent", "anticorrelated", "mildly anticorrelated", "correlated")


def draw(points: int, random: np.random.Generator, attributes: int, rows: int) -> np.ndarray[Any, Any]:
    """New points; mildly anticorrelated ones are halfway between independent and anticorrelated ones."""
    kinds = {0: (independent,), 1: (anticorrelated,), 2: (independent, anticorrelated), 3: (correlated,)}[points]
    drawn: np.ndarray[Any, Any] = np.mean([kind(random, attributes, rows) for kind in kinds], axis=0)
    return drawn


@lru_cache(maxsize=2)
def prepared(attributes: int) -> tuple[list[np.ndarray[Any, Any]], np.ndarray[Any, Any]]:
    """Independent points and relative delays, made once per process."""
    rng = np.random.default_rng(1)
    return [rng.random(BLOCK_ROWS) * 1000 for _ in range(attributes)], rng.random(BLOCK_ROWS) * 2


def bench_stream(spark: SparkSession, **options: float) -> Any:
    """The stream as a DataFrame."""
    spark.dataSource.register(BenchSource)
    return spark.readStream.format("skypane-bench").options(**options).load()
