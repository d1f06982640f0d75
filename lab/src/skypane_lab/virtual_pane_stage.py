"""VirtualPaneStage: a pane strategy with as many virtual workers as it asks for, in virtual time.

Workers come and go while panes are open (paper 2). One that goes works off its queue and hands in every shard that it
has; the pane goes on elsewhere. How many shards a pane has is known when it is closed: those are counted, not workers,
for one that goes and comes back begins a second shard.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from skypane.tuning.splitting.pane_strategy import Allocation, PaneStrategy
from skypane.tuning.splitting.utilization import Measurement, WorkerLoad

InsertCost = Callable[[int, int, int], float]
"""Microseconds to bring records into a shard: pane, records it has, records to add."""
Slowness = Callable[[float], float]
"""By what all costs are multiplied at a time: others use the machine, too."""


class _Piece(NamedTuple):
    """Records in a worker's queue; when they are processed is known as soon as they are queued."""

    start_us: float
    finish_us: float
    records: int


class _Worker:
    """Takes what it is sent, first come, first served."""

    def __init__(self) -> None:
        self.free_us = 0.0
        self._since_us = 0.0
        self._spent_us = 0.0
        self._sampled = (0.0, 0.0, 0)
        self.waiting = 0
        self.scheduled = 0
        self._queue: deque[_Piece] = deque()
        self._done = 0.0
        self._busy_us = 0.0

    def take(self, now_us: float, records: int, took_us: float) -> float:
        start_us = max(now_us, self.free_us)
        self.free_us = start_us + took_us
        self._queue.append(_Piece(start_us, self.free_us, records))
        self.waiting += records
        self.scheduled += records
        return self.free_us

    def catch_up(self, now_us: float) -> None:
        queue = self._queue
        while queue and queue[0].finish_us <= now_us:
            piece = queue.popleft()
            self._done += piece.records
            self._busy_us += piece.finish_us - piece.start_us
            self.waiting -= piece.records

    def totals(self, now_us: float) -> tuple[float, float]:
        """Busy time and records processed so far, the piece in work counted in part."""
        self.catch_up(now_us)
        busy_us, done = self._busy_us, self._done
        if self._queue and self._queue[0].start_us < now_us:
            piece = self._queue[0]
            worked_us = now_us - piece.start_us
            busy_us += worked_us
            done += piece.records * worked_us / (piece.finish_us - piece.start_us)
        return busy_us, done

    def load(self, now_us: float) -> WorkerLoad:
        """What it did since it was asked last, or joined."""
        before, self._sampled = self._sampled, (*self.totals(now_us), self.scheduled)
        busy_us, done, scheduled = self._sampled
        return WorkerLoad(busy_us - before[0], done - before[1], scheduled - before[2])

    def join(self, now_us: float) -> None:
        """Come, or come back; what it is still working off is paid for already."""
        self._since_us = max(now_us, self._since_us)
        self.load(now_us)

    def leave(self, now_us: float) -> None:
        """Go when the queue is empty."""
        until_us = max(now_us, self.free_us)
        self._spent_us += max(0.0, until_us - self._since_us)
        self._since_us = until_us

    def spent_us(self, now_us: float, present: bool) -> float:
        """How long it was there."""
        return self._spent_us + (max(0.0, now_us - self._since_us) if present else 0.0)


class Shard(NamedTuple):
    """A shard that gets no more records, and when its worker has brought it to the window stage."""

    worker: int
    records: int
    ready_us: float


class FinishedPane(NamedTuple):
    """A closed pane."""

    shards: list[Shard]
    """Those that were open until now."""
    handed_in: list[Shard]
    """Those of workers that left before; they are on their way already."""
    computed_us: float
    """When its last record was processed."""

    def all_shards(self) -> list[Shard]:
        """As many partials of the pane come."""
        return [*self.handed_in, *self.shards]


@dataclass
class _OpenPane:
    """Records brought to each worker, when they are all processed, and what was handed in."""

    sizes: dict[int, int] = field(default_factory=dict)
    computed_us: float | None = None
    handed_in: list[Shard] = field(default_factory=list)


