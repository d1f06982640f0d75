"""LiveWorker: one worker's part of the live set, its events, and the updates that it owes the collector."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple

from skypane_lab.live.reduce import Reduce

_EXPIRES, _ENTERS = 0, 1  # at one instant whoever leaves goes first


class LiveRecord(NamedTuple):
    """A record as the emitter sends it."""

    number: int
    time: int
    values: tuple[float, ...]


class Update(NamedTuple):
    """A record enters (+1) or leaves (-1). In order of time; at one instant leaving comes first."""

    time: int
    change: int
    number: int


def dominates(left: Sequence[float], right: Sequence[float]) -> bool:
    """Nowhere larger and somewhere smaller."""
    return all(a <= b for a, b in zip(left, right, strict=True)) and tuple(left) != tuple(right)


class LiveWorker:
    """Call ``advance`` with a record's time, then ``take``; ``result`` when the reduce of an own one is done."""

    def __init__(self, within: int, reduce: Reduce) -> None:
        self.within = within
        self._reduce = reduce
        self._now = -1
        self._stored: dict[int, LiveRecord] = {}
        self._entered: dict[int, int] = {}
        self._events: list[tuple[int, int, int]] = []
        self._pending: dict[int, int | None] = {}
        """Own records whose result is not there yet, oldest first; of each when it left, if it did."""
        self._times: dict[int, int] = {}
        self._updates: list[Update] = []

    @property
    def stored(self) -> int:
        """How many records it owns."""
        return len(self._stored)

    def advance(self, time: int) -> None:
        """Execute the events that come before a record (or a mark) of this time."""
        self._now = time
        while self._events and self._reduce.has_happened(self._events[0][0], time):
            at, kind, number = heapq.heappop(self._events)
            if number not in self._stored:
                continue  # dominated meanwhile: its events are void
            if kind == _EXPIRES:
                self._leave(number, at)
            else:
                self._enter(number, at)

    def take(self, record: LiveRecord, own: bool) -> int:
        """Prune what the record dominates and return its influence time within this part; the owner stores it."""
        for number in [n for n, other in self._stored.items() if dominates(record.values, other.values)]:
            self._leave(number, record.time)
        expiries = [o.time + self.within for o in self._stored.values() if dominates(o.values, record.values)]
        if own:
            self._stored[record.number] = record
            self._times[record.number] = record.time
            self._pending[record.number] = None
            # Also of a record that may never enter: while its result pends it must not outlive its time.
            heapq.heappush(self._events, (record.time + self.within, _EXPIRES, record.number))
        return max(expiries, default=0)

    def result(self, number: int, influence: int) -> None:
        """The reduce of an own record is done."""
        left = self._pending.pop(number)
        time = self._times.pop(number)
        enters = self._reduce.entry(influence, time)
        expires = time + self.within
        if enters >= (expires if left is None else left):
            return  # dominated by one of the same time, or before it could enter
        if left is not None:
            self._updates += [Update(enters, 1, number), Update(left, -1, number)]
        elif enters <= self._now:
            self._enter(number, enters)
        else:
            heapq.heappush(self._events, (enters, _ENTERS, number))

    def send(self, influence: int | None = None) -> tuple[list[Update], int]:
        """The updates that may go to the collector, and the instant before which no more come.

        ``influence`` is the result that has just come, if one has.
        """
        oldest = next(iter(self._pending), None)
        bound = self._reduce.safe(self._now, None if oldest is None else self._times[oldest], influence)
        self._updates.sort()
        ready = [update for update in self._updates if self._reduce.may_forward(update.time, bound)]
        self._updates = self._updates[len(ready) :]
        return ready, bound

    def _enter(self, number: int, at: int) -> None:
        self._entered[number] = at
        self._updates.append(Update(at, 1, number))

    def _leave(self, number: int, at: int) -> None:
        del self._stored[number]
        entered = self._entered.pop(number, None)
        if number in self._pending:
            self._pending[number] = at
        elif entered == at:
            # It entered at this very instant: it was in the skyline at no time, and nobody has been told yet.
            self._updates.remove(Update(at, 1, number))
        elif entered is not None:
            self._updates.append(Update(at, -1, number))
