"""The source ``skypane-traffic``: generated streams, for ``spark.readStream`` and ``spark.read``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from skypane.model.errors import OptionError
from skypane.spark.sources.offsets import SourceOffset, max_rows, same_stream, wall_clock_us
from skypane.traffic import Position, TrafficSpec, stream_of
from skypane.traffic.spec import DEFAULT_START_US

MAX_COUNTED: Final = 8
"""Batches that wait: more are as bad, and to count them takes time."""


@dataclass
class TrafficPartition(InputPartition):
    """What one task reads: one partition of the stream, between two places."""

    partition: int
    start: Position
    stop: Position
    start_us: int


class TrafficSource(DataSource):
    """Options: see ``skypane.traffic.OPTIONS``."""

    @classmethod
    def name(cls) -> str:
        """The name for ``spark.readStream.format(...)``."""
        return "skypane-traffic"

    def spec(self) -> TrafficSpec:
        """The stream that the options describe."""
        return TrafficSpec.from_options(dict(self.options))

    def schema(self) -> StructType:
        """Event time, arrival time, the key if there are keys, id, attributes."""
        return from_arrow_schema(stream_of(self.spec()).schema)

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002
        """For ``spark.read``: the whole of a bounded stream."""
        return TrafficBatchReader(self.spec())

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802
        """The reader for ``spark.readStream``."""
        return TrafficStreamReader(self.spec())


def _read(spec: TrafficSpec, part: InputPartition) -> Iterator[pa.RecordBatch]:
    assert isinstance(part, TrafficPartition)
    return stream_of(spec).read(part.partition, part.start, part.stop, part.start_us)


def _partitions(spec: TrafficSpec, start: Position, stop: Position, start_us: int) -> list[TrafficPartition]:
    """One task for each partition of the stream."""
    stream = stream_of(spec)
    places = zip(stream.own_ties(start), stream.own_ties(stop), strict=True)
    return [
        TrafficPartition(partition, own_start, own_stop, start_us)
        for partition, (own_start, own_stop) in enumerate(places)
        if own_start < own_stop
    ]


def _refuse_endless(spec: TrafficSpec, reading: str) -> None:
    if not spec.bounded:
        raise OptionError(f"options duration and records: {reading} needs one of them above 0, or it never ends")


class TrafficBatchReader(DataSourceReader):
    """Reads the whole of a bounded stream at once; it is not paced."""

    def __init__(self, spec: TrafficSpec) -> None:
        _refuse_endless(spec, "spark.read")
        self._spec = spec

    def partitions(self) -> Sequence[InputPartition]:
        """One task for each partition of the stream."""
        stop, _ = stream_of(self._spec).advance(Position(), self._spec.records or None)
        start_us = DEFAULT_START_US if self._spec.start is None else self._spec.start
        return _partitions(self._spec, Position(), stop, start_us)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The records of one partition."""
        return _read(self._spec, partition)


class TrafficStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Micro-batches of a stream: paced by the clock or as fast as they are read.

    Offsets are places in order of arrival over all partitions, so the partitions advance together and a
    batch boundary adds no disorder of its own. Any two offsets name the same records at any time.
    """

    def __init__(self, spec: TrafficSpec) -> None:
        self._spec = spec
        # Trigger.AvailableNow: nothing that becomes available after this instant is read.
        self._target_us: int | None = None
        self._cut: SourceOffset | None = None
        """Where the last batch ends."""

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """The start of the stream; a paced one begins now."""
        began_us = wall_clock_us()
        start_us = self._spec.start
        if start_us is None:
            start_us = began_us if self._spec.paced else DEFAULT_START_US
        return SourceOffset(self._spec.fingerprint, 0, 0, 0, start_us, began_us).as_dict()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """What the options allow in one batch."""
        return ReadMaxRows(self._spec.max_records_per_batch)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """What is available is all of a bounded stream, or what has arrived by now of a paced one."""
        if self._spec.paced:
            self._target_us = wall_clock_us()
        else:
            _refuse_endless(self._spec, "an availableNow trigger")

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """As far as the limit, the end of the stream and the clock allow."""
        offset = self._offset(start)
        limits = [max(0, self._spec.records - offset.records)] if self._spec.records else []
        rows = max_rows(limit)
        if rows is None and not self._spec.paced and not self._spec.bounded:
            # "All available" of an endless stream is a batch of the usual size.
            rows = self._spec.max_records_per_batch
        limits += [rows] if rows is not None else []
        before_us = None
        if self._spec.paced:
            now_us = wall_clock_us() if self._target_us is None else self._target_us
            before_us = max(0, now_us - offset.began_us)
        place, records = stream_of(self._spec).advance(offset.position, min(limits) if limits else None, before_us)
        # An offset that moves without records would make Spark run an empty batch.
        self._cut = offset.moved(place, records) if records else offset
        return self._cut.as_dict() if records else start

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        """The records that have come by now, of a paced stream; Spark reports them with the progress of a batch.

        Records and not times, since bursts have many in no time. No more than some batches are counted.
        """
        if not self._spec.paced or self._cut is None:
            return None
        most = MAX_COUNTED * self._spec.max_records_per_batch
        if self._spec.records:
            most = min(most, max(0, self._spec.records - self._cut.records))
        now_us = max(0, wall_clock_us() - self._cut.began_us)
        waiting = stream_of(self._spec).advance(self._cut.position, most, now_us)[1] if most else 0
        return {"records": self._cut.records + waiting}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """One task for each partition of the stream."""
        first, last = self._offset(start), self._offset(end)
        return _partitions(self._spec, first.position, last.position, last.start_us)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The records of one partition between two offsets."""
        return _read(self._spec, partition)

    def _offset(self, stored: dict[str, Any]) -> SourceOffset:
        same_stream(stored, self._spec.fingerprint, "the options of skypane-traffic")
        return SourceOffset(**stored)