class VirtualPaneStage:
    """Call ``arrive``, ``punctuate``, ``sample`` and ``resize`` in order of time.

    A strategy numbers the workers that it may use from 0. Here each is a worker with a number of its own, which it
    keeps when it leaves and comes back. ``slowness`` multiplies costs, by the time at which work starts.
    """

    def __init__(self, strategy: PaneStrategy, insert_us: InsertCost, slowness: Slowness | None = None) -> None:
        self.strategy = strategy
        self._insert_us = insert_us
        self._slowness = slowness
        self._workers = [_Worker() for _ in range(strategy.degree)]
        self._used = list(range(strategy.degree))
        """The worker behind each number of the strategy."""
        self._panes: dict[int, _OpenPane] = {}
        self._now_us = 0.0
        self._sampled_us = 0.0

    def lengths(self) -> Sequence[int]:
        """Records that wait at each worker; strategies ask."""
        workers = [self._workers[number] for number in self._used]
        for worker in workers:
            worker.catch_up(self._now_us)
        return [worker.waiting for worker in workers]

    def arrive(self, now_us: float, pane: int, records: int) -> list[Allocation]:
        """Route records of a pane and queue them; to which workers, by their own numbers."""
        self._now_us = now_us
        allocations = [
            Allocation(self._used[place], count) for place, count in self.strategy.route(pane, records, self)
        ]
        opened = self._panes.setdefault(pane, _OpenPane())
        for number, count in allocations:
            before = opened.sizes.get(number, 0)
            opened.sizes[number] = before + count
            took_us = self._insert_us(pane, before, count)
            worker = self._workers[number]
            if self._slowness is not None:
                took_us *= self._slowness(max(now_us, worker.free_us))
            opened.computed_us = max(opened.computed_us or 0.0, worker.take(now_us, count, took_us))
        return allocations

    def punctuate(self, now_us: float, pane: int) -> FinishedPane:
        """Close a pane. The punctuation waits in the queues like records do."""
        closed = self.strategy.punctuate(pane)
        opened = self._panes.pop(pane, None) or _OpenPane()
        shards = [self._shard(now_us, self._used[place], records) for place, records in closed.shards.items()]
        computed_us = now_us if opened.computed_us is None else opened.computed_us
        return FinishedPane(shards, opened.handed_in, computed_us)

    def resize(self, now_us: float, degree: int) -> list[tuple[int, Shard]]:
        """More workers, or fewer; those with the shortest queues leave, and hand in the shards of these panes."""
        self._now_us = now_us
        if degree >= len(self._used):
            self._join(now_us, degree - len(self._used))
            self.strategy.resize(degree)
            return []
        lengths = self.lengths()
        by_length = sorted(range(len(lengths)), key=lambda place: (lengths[place], -place))
        leaving = set(by_length[: len(lengths) - degree])
        handed_in = []
        for pane, shards in self.strategy.leave(leaving, self).items():
            opened = self._panes[pane]
            for place, records in shards.items():
                shard = self._shard(now_us, self._used[place], records)
                opened.sizes.pop(shard.worker, None)
                opened.handed_in.append(shard)
                handed_in.append((pane, shard))
        for place in leaving:
            self._workers[self._used[place]].leave(now_us)
        self._used = [number for place, number in enumerate(self._used) if place not in leaving]
        return handed_in

    def _join(self, now_us: float, count: int) -> None:
        """Those that left come back first."""
        away = [number for number in range(len(self._workers)) if number not in self._used]
        new = range(len(self._workers), len(self._workers) + count)
        for number in [*away, *new][:count]:
            if number == len(self._workers):
                self._workers.append(_Worker())
            self._workers[number].join(now_us)
            self._used.append(number)

    def _shard(self, now_us: float, worker: int, records: int) -> Shard:
        return Shard(worker, records, max(now_us, self._workers[worker].free_us))

    def sample(self, now_us: float) -> Measurement:
        """End a sampling period: tell the strategy what its workers did."""
        loads = [self._workers[number].load(now_us) for number in self._used]
        measurement = Measurement(now_us - self._sampled_us, loads)
        self._sampled_us = now_us
        self.strategy.feedback(measurement)
        return measurement

    def waiting(self) -> int:
        """Records that wait at all workers."""
        return sum(self.lengths())

    def lag_us(self, now_us: float) -> float:
        """How long the worker that is furthest behind has to work on what waits."""
        return max(0.0, *(self._workers[number].free_us - now_us for number in self._used))

    def worker_us(self, now_us: float) -> float:
        """The time of all workers until now, that included in which one that left works off its queue."""
        present = {*self._used}
        return sum(worker.spent_us(now_us, number in present) for number, worker in enumerate(self._workers))

    def busy_us(self, now_us: float) -> float:
        """How long all workers have worked until now."""
        return sum(worker.totals(now_us)[0] for worker in self._workers)

    def open_shards(self) -> dict[int, dict[int, int]]:
        """Records brought so far to each worker, of each open pane."""
        return {pane: opened.sizes for pane, opened in self._panes.items()}
