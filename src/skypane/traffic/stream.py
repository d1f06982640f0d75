"""Stream: a generated stream whose every part can be read again, alone and in any order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa

from skypane.model.errors import OptionError
from skypane.model.groups import Float64Array, Int64Array
from skypane.traffic.arrivals import Stretch
from skypane.traffic.arrivals.base import US_PER_S
from skypane.traffic.seeds import Purpose, Seeds
from skypane.traffic.spec import DEFAULT_START_US, TrafficSpec

TIMESTAMP = pa.timestamp("us", tz="UTC")
_RECORDS_PER_BLOCK = 32_768
_ROW_BITS, _PARTITION_BITS = 24, 8
_NEVER_US = 1 << 62


@dataclass(frozen=True, order=True)
class Position:
    """A place in the stream: after all before ``arrived_us`` and ``ties`` of those at that instant.

    Records are ordered by arrival, then partition, then number of the row: with this any count of records
    can be read exactly, although several may arrive in the same microsecond.
    """

    arrived_us: int = 0
    ties: int = 0


@dataclass(frozen=True)
class Block:
    """The records that arrive in one block of time, in order of arrival; times relative to the start."""

    ts_us: Int64Array
    arrival_us: Int64Array
    ids: Int64Array


class Stream:
    """One generated stream.

    Time is cut into blocks of ``block_us``. What happens in a block of a partition is a pure function of the
    seed, the partition and the block's number; what *arrives* in a block comes from it and from those before
    it, as far back as the longest delay. Attributes are drawn in order of arrival. So nothing that was read
    before has an influence on what is read now.
    """

    def __init__(self, spec: TrafficSpec) -> None:
        self.spec = spec
        self._arrivals = spec.arrivals_of_partition()
        self._disorder = spec.disorder_of_records()
        self._points = spec.points_of_records()
        self._duration_us = spec.duration_us
        wanted_us = _RECORDS_PER_BLOCK / self._arrivals.mean_rate_per_s * US_PER_S
        self.block_us = int(min(max(wanted_us, 100), 3_600 * US_PER_S))
        self._lookback = -(-self._disorder.max_delay_us // self.block_us)
        # Caches of the instance: what they hold can always be made again.
        cached = 2 * spec.partitions
        self._events = lru_cache(maxsize=cached + 2)(self._make_events)
        self._stragglers = lru_cache(maxsize=spec.partitions * (self._lookback + 2))(self._make_stragglers)
        self.block = lru_cache(maxsize=cached + 2)(self._make_block)
        self._columns = lru_cache(maxsize=cached + 2)(self._make_columns)

    @property
    def schema(self) -> pa.Schema:
        """Event time, arrival time, the key if there are keys, id, attributes."""
        names = [pa.field("ts", TIMESTAMP), pa.field("arrival", TIMESTAMP)]
        names += [pa.field("key", pa.string())] if self.spec.keys else []
        names += [pa.field("id", pa.int64())]
        names += [pa.field(f"a{index}", pa.float64()) for index in range(self.spec.attributes)]
        return pa.schema(names)

    @property
    def end_us(self) -> int | None:
        """When the last record of a stream of given duration has surely arrived; None without a duration."""
        return None if self._duration_us is None else self._duration_us + self._disorder.max_delay_us + 1

    def stretch(self, index: int) -> Stretch:
        """Block ``index`` of virtual time."""
        return Stretch(index, index * self.block_us, (index + 1) * self.block_us)

    def _make_events(self, partition: int, index: int) -> tuple[Int64Array, Int64Array]:
        """Event and arrival times of what happens in a block, in order of event time."""
        seeds, stretch = Seeds(self.spec.seed, partition), self.stretch(index)
        ts_us = self._arrivals.events_us(seeds, stretch)
        if len(ts_us) >> _ROW_BITS:
            raise OptionError(f"option rate: {len(ts_us):,} records in {self.block_us} us are too many; add partitions")
        arrival_us = ts_us + self._disorder.delays_us(seeds, stretch, ts_us)
        if self._duration_us is not None and stretch.stop_us > self._duration_us:
            keep = int(np.searchsorted(ts_us, self._duration_us))
            return ts_us[:keep], arrival_us[:keep]
        return ts_us, arrival_us

    def _arriving(
        self, partition: int, source: int, start_us: int, stop_us: int
    ) -> tuple[Int64Array, Int64Array, Int64Array]:
        """Of what happens in block ``source``, the part that arrives in an interval; in order of event time."""
        ts_us, arrival_us = self._events(partition, source)
        rows = np.flatnonzero((arrival_us >= start_us) & (arrival_us < stop_us))
        ids = (((source << _ROW_BITS) + rows) << _PARTITION_BITS) + partition
        return ts_us[rows], arrival_us[rows], ids

    def _make_stragglers(self, partition: int, source: int) -> tuple[Int64Array, Int64Array, Int64Array]:
        """What happens in block ``source`` and arrives after the block behind it: usually few, in order of arrival.

        They are all that is kept of old blocks, so a heavy tail of delays costs neither memory nor time.
        """
        late = self._arriving(partition, source, self.stretch(source + 1).stop_us, _NEVER_US)
        order = np.argsort(late[1], kind="stable")
        return late[0][order], late[1][order], late[2][order]

    def _make_block(self, partition: int, index: int) -> Block:
        """What arrives in a block."""
        stretch = self.stretch(index)
        parts: list[tuple[Int64Array, Int64Array, Int64Array]] = []
        for source in range(max(0, index - self._lookback), index + 1):
            if source < index - 1:
                ts_us, arrival_us, ids = self._stragglers(partition, source)
                rows = slice(*np.searchsorted(arrival_us, [stretch.start_us, stretch.stop_us]))
                parts.append((ts_us[rows], arrival_us[rows], ids[rows]))
            else:
                parts.append(self._arriving(partition, source, stretch.start_us, stretch.stop_us))
        ts_us, arrival_us, ids = (np.concatenate(column) for column in zip(*parts, strict=True))
        if self._disorder.max_delay_us == 0:
            return Block(ts_us, arrival_us, ids)
        # Arrival and row in one number: sorting integers is several times faster than a stable argsort.
        order = np.sort((arrival_us - stretch.start_us << _ROW_BITS) + np.arange(len(arrival_us)))
        order &= (1 << _ROW_BITS) - 1
        return Block(ts_us[order], arrival_us[order], ids[order])

    def _make_columns(self, partition: int, index: int) -> list[pa.Array]:
        """The columns of a block that do not depend on the start: key, id, attributes."""
        block, seeds = self.block(partition, index), Seeds(self.spec.seed, partition)
        columns: list[pa.Array] = []
        if self.spec.keys:
            random = seeds.generator(Purpose.KEYS, index)
            columns.append(_draw_keys(random, self.spec.keys, self.spec.key_skew, len(block.ids)))
        columns.append(pa.array(block.ids))
        if self.spec.attributes:
            random = seeds.generator(Purpose.POINTS, index)
            points = self._points.draw(random, self.spec.attributes, block.ts_us)
            columns += [pa.array(column) for column in points]
        return columns

    def batch(self, partition: int, index: int, first: int, last: int, start_us: int) -> pa.RecordBatch:
        """Rows ``first`` to ``last`` of a block, with event time zero at ``start_us`` since the epoch."""
        block = self.block(partition, index)
        times = [
            pa.array(times_us[first:last] + start_us).view(TIMESTAMP) for times_us in (block.ts_us, block.arrival_us)
        ]
        rest = [column.slice(first, last - first) for column in self._columns(partition, index)]
        return pa.RecordBatch.from_arrays(times + rest, schema=self.schema)

    def read(
        self, partition: int, start: Position, stop: Position, start_us: int = DEFAULT_START_US
    ) -> Iterator[pa.RecordBatch]:
        """The records of one partition between two places, whose ``ties`` count this partition only."""
        for index, first, last in self._rows(partition, start, stop):
            yield self.batch(partition, index, first, last, start_us)

    def read_times(self, partition: int, start: Position, stop: Position) -> Iterator[tuple[Int64Array, Int64Array]]:
        """Event and arrival times only, relative to the start: several times faster."""
        for index, first, last in self._rows(partition, start, stop):
            block = self.block(partition, index)
            yield block.ts_us[first:last], block.arrival_us[first:last]

    def _rows(self, partition: int, start: Position, stop: Position) -> Iterator[tuple[int, int, int]]:
        """Blocks between two places, and which of their rows."""
        if stop <= start:
            return
        for index in range(start.arrived_us // self.block_us, stop.arrived_us // self.block_us + 1):
            arrival_us = self.block(partition, index).arrival_us
            first, last = _row(arrival_us, start), _row(arrival_us, stop)
            if last > first:
                yield index, first, last

    def own_ties(self, place: Position) -> list[Position]:
        """The same place as each partition sees it: its own share of the ties."""
        places, left = [], place.ties
        for partition in range(self.spec.partitions):
            taken = 0
            if left:
                arrival_us = self.block(partition, place.arrived_us // self.block_us).arrival_us
                first, last = np.searchsorted(arrival_us, [place.arrived_us, place.arrived_us + 1])
                taken = min(left, int(last - first))
            left -= taken
            places.append(Position(place.arrived_us, taken))
        return places

    def advance(
        self, start: Position, max_records: int | None = None, before_us: int | None = None
    ) -> tuple[Position, int]:
        """The place ``max_records`` on, or ``before_us`` if that comes first; and the records between."""
        limits = [limit for limit in (before_us, self.end_us) if limit is not None]
        if not limits and max_records is None:
            raise ValueError("an endless stream needs a limit")
        limit_us = min(limits) if limits else None
        index, count = start.arrived_us // self.block_us, 0
        starts = self.own_ties(start)
        while limit_us is None or index * self.block_us < limit_us:
            waiting: list[Int64Array] = []
            for partition, own in enumerate(starts):
                arrival_us = self.block(partition, index).arrival_us
                last = len(arrival_us) if limit_us is None else int(np.searchsorted(arrival_us, limit_us))
                waiting.append(arrival_us[_row(arrival_us, own) : last])
            found = sum(map(len, waiting))
            if max_records is not None and count + found >= max_records:
                return _cut(start, np.concatenate(waiting), max_records - count), max_records
            count += found
            index += 1
        return max(start, Position(limit_us or 0)), count


def _row(arrival_us: Int64Array, place: Position) -> int:
    """The number of the first row after a place."""
    return int(np.searchsorted(arrival_us, place.arrived_us)) + (
        place.ties if len(arrival_us) and arrival_us[0] <= place.arrived_us <= arrival_us[-1] else 0
    )


def _cut(start: Position, arrival_us: Int64Array, records: int) -> Position:
    """The place after the first ``records`` of these arrivals, all of which lie after ``start``."""
    if records == 0:
        return start
    at_us = int(np.partition(arrival_us, records - 1)[records - 1])
    ties = records - int(np.count_nonzero(arrival_us < at_us))
    return Position(at_us, ties + (start.ties if at_us == start.arrived_us else 0))


@lru_cache(maxsize=16)
def _key_names(keys: int) -> pa.Array:
    return pa.array([f"k{key}" for key in range(keys)])


@lru_cache(maxsize=16)
def _key_shares(keys: int, skew: float) -> Float64Array:
    shares: Float64Array = np.cumsum(np.arange(1, keys + 1, dtype=float) ** -skew)
    shares /= shares[-1]
    return shares


def _draw_keys(random: np.random.Generator, keys: int, skew: float, count: int) -> pa.Array:
    draws = random.random(count)
    numbers = (draws * keys).astype(np.int64) if skew == 0 else np.searchsorted(_key_shares(keys, skew), draws)
    return _key_names(keys).take(pa.array(numbers))


@lru_cache(maxsize=8)
def stream_of(spec: TrafficSpec) -> Stream:
    """The stream of a description; kept, so that the tasks of a long-lived worker share its caches."""
    return Stream(spec)
