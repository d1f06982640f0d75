"""PaneStrategy: which worker of the pane stage gets which records of a pane; one interface for all engines.

The engine calls, in any interleaving of panes:

* ``route`` for records of an open pane: the answer says how many of them go to which worker;
* ``punctuate`` once for every pane, in order, also for panes without records: it closes the pane and counts its shards,
  so that the window stage knows when the pane is complete;
* ``feedback`` at the end of every sampling period. What is measured changes later decisions only;
* ``resize`` when there are more workers, or fewer. What was learned stays;
* ``leave`` instead, where workers have a say in who goes: they hand in the shards that they have, as they are.

A **shard** is what one worker gets of one pane. A streaming engine calls ``route`` for single arrivals; a micro-batch
engine calls it with the records it expects of each pane, and turns the allocations into shares. Strategies are
deterministic and their state is plain data (``to_json``, ``restore``): it can be part of a checkpoint.

A strategy of your own derives from :class:`PaneStrategy` and says where records go (``choose``). If it remembers
anything, it says what (``memory``, ``recall``) and what becomes of it with another degree (``on_resize``). The laws
that every strategy must keep are executed by :func:`skypane.testing.check_pane_strategy`.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol

from skypane.model.errors import OptionError
from skypane.tuning.splitting.utilization import Measurement

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
    """In checkpoints and explanations."""

    def __init__(self, degree: int) -> None:
        check_degree(degree)
        self.degree = degree
        self._shards: dict[int, dict[int, int]] = {}
        self._handed_in: dict[int, list[int]] = {}
        self._closed_before: int | None = None

    @abstractmethod
    def choose(self, pane: int, records: int, shards: Mapping[int, int], queues: Queues) -> list[Allocation]:
        """Distribute ``records``, at least one, of a pane whose shards so far are given, by worker."""

    def feedback(self, measurement: Measurement) -> None:
        """Learn from one sampling period; by default nothing."""
        del measurement

    def on_close(self, pane: int, shards: Mapping[int, int]) -> None:  # noqa: B027 - most need not know
        """Forget or learn from a pane that is closed."""

    def on_resize(self, before: int) -> None:  # noqa: B027 - most need not know
        """Adapt what is remembered: there were ``before`` workers, there are ``self.degree``.

        Shards of workers that are gone belong to worker ``worker % self.degree`` now.
        """

    def on_leave(self, before: int, numbers: Mapping[int, int], lengths: Sequence[int]) -> None:
        """Adapt what is remembered: of ``before`` workers those in ``numbers`` stay, and have these new numbers.

        ``lengths`` is what waits at those that stay. By default as after a resize: what a worker that left was filling
        goes to any other.
        """
        del numbers, lengths
        self.on_resize(before)

    def memory(self) -> Mapping[str, Any]:
        """What it remembers beside the shards, in a form that survives JSON."""
        return {}

    def recall(self, memory: Mapping[str, Any]) -> None:  # noqa: B027 - most remember nothing
        """Continue from what :meth:`memory` returned."""

    def describe(self) -> dict[str, float]:
        """What the strategy is doing now, for tables and plots."""
        return {}

    def route(self, pane: int, records: int, queues: Queues) -> list[Allocation]:
        """Where ``records`` more records of an open pane go; the allocations add up to ``records``."""
        if self._closed_before is not None and pane < self._closed_before:
            raise ValueError(f"pane {pane} is closed: its records are late")
        if records <= 0:
            return []
        shards = self._shards.setdefault(pane, {})
        allocations = self.choose(pane, records, shards, queues)
        for worker, count in allocations:
            shards[worker] = shards.get(worker, 0) + count
        return allocations

    def punctuate(self, pane: int) -> ClosedPane:
        """Close a pane. Without records it still has one, empty, shard: one worker reports it."""
        if self._closed_before is not None and pane < self._closed_before:
            raise ValueError(f"pane {pane} is closed already")
        self._closed_before = pane + 1
        shards = self._shards.pop(pane, None) or {pane % self.degree: 0}
        self.on_close(pane, shards)
        self._handed_in.pop(pane, None)
        return ClosedPane(pane, shards)

    def punctuate_before(self, first_open_pane: int) -> None:
        """Punctuate the panes before it that have records, and the last one: of the others there may be millions."""
        if self._closed_before is not None and first_open_pane <= self._closed_before:
            return
        for pane in sorted(self._shards):
            if pane < first_open_pane - 1:
                self.punctuate(pane)
        self.punctuate(first_open_pane - 1)

    def resize(self, degree: int) -> None:
        """Go on with another number of workers; shards of those that are gone are handed over to the others."""
        check_degree(degree)
        if degree == self.degree:
            return
        before, self.degree = self.degree, degree
        for pane, shards in self._shards.items():
            handed_over: dict[int, int] = {}
            for worker, records in sorted(shards.items()):
                handed_over[worker % degree] = handed_over.get(worker % degree, 0) + records
            self._shards[pane] = handed_over
        self.on_resize(before)

    def leave(self, workers: Collection[int], queues: Queues) -> dict[int, dict[int, int]]:
        """Go on without these workers. They flush their open shards, which are returned by pane and worker.

        Those that stay keep theirs, and are numbered anew in their order. A pane counts a shard that was flushed for
        itself: should its worker come back, it begins another one.
        """
        stay = [worker for worker in range(self.degree) if worker not in workers]
        if not stay:
            raise OptionError("a pane stage needs a worker: not all can leave.")
        numbers, lengths = {old: new for new, old in enumerate(stay)}, queues.lengths()
        before, self.degree = self.degree, len(stay)
        handed_in: dict[int, dict[int, int]] = {}
        for pane, shards in self._shards.items():
            left = {worker: records for worker, records in shards.items() if worker not in numbers}
            if left:
                handed_in[pane] = left
                self._handed_in.setdefault(pane, []).extend(left.values())
            self._shards[pane] = {numbers[worker]: n for worker, n in shards.items() if worker in numbers}
        self.on_leave(before, numbers, [lengths[worker] for worker in stay])
        return handed_in

    def handed_in(self, pane: int) -> Sequence[int]:
        """Records of the shards of an open pane that workers flushed when they left."""
        return self._handed_in.get(pane, ())

    @property
    def open_shards(self) -> Mapping[int, Mapping[int, int]]:
        """Records by worker, of every open pane that has any."""
        return self._shards

    @property
    def closed_before(self) -> int | None:
        """The panes before it are closed; ``None`` if none is."""
        return self._closed_before

    def replace_shards(self, shards: Mapping[int, Mapping[int, int]]) -> None:
        """Believe that these are the open shards: for engines that plan, and see afterwards what came.

        A worker that was given a shard stays in it, be it empty: the strategy may go on with it. Closed panes stay
        closed.
        """
        self._shards = {
            pane: dict.fromkeys(self._shards.get(pane, {}), 0) | dict(shards.get(pane, {}))
            for pane in sorted({*self._shards, *shards})
            if self._closed_before is None or pane >= self._closed_before
        }

    def copy(self) -> PaneStrategy:
        """Another one in the same state, to try something out."""
        return copy.deepcopy(self)

    def to_json(self) -> dict[str, Any]:
        """The whole state, in a form that survives JSON."""
        shards = [[pane, sorted(shards.items())] for pane, shards in sorted(self._shards.items())]
        frame = {"name": self.name, "degree": self.degree, "shards": shards, "closed_before": self._closed_before}
        handed_in = {"handed_in": sorted(self._handed_in.items())} if self._handed_in else {}
        return {**self.memory(), **frame, **handed_in}

    def understands(self, body: Mapping[str, Any]) -> bool:
        """Whether this is the state of a strategy of the same name."""
        return bool(body["name"] == self.name)

    def restore(self, body: Mapping[str, Any]) -> None:
        """Continue from :meth:`to_json` of a strategy of the same name; with another degree, as after a resize."""
        if not self.understands(body):
            raise OptionError(f"state of the pane strategy {body['name']} does not fit {self.name}.")
        degree, self.degree = self.degree, body["degree"]
        self._shards = {pane: dict(shards) for pane, shards in body["shards"]}
        self._handed_in = {pane: list(records) for pane, records in body.get("handed_in", ())}
        self._closed_before = body["closed_before"]
        self.recall(body)
        self.resize(degree)


def check_degree(degree: int, option: str = "degree") -> None:
    """Refuse what cannot be meant, by the name of the option."""
    if isinstance(degree, bool) or not isinstance(degree, int) or not 1 <= degree <= MAX_DEGREE:
        raise OptionError(f"{option}={degree!r} must be a whole number from 1 to {MAX_DEGREE}.")
