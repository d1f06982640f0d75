"""Floor: stations in virtual time, on so many cores, with bounded queues between them.

A station needs a core for each piece of work; who waits longest gets the next one. A station whose receiver has no room
gives its core back and waits. Everything happens at an instant; at one instant in the order in which it was scheduled,
so that a run is the same every time.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from skypane_lab.trees.message import Mark, Message
from skypane_lab.trees.station import Item, Piece, Sent, Station


@dataclass(frozen=True)
class Machine:
    """What stations run on."""

    cores: int = 64
    queue_size: int = 2_048
    """Messages that wait for a station from each sender; a bunch larger than that is taken alone."""
    task_us: float = 0.0
    """For each message, or bunch of them, that a station begins with: of threads nothing, of tasks their scheduling."""


@dataclass
class LiveChanges:
    """What a run leaves behind."""

    results: list[tuple[float, Message]] = field(default_factory=list)
    """When each came out of the last station."""
    generated_us: dict[int, float] = field(default_factory=dict)
    """When all records before a time had been made."""
    end_us: float = 0.0


@dataclass(eq=False)
class _Desk:
    """What the floor knows of a station."""

    station: Station
    pieces: deque[Piece] = field(default_factory=deque)
    outgoing: deque[Sent] = field(default_factory=deque)
    waiters: deque[_Desk] = field(default_factory=deque)
    occupied: bool = False
    """Whether it works, waits for a core or for room."""


class Floor:
    """One run."""

    def __init__(self, stations: Sequence[Station], machine: Machine) -> None:
        self._machine = machine
        self._desks = {station: _Desk(station) for station in stations}
        self._agenda: list[tuple[float, int, _Desk]] = []
        self._scheduled = 0
        self._free = machine.cores
        self._ready: deque[_Desk] = deque()
        self._now_us = 0.0
        self._happened = LiveChanges()

    def run(self) -> LiveChanges:
        """Until the sources have nothing more and everything has been served."""
        for desk in self._desks.values():
            self._offer(desk)
        while self._agenda:
            self._now_us, _, desk = heapq.heappop(self._agenda)
            self._finish(desk)
        self._happened.end_us = self._now_us
        return self._happened

    def _offer(self, desk: _Desk) -> None:
        """It may have something to do."""
        if desk.occupied:
            return
        desk.occupied = True
        if self._next(desk):
            self._ready.append(desk)
            self._assign()
        else:
            desk.occupied = False

    def _assign(self) -> None:
        while self._free and self._ready:
            self._free -= 1
            desk = self._ready.popleft()
            self._scheduled += 1
            after_us = self._now_us + desk.pieces[0].cost_us
            heapq.heappush(self._agenda, (after_us, self._scheduled, desk))

    def _next(self, desk: _Desk) -> bool:
        """Take items until there is something to do."""
        while not desk.pieces:
            found = self._taken(desk)
            if found is None:
                return False
            sender, item = found
            begins_us = self._machine.task_us if isinstance(item, Message) else 0.0
            for piece in desk.station.pieces(sender, item):
                desk.pieces.append(Piece(piece.cost_us + begins_us, piece.sent))
                begins_us = 0.0
        return True

    def _taken(self, desk: _Desk) -> tuple[Station, Item] | None:
        station = desk.station
        if station.feed is not None:
            item = next(station.feed, None)
            if isinstance(item, Mark) and item.made:
                self._happened.generated_us[item.until] = self._now_us
            return None if item is None else (station, item)
        if not station.inbox:
            return None
        sender, item = station.inbox.popleft()
        station.held[sender] -= _size(item)
        self._wake(desk)
        return sender, item

    def _wake(self, desk: _Desk) -> None:
        """There is room: the desk that waited for it sends on, and may then wait for another."""
        while desk.waiters:
            waiter = desk.waiters[0]
            if self._delivered(waiter):
                self._rested(desk.waiters.popleft())
                continue
            blocked = self._desks[waiter.outgoing[0][0]]
            if blocked is desk:
                return
            blocked.waiters.append(desk.waiters.popleft())

    def _finish(self, desk: _Desk) -> None:
        """A piece of work is done."""
        self._free += 1
        piece = desk.pieces.popleft()
        desk.station.busy_us += piece.cost_us
        desk.outgoing.extend(piece.sent)
        if self._delivered(desk):
            self._rested(desk)
        else:
            self._desks[desk.outgoing[0][0]].waiters.append(desk)
        self._assign()

    def _rested(self, desk: _Desk) -> None:
        """It has sent everything, and goes to the end of the queue for cores."""
        desk.occupied = False
        self._offer(desk)

    def _delivered(self, desk: _Desk) -> bool:
        """Send what is to be sent, as far as there is room."""
        sender = desk.station
        while desk.outgoing:
            receiver, item = desk.outgoing[0]
            if receiver is sender and isinstance(item, Message):
                self._happened.results.append((self._now_us, item))
            elif receiver.held[sender] and receiver.held[sender] + _size(item) > self._machine.queue_size:
                return False
            else:
                receiver.inbox.append((sender, item))
                receiver.held[sender] += _size(item)
                self._offer(self._desks[receiver])
            desk.outgoing.popleft()
        return True


def _size(item: Item) -> int:
    return item.bunch if isinstance(item, Message) else 0
