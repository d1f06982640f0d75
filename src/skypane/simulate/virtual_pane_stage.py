"""VirtualPaneStage: a pane strategy with as many virtual workers as it asks for, in virtual time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from skypane.scheduling.pane_strategy import Allocation, ClosedPane, PaneStrategy
from skypane.scheduling.utilization import Measurement, WorkerLoad

InsertCost = Callable[[int, int, int], float]
"""Microseconds to bring records into a shard: pane, records it has, records to add."""


class _Piece(NamedTuple):
    """Records in a worker's queue; when they are processed is known as soon as they are queued."""

    start_us: float
    finish_us: float
    records: int


class _Worker:
    """Takes what it is sent, first come, first served."""

    def __init__(self) -> None:
        self.free_us = 0.0
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


class FinishedPane(NamedTuple):
    """A closed pane, and when each of its shards is ready for the window stage."""

    closed: ClosedPane
    ready_us: dict[int, float]
    computed_us: float
    """When its last record was processed."""


class VirtualPaneStage:
    """Call ``arrive``, ``punctuate`` and ``sample`` in order of time."""

    def __init__(self, strategy: PaneStrategy, insert_us: InsertCost) -> None:
        self.strategy = strategy
        self._insert_us = insert_us
        self._workers = [_Worker() for _ in range(strategy.degree)]
        self._sizes: dict[int, dict[int, int]] = {}
        self._computed_us: dict[int, float] = {}
        self._now_us = 0.0
        self._sampled_us = 0.0
        self._sampled = [(0.0, 0.0, 0)] * strategy.degree

    def lengths(self) -> Sequence[int]:
        """Records that wait at each worker; strategies ask."""
        for worker in self._workers:
            worker.catch_up(self._now_us)
        return [worker.waiting for worker in self._workers]

    def arrive(self, now_us: float, pane: int, records: int) -> list[Allocation]:
        """Route records of a pane and queue them."""
        self._now_us = now_us
        allocations = self.strategy.route(pane, records, self)
        sizes = self._sizes.setdefault(pane, {})
        for worker, count in allocations:
            before = sizes.get(worker, 0)
            sizes[worker] = before + count
            finish_us = self._workers[worker].take(now_us, count, self._insert_us(pane, before, count))
            if finish_us > self._computed_us.get(pane, 0.0):
                self._computed_us[pane] = finish_us
        return allocations

    def punctuate(self, now_us: float, pane: int) -> FinishedPane:
        """Close a pane. The punctuation waits in the queues like records do."""
        closed = self.strategy.punctuate(pane)
        self._sizes.pop(pane, None)
        ready_us = {worker: max(now_us, self._workers[worker].free_us) for worker in closed.shards}
        return FinishedPane(closed, ready_us, self._computed_us.pop(pane, now_us))

    def sample(self, now_us: float) -> Measurement:
        """End a sampling period: tell the strategy what its workers did."""
        totals = [(*worker.totals(now_us), worker.scheduled) for worker in self._workers]
        loads = [
            WorkerLoad(now[0] - before[0], now[1] - before[1], now[2] - before[2])
            for now, before in zip(totals, self._sampled, strict=True)
        ]
        measurement = Measurement(now_us - self._sampled_us, loads)
        self._sampled, self._sampled_us = totals, now_us
        self.strategy.feedback(measurement)
        return measurement

    def waiting(self) -> int:
        """Records that wait at all workers."""
        return sum(self.lengths())

    def open_shards(self) -> dict[int, dict[int, int]]:
        """Records routed so far to each worker, of each open pane."""
        return self._sizes
