"""Round-robin over panes, or over records: the two strategies that decide in advance (paper 1, PB_RR and TB_RR)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skypane.tuning.splitting.pane_strategy import Allocation, PaneStrategy, Queues


class PaneRoundRobin(PaneStrategy):
    """Pane ``i`` goes to worker ``i mod degree``: never split, so one heavy pane is one worker's burden."""

    name = "pane_rr"

    def choose(self, pane: int, records: int, shards: Mapping[int, int], queues: Queues) -> list[Allocation]:
        """All to the pane's worker."""
        del shards, queues
        return [Allocation(pane % self.degree, records)]


class TupleRoundRobin(PaneStrategy):
    """One record to each worker in turn: always split as much as possible."""

    name = "tuple_rr"

    def __init__(self, degree: int) -> None:
        super().__init__(degree)
        self._next = 0

    def choose(self, pane: int, records: int, shards: Mapping[int, int], queues: Queues) -> list[Allocation]:
        """Go on with the worker whose turn it is."""
        del pane, shards, queues
        allocations = dealt(records, range(self._next, self._next + self.degree), self.degree)
        self._next = (self._next + records) % self.degree
        return allocations

    def on_resize(self, before: int) -> None:
        """The turn goes on where it was."""
        del before
        self._next %= self.degree

    def memory(self) -> dict[str, Any]:
        """Whose turn it is."""
        return {"next": self._next}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Continue with whose turn it is."""
        self._next = memory["next"]


def dealt(records: int, turns: range | list[int], degree: int) -> list[Allocation]:
    """Deal records one by one to the workers ``turn mod degree``; what is left over goes to the first."""
    each, more = divmod(records, len(turns))
    counts = ((turn % degree, each + (index < more)) for index, turn in enumerate(turns))
    return [Allocation(worker, count) for worker, count in counts if count]
