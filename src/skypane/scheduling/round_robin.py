"""Round-robin over panes, or over records: the two strategies that decide in advance (paper 1, PB_RR and TB_RR)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skypane.scheduling.pane_strategy import Allocation, PaneStrategy, Queues


class PaneRoundRobin(PaneStrategy):
    """Pane ``i`` goes to worker ``i mod degree``: never split, so one heavy pane is one worker's burden."""

    name = "pane_rr"

    def _choose(self, pane: int, records: int, shards: Mapping[int, int], queues: Queues) -> list[Allocation]:
        del shards, queues
        return [Allocation(pane % self.degree, records)]


class TupleRoundRobin(PaneStrategy):
    """One record to each worker in turn: always split as much as possible."""

    name = "tuple_rr"

    def __init__(self, degree: int) -> None:
        super().__init__(degree)
        self._next = 0

    def _choose(self, pane: int, records: int, shards: Mapping[int, int], queues: Queues) -> list[Allocation]:
        del pane, shards, queues
        allocations = dealt(records, range(self._next, self._next + self.degree), self.degree)
        self._next = (self._next + records) % self.degree
        return allocations

    def to_json(self) -> dict[str, Any]:
        """The state, with whose turn it is."""
        return {**super().to_json(), "next": self._next}

    def restore(self, body: Mapping[str, Any]) -> None:
        """Continue with whose turn it is."""
        super().restore(body)
        self._next = body["next"]


def dealt(records: int, turns: range | list[int], degree: int) -> list[Allocation]:
    """Deal records one by one to the workers ``turn mod degree``; what is left over goes to the first."""
    each, more = divmod(records, len(turns))
    counts = ((turn % degree, each + (index < more)) for index, turn in enumerate(turns))
    return [Allocation(worker, count) for worker, count in counts if count]
