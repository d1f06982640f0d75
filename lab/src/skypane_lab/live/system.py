"""LiveSystem: one key's live skyline on virtual workers - emitter, queues, workers and collector, record by record.

The emitter stamps a record, chooses its owner and sends it to all workers, waiting where a queue is full. Each worker
prunes its part, finds the influence time within it and sends that to the collector, which sends the largest to the
owner. Everything happens at an instant of virtual time; at one instant in the order of the constants below, so that a
run is the same every time. Answers do not depend on any of this, which is what the tests show; times do.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from skypane_lab.live.collector import LiveCollector
from skypane_lab.live.ownership import Loads
from skypane_lab.live.setup import LiveSetup
from skypane_lab.live.worker import LiveRecord, LiveWorker, Update

_FINISH, _COLLECT, _RESULT, _START, _EMIT = range(5)


@dataclass
class LiveRun:
    """What came out, and when things happened."""

    updates: list[Update] = field(default_factory=list)
    forwarded_ns: list[int] = field(default_factory=list)
    """Of every update, when the collector forwarded it."""
    stamps: list[int] = field(default_factory=list)
    owners: list[int] = field(default_factory=list)
    completed_ns: list[int] = field(default_factory=list)
    """Of every record, when the last worker had processed it."""


_Item: TypeAlias = tuple[LiveRecord | None, int]
"""A record and its time, or a mark of that time."""


@dataclass(eq=False)
class _Desk:
    """A worker and what lies before it."""

    number: int
    worker: LiveWorker
    queue: deque[_Item] = field(default_factory=deque)
    results: deque[tuple[int, int]] = field(default_factory=deque)
    stored: int = 0
    queued: int = 0
    busy: bool = False
    waits: bool = False


class LiveSystem:
    """One run."""

    def __init__(self, setup: LiveSetup, within: int) -> None:
        self._setup = setup
        self._within = within
        self._desks = [_Desk(number, LiveWorker(within, setup.reduce)) for number in range(setup.degree)]
        self._collector = LiveCollector(setup.degree, setup.reduce)
        self._agenda: list[tuple[int, int, int, Callable[[], None]]] = []
        self._scheduled = 0
        self._now = 0
        self._coming: deque[tuple[int, tuple[float, ...] | None]] = deque()
        self._item: _Item | None = None
        self._ended = False
        self._undelivered: list[int] = []
        self._run = LiveRun()

    def run(self, arrivals: Sequence[int], values: Sequence[Sequence[float]]) -> LiveRun:
        """Send records, in order of arrival, and in the end a mark after everything has expired."""
        self._coming = deque(self._with_marks(arrivals, values))
        self._at(0, _EMIT, self._emit)
        while self._agenda:
            self._now, _, _, action = heapq.heappop(self._agenda)
            action()
        self._run.updates = self._collector.forwarded
        return self._run

    def _with_marks(
        self, arrivals: Sequence[int], values: Sequence[Sequence[float]]
    ) -> list[tuple[int, tuple[float, ...] | None]]:
        """Records, and marks where the stream pauses."""
        items: list[tuple[int, tuple[float, ...] | None]] = []
        last = 0
        for time, row in zip(arrivals, values, strict=True):
            if self._setup.mark_every_ns:
                items += [
                    (mark, None) for mark in range(last + self._setup.mark_every_ns, time, self._setup.mark_every_ns)
                ]
            items.append((time, tuple(row)))
            last = time
        return items

    def _at(self, time: int, order: int, action: Callable[[], None]) -> None:
        self._scheduled += 1
        heapq.heappush(self._agenda, (time, order, self._scheduled, action))

    # The emitter

    def _emit(self) -> None:
        """Go on with the record at hand, or take the next one if it is there; asked again when a queue has room."""
        if self._item is None:
            self._take_next()
        if self._item is not None:
            self._deliver(self._item)

    def _take_next(self) -> None:
        if not self._coming:
            self._end()
            return
        arrival, values = self._coming[0]
        if arrival > self._now:
            self._at(arrival, _EMIT, self._emit)
            return
        self._coming.popleft()
        time = self._now if self._setup.emitter_stamps else arrival
        self._undelivered = list(range(self._setup.degree))
        if values is None:
            self._item = (None, time)
            return
        number = len(self._run.stamps)
        self._item = (LiveRecord(number, time, values), time)
        self._run.stamps.append(time)
        self._run.completed_ns.append(0)
        self._choose(number)

    def _end(self) -> None:
        """Once: a last mark, of a time when everything has expired."""
        if not self._ended:
            self._ended = True
            end = max(self._run.stamps, default=0) + self._within + 1
            for desk in self._desks:
                desk.queue.append((None, end))
                self._wake(desk)

    def _choose(self, number: int) -> None:
        loads = Loads(
            [self._has_room(desk) for desk in self._desks],
            [desk.stored for desk in self._desks],
            [desk.queued for desk in self._desks],
            self._run.owners[-1] if self._run.owners else 0,
        )
        owner = self._setup.ownership.owner(number, loads)
        if owner is not None:
            self._run.owners.append(owner)
            self._desks[owner].queued += 1

    def _deliver(self, item: _Item) -> None:
        """Push the item where there is room."""
        record, _ = item
        if record is not None and len(self._run.owners) == record.number:
            self._choose(record.number)
            if len(self._run.owners) == record.number:
                return  # nobody has room
        for worker in [w for w in self._undelivered if self._has_room(self._desks[w])]:
            self._undelivered.remove(worker)
            self._desks[worker].queue.append(item)
            self._wake(self._desks[worker])
        if not self._undelivered:
            self._item = None
            # The next record comes after those workers that were idle have taken this one.
            self._at(self._now, _EMIT, self._emit)

    def _has_room(self, desk: _Desk) -> bool:
        return len(desk.queue) < self._setup.queue_size

    # The workers

    def _wake(self, desk: _Desk) -> None:
        self._at(self._now, _START, lambda: self._start(desk))

    def _start(self, desk: _Desk) -> None:
        if desk.busy or desk.waits or not desk.queue:
            return
        desk.busy = True
        record, time = desk.queue.popleft()
        self._at(self._now, _EMIT, self._emit)
        desk.worker.advance(time)
        took = self._setup.machine.service_ns(desk.worker.stored) if record else self._setup.machine.record_ns
        self._at(self._now + took, _FINISH, lambda: self._finish(desk, record))

    def _finish(self, desk: _Desk, record: LiveRecord | None) -> None:
        desk.busy = False
        if record is not None:
            self._process(desk, record)
        while desk.results:
            self._apply(desk, *desk.results.popleft())
        self._send(desk, None)
        self._wake(desk)

    def _process(self, desk: _Desk, record: LiveRecord) -> None:
        own = self._run.owners[record.number] == desk.number
        influence = desk.worker.take(record, own)
        desk.stored = desk.worker.stored
        desk.queued -= own
        desk.waits = own and self._setup.reduce.owner_waits
        self._run.completed_ns[record.number] = self._now
        self._later(_COLLECT, lambda: self._reduce(record, influence))

    def _send(self, desk: _Desk, influence: int | None) -> None:
        """Updates and the bound, after every record, mark and result: a worker is never silent."""
        updates, bound = desk.worker.send(influence)
        self._later(_COLLECT, lambda: self._collect(desk.number, updates, bound))

    def _collect(self, worker: int, updates: Sequence[Update], bound: int) -> None:
        self._collector.collect(worker, updates, bound)
        forwarded = len(self._collector.forwarded) - len(self._run.forwarded_ns)
        self._run.forwarded_ns += [self._now] * forwarded

    # The reduce

    def _reduce(self, record: LiveRecord, influence: int) -> None:
        found = self._collector.reduce(record.number, influence)
        if found is not None:
            owner = self._desks[self._run.owners[record.number]]
            self._later(_RESULT, lambda: self._receive(owner, record.number, found))

    def _receive(self, desk: _Desk, number: int, influence: int) -> None:
        """A worker in the middle of a record takes the result after it."""
        if desk.busy:
            desk.results.append((number, influence))
            return
        self._apply(desk, number, influence)
        self._wake(desk)

    def _apply(self, desk: _Desk, number: int, influence: int) -> None:
        desk.worker.result(number, influence)
        desk.waits = False
        self._send(desk, influence)

    def _later(self, order: int, action: Callable[[], None]) -> None:
        self._at(self._now + self._setup.machine.message_ns, order, action)
