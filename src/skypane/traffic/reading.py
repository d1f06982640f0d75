"""Reading: a whole stream in order of arrival over all partitions, in pieces of any size."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from skypane.model.errors import OptionError
from skypane.model.groups import Int64Array
from skypane.traffic.spec import DEFAULT_START_US
from skypane.traffic.stream import Position, Stream

_CHUNK = 131_072


def chunks(stream: Stream, chunk: int = _CHUNK) -> Iterator[pa.RecordBatch]:
    """The records of a bounded stream, ``chunk`` at a time; together they do not depend on it."""
    start_us = DEFAULT_START_US if stream.spec.start is None else stream.spec.start
    for start, stop in _cuts(stream, chunk):
        places = zip(stream.own_ties(start), stream.own_ties(stop), strict=True)
        parts = [
            batch
            for partition, (first, last) in enumerate(places)
            for batch in stream.read(partition, first, last, start_us)
        ]
        merged = pa.Table.from_batches(parts, stream.schema).combine_chunks()
        if stream.spec.partitions > 1:
            arrival_us = merged.column("arrival").combine_chunks().view(pa.int64()).to_numpy()
            merged = merged.take(pa.array(np.argsort(arrival_us, kind="stable")))
        yield from merged.combine_chunks().to_batches()


def times(stream: Stream, chunk: int = 8 * _CHUNK) -> tuple[Int64Array, Int64Array]:
    """Event and arrival times of a bounded stream from its start on, in order of arrival."""
    ts_us: list[Int64Array] = []
    arrival_us: list[Int64Array] = []
    for start, stop in _cuts(stream, chunk):
        rows = [
            block_rows
            for partition, (first, last) in enumerate(zip(stream.own_ties(start), stream.own_ties(stop), strict=True))
            for block_rows in stream.read_times(partition, first, last)
        ]
        if rows:
            event, arrived = (
                np.concatenate([row[0] for row in rows]),
                np.concatenate([row[1] for row in rows]),
            )
            order = np.argsort(arrived, kind="stable")
            ts_us.append(event[order])
            arrival_us.append(arrived[order])
    empty = np.empty(0, dtype=np.int64)
    return np.concatenate([empty, *ts_us]), np.concatenate([empty, *arrival_us])


def _cuts(stream: Stream, chunk: int) -> Iterator[tuple[Position, Position]]:
    """Consecutive places of the stream until its end."""
    if not stream.spec.bounded:
        raise OptionError("options duration and records: set one of them above 0, or the stream never ends")
    left = stream.spec.records or None
    place = Position()
    while left is None or left > 0:
        stop, records = stream.advance(place, chunk if left is None else min(chunk, left))
        if records == 0:
            return
        yield place, stop
        place = stop
        left = None if left is None else left - records
