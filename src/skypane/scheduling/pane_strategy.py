"""PaneStrategy: which worker of the pane stage gets which records of a pane; one interface for all engines.

The engine calls, in any interleaving of panes:

* ``route`` for records of an open pane: the answer says how many of them go to which worker;
* ``punctuate`` once for every pane, in order, also for panes without records: it closes the pane and counts its shards,
  so that the window stage knows when the pane is complete;
* ``feedback`` at the end of every sampling period. What is measured changes later decisions only.

A **shard** is what one worker gets of one pane. A streaming engine calls ``route`` for single arrivals; a micro-batch
engine calls it with the records it expects of each pane, and turns the allocations into shares. Strategies are
deterministic and their state is plain data (``to_json``, ``restore``): it can be part of a checkpoint.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol

from skypane.model.errors import OptionError
from skypane.scheduling.utilization import Measurement

MAX_DEGREE = 10_000


class Allocation(NamedTuple):
    """So many records to this worker."""

    worker: int
    records: int


class ClosedPane(NamedTuple):
    """A pane that gets no more records: the workers that hold a shard of it, with the records of each."""

    pane: int
    shards: Mapping[int, int]


class Queues(Protocol):
    """What waits at the workers. Asked only when a strategy has to choose among them."""

    def lengths(self) -> Sequence[int]:
        """Records that are waiting at each worker."""
        ...


class PlannedQueues:
    """What a batch that is being planned has given to each worker so far: for engines that plan before they start."""

    def __init__(self, degree: int) -> None:
        self._lengths = [0] * degree

    def lengths(self) -> Sequence[int]:
        """Records planned for each worker."""
        return self._lengths

    def plan(self, allocations: Sequence[Allocation]) -> None:
        """Count what a strategy has routed."""
        for worker, records in allocations:
            self._lengths[worker] += records


class PaneStrategy(ABC):
    """Counts shards; a subclass decides where records go."""

    name: ClassVar[str]

    def __init__(self, degree: int) -> None:
        if isinstance(degree, bool) or not isinstance(degree, int) or not 1 <= degree <= MAX_DEGREE:
            raise OptionError(f"degree={degree!r} must be a whole number from 1 to {MAX_DEGREE}.")
        self.degree = degree
        self._shards: dict[int, dict[int, int]] = {}
        self._closed_before: int | None = None

    def route(self, pane: int, records: int, queues: Queues) -> list[Allocation]:
        """Where ``records`` more records of an open pane go; the allocations add up to ``records``."""
        if self._closed_before is not None and pane < self._closed_before:
            raise ValueError(f"pane {pane} is closed: its records are late")
        if records <= 0:
            return []
        shards = self._shards.setdefault(pane, {})
        allocations = self._choose(pane, records, shards, queues)
        for worker, count in allocations:
            shards[worker] = shards.get(worker, 0) + count
        return allocations

    def punctuate(self, pane: int) -> ClosedPane:
        """Close a pane. Without records it still has one, empty, shard: somebody has to report it."""
        if self._closed_before is not None and pane < self._closed_before:
            raise ValueError(f"pane {pane} is closed already")
        self._closed_before = pane + 1
        shards = self._shards.pop(pane, None) or {pane % self.degree: 0}
        self._on_close(pane, shards)
        return ClosedPane(pane, shards)

    def feedback(self, measurement: Measurement) -> None:
        """Learn from one sampling period; by default nothing."""
        del measurement

    @abstractmethod
    def _choose(self, pane: int, records: int, shards: Mapping[int, int], queues: Queues) -> list[Allocation]:
        """Distribute records of a pane whose shards so far are given."""

    def _on_close(self, pane: int, shards: Mapping[int, int]) -> None:  # noqa: B027 - most need not know
        """Forget or learn from a pane that is closed."""

    def describe(self) -> dict[str, float]:
        """What the strategy is doing now, for tables and plots."""
        return {}

    def to_json(self) -> dict[str, Any]:
        """The whole state, in a form that survives JSON."""
        shards = [[pane, sorted(shards.items())] for pane, shards in sorted(self._shards.items())]
        return {"name": self.name, "degree": self.degree, "shards": shards, "closed_before": self._closed_before}

    def restore(self, body: Mapping[str, Any]) -> None:
        """Continue from :meth:`to_json` of a strategy of the same name and degree."""
        if (body["name"], body["degree"]) != (self.name, self.degree):
            raise OptionError(f"state of {body['name']} with degree {body['degree']} does not fit {self.name}.")
        self._shards = {pane: dict(shards) for pane, shards in body["shards"]}
        self._closed_before = body["closed_before"]
