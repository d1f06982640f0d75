"""The source ``skypane-replay``: a recorded stream, sent again by its arrival times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from skypane.model.errors import OptionError
from skypane.spark.sources.offsets import max_rows, same_stream, wall_clock_us
from skypane.spark.sources.replay_file import ReplayFile, replay_file
from skypane.traffic.options import Option, number, parse_options

OPTIONS: tuple[Option, ...] = (
    Option("path", "", "the name of a .parquet or .csv file", "The file to replay.", str.strip),
    Option("arrival", "arrival", "the name of a timestamp column", "The column to replay by.", str.strip),
    Option(
        "speed",
        "1",
        "a number from 0 to 1e9",
        "How much faster than recorded; 0: as fast as it is read.",
        number(0, 1e9),
    ),
    Option(
        "partitions",
        "1",
        "a whole number from 1 to 256",
        "Tasks that read a micro-batch in parallel.",
        number(1, 256, whole=True),
    ),
    Option(
        "max_records_per_batch",
        "100000",
        "a whole number from 1 to 10^12",
        "Most records of one micro-batch.",
        number(1, 10**12, whole=True),
    ),
)


@dataclass(frozen=True)
class ReplaySpec:
    """The checked options."""

    path: str
    arrival: str
    speed: float
    partitions: int
    max_records_per_batch: int

    @classmethod
    def from_options(cls, options: dict[str, str]) -> ReplaySpec:
        """From the texts that Spark gives."""
        spec = cls(**parse_options(OPTIONS, options))
        if not spec.path:
            raise OptionError("option path: name the .parquet or .csv file to replay")
        return spec

    @property
    def file(self) -> ReplayFile:
        """The file to replay."""
        return replay_file(self.path, self.arrival)


@dataclass(frozen=True)
class ReplayOffset:
    """How far the replay is."""

    fingerprint: str
    rows: int  # read so far, in order of arrival
    began_us: int  # on the wall clock, for the speed


@dataclass
class ReplayPartition(InputPartition):
    """What one task reads: rows in order of arrival."""

    first: int
    last: int


class ReplaySource(DataSource):
    """Options: see ``OPTIONS``."""

    @classmethod
    def name(cls) -> str:
        """The name for ``spark.readStream.format(...)``."""
        return "skypane-replay"

    def spec(self) -> ReplaySpec:
        """The checked options."""
        return ReplaySpec.from_options(dict(self.options))

    def schema(self) -> StructType:
        """The columns of the file."""
        return from_arrow_schema(self.spec().file.schema)

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002
        """For ``spark.read``: the whole file."""
        return ReplayBatchReader(self.spec())

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802
        """The reader for ``spark.readStream``."""
        return ReplayStreamReader(self.spec())


def _split(first: int, last: int, partitions: int) -> list[ReplayPartition]:
    cuts = np.linspace(first, last, partitions + 1).astype(int).tolist()
    return [ReplayPartition(low, high) for low, high in pairwise(cuts) if low < high]


class ReplayBatchReader(DataSourceReader):
    """All rows at once, in order of arrival within each task."""

    def __init__(self, spec: ReplaySpec) -> None:
        self._spec = spec

    def partitions(self) -> Sequence[InputPartition]:
        """Runs of rows of about equal length."""
        return _split(0, len(self._spec.file.arrival_us), self._spec.partitions)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task."""
        assert isinstance(partition, ReplayPartition)
        return self._spec.file.read(partition.first, partition.last)


class ReplayStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Rows become available when their arrival, sped up, has come; the first one at once."""

    def __init__(self, spec: ReplaySpec) -> None:
        self._spec = spec
        self._all_available = False
        self._began_us: int | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """The first row; the replay begins now."""
        return asdict(ReplayOffset(self._spec.file.fingerprint, 0, wall_clock_us()))

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """What the options allow in one batch."""
        return ReadMaxRows(self._spec.max_records_per_batch)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """A file is available as a whole: an availableNow query replays it all, without pacing."""
        self._all_available = True

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """As far as the limit and the clock allow."""
        offset = self._offset(start)
        self._began_us = offset.began_us
        available = self._available(offset.began_us)
        allowed = max_rows(limit)
        rows = available if allowed is None else min(available, offset.rows + allowed)
        return asdict(ReplayOffset(offset.fingerprint, max(rows, offset.rows), offset.began_us))

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        """The rows that have arrived by now; Spark reports them with the progress of a batch."""
        return None if self._began_us is None else {"rows": self._available(self._began_us)}

    def _available(self, began_us: int) -> int:
        """Rows that have arrived by now."""
        arrival_us = self._spec.file.arrival_us
        if self._all_available or self._spec.speed == 0 or len(arrival_us) == 0:
            return len(arrival_us)
        elapsed_us = (wall_clock_us() - began_us) * self._spec.speed
        return int(np.searchsorted(arrival_us, arrival_us[0] + elapsed_us, side="right"))

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Runs of rows of about equal length."""
        return _split(self._offset(start).rows, self._offset(end).rows, self._spec.partitions)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task."""
        assert isinstance(partition, ReplayPartition)
        return self._spec.file.read(partition.first, partition.last)

    def _offset(self, stored: dict[str, Any]) -> ReplayOffset:
        same_stream(stored, self._spec.file.fingerprint, f"the content of {self._spec.path!r}")
        return ReplayOffset(**stored)
