"""LiveCollector: joins the workers' influence times, and puts their updates in order."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from skypane_lab.live.reduce import Reduce
from skypane_lab.live.worker import Update


class LiveCollector:
    """Every message of a worker says how far it is, so that one without updates delays no other."""

    def __init__(self, degree: int, reduce: Reduce) -> None:
        self._reduce = reduce
        self._degree = degree
        self._influences: dict[int, list[int]] = {}
        self._bounds = [0] * degree
        self._waiting: list[Update] = []
        self.forwarded: list[Update] = []

    def reduce(self, number: int, influence: int) -> int | None:
        """Take one worker's influence time of a record; the largest, once all workers have sent theirs."""
        found = self._influences.setdefault(number, [])
        found.append(influence)
        return max(self._influences.pop(number)) if len(found) == self._degree else None

    def collect(self, worker: int, updates: Sequence[Update], bound: int) -> None:
        """Take a worker's updates and its bound; forward what no worker can precede any more."""
        self._bounds[worker] = bound
        for update in updates:
            heapq.heappush(self._waiting, update)
        reached = min(self._bounds)
        while self._waiting and self._reduce.may_forward(self._waiting[0].time, reached):
            self.forwarded.append(heapq.heappop(self._waiting))
