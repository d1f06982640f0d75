"""BatchPlan: a pane strategy in a micro-batch engine - a plan before each batch, a lesson after it.

A plan follows from the state committed with the batch before and from nothing else, so a batch that is repeated is
routed the same way again. What is measured becomes part of the state and changes later plans only. Where a record goes
never changes an answer: partials of a key and pane are merged wherever they come from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from skypane.model.errors import OptionError
from skypane.scheduling.pane_strategies import pane_strategy
from skypane.scheduling.pane_strategy import MAX_DEGREE, PaneStrategy, PlannedQueues
from skypane.scheduling.utilization import Measurement, WorkerLoad, utilization

ROUTED = ("pane_rr", "tuple_rr", "adaptive", "adaptive_pid")
"""Strategies that send records to workers; ``combine`` leaves them where they are and needs no plan."""
SPLITTINGS = ("combine", *ROUTED)
MOST_PLANNED_PANES = 1_024
SHARES = 32
"""Into how many parts a split pane's records are cut, at least: the grain of a worker's share."""


@dataclass(frozen=True)
class TaskLoad:
    """What one task of the pane stage did."""

    busy_us: int
    records: int
    records_by_pane: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class RoutingState:
    """What the next plan is made from; committed with every step."""

    strategy: Mapping[str, Any]
    expected: Mapping[int, int] = field(default_factory=dict)
    """Records by pane that the next batch should bring."""
    newest_pane: int | None = None
    cut_us: int | None = None
    """When the source cut the batch."""
    elsewhere_us: int = 0
    """How long the step was busy outside the pane stage."""

    def to_json(self) -> dict[str, Any]:
        """A form that survives JSON."""
        return {
            "strategy": dict(self.strategy),
            "expected": sorted(self.expected.items()),
            "newest_pane": self.newest_pane,
            "cut_us": self.cut_us,
            "elsewhere_us": self.elsewhere_us,
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> RoutingState:
        """The inverse of :meth:`to_json`."""
        expected = {int(pane): int(records) for pane, records in body["expected"]}
        return cls(body["strategy"], expected, body["newest_pane"], body["cut_us"], body["elsewhere_us"])


@dataclass(frozen=True)
class BatchPlan:
    """Where the records of a batch go, as a table: ``width`` entries for each pane from ``first_pane`` on.

    A record takes the entry that its hash chooses among those of its pane, so a worker has as many entries as its share
    of the pane is large.
    """

    degree: int
    first_pane: int
    width: int
    table: Sequence[int]
    strategy: Mapping[str, Any]
    """The strategy's state, this plan included."""
    splits_unplanned: bool = False
    """Whether panes that are not in the table go to all workers, by the hash; else they take turns."""

    def worker(self, pane: int, record_hash: int) -> int:
        """The worker of one record: what an engine has to compute for all of them."""
        index = (pane - self.first_pane) * self.width + record_hash % self.width
        if 0 <= index < len(self.table):
            return self.table[index]
        return (record_hash if self.splits_unplanned else pane) % self.degree


@dataclass(frozen=True)
class BatchOutcome:
    """What became of a planned batch."""

    tasks: Sequence[TaskLoad]
    """By worker."""
    records_by_pane: Mapping[int, int]
    first_open_pane: int | None
    """Panes before it are sealed."""
    cut_us: int
    pane_stage_us: int
    elsewhere_us: int
    slots: int
    """How many tasks can run at a time."""


def check_splitting(splitting: str, pane_degree: int | None) -> None:
    """Refuse what cannot be meant, by the name of the option."""
    if splitting not in SPLITTINGS:
        raise OptionError(f"splitting={splitting!r} is unknown; it must be one of {', '.join(SPLITTINGS)}.")
    if pane_degree is None:
        return
    if isinstance(pane_degree, bool) or not isinstance(pane_degree, int) or not 1 <= pane_degree <= MAX_DEGREE:
        raise OptionError(f"pane_degree={pane_degree!r} must be a whole number from 1 to {MAX_DEGREE}.")


class BatchPlanner:
    """Plans batches with one strategy; keeps no state of its own."""

    def __init__(self, name: str, degree: int) -> None:
        self.name = name
        self.degree = degree

    def plan(self, state: RoutingState | None) -> BatchPlan:
        """Route the expected records, oldest pane first."""
        strategy, queues = self._restored(state), PlannedQueues(self.degree)
        expected = {} if state is None else state.expected
        splits_unplanned = self._splits_unplanned(strategy, expected)
        routes: dict[int, dict[int, int]] = {}
        for pane in sorted(expected):
            allocations = strategy.route(pane, expected[pane], queues)
            queues.plan(allocations)
            shares = routes.setdefault(pane, {})
            for worker, records in allocations:
                shares[worker] = shares.get(worker, 0) + records
        # A multiple of the degree, so that equal shares are equal.
        width = -(-SHARES // self.degree) * self.degree
        if not splits_unplanned and all(len(shares) == 1 for shares in routes.values()):
            width = 1
        table: list[int] = []
        for pane in range(min(routes, default=0), max(routes, default=-1) + 1):
            by_default = dict.fromkeys(range(self.degree), 1) if splits_unplanned else {pane % self.degree: 1}
            table += cut(routes.get(pane, by_default), width)
        return BatchPlan(
            self.degree, min(routes, default=0), width, table, strategy.to_json(), splits_unplanned=splits_unplanned
        )

    def _splits_unplanned(self, strategy: PaneStrategy, expected: Mapping[int, int]) -> bool:
        """Whether a pane that nobody expects would be split over all workers: asked with a pane of the usual size."""
        probe = pane_strategy(self.name, self.degree)
        body = strategy.to_json()
        probe.restore(body)
        pane = max((*expected, body["closed_before"] or 0)) + 1
        usual = sum(expected.values()) // len(expected) if expected else 0
        allocations = probe.route(pane, max(usual, self.degree), PlannedQueues(self.degree))
        return self.degree > 1 and len({allocation.worker for allocation in allocations}) == self.degree

    def learn(self, state: RoutingState | None, plan: BatchPlan, outcome: BatchOutcome) -> RoutingState:
        """Replace what was planned by what came, close the sealed panes, take in the measurement."""
        strategy = pane_strategy(self.name, self.degree)
        strategy.restore(_as_it_came(plan.strategy, self._restored(state).to_json(), outcome.tasks))
        _close(strategy, outcome.first_open_pane)
        strategy.feedback(self.measurement(state, outcome))
        counts = outcome.records_by_pane
        newest = max(counts, default=None)
        known = None if state is None else state.newest_pane
        if newest is None or (known is not None and newest < known):
            newest = known
        shift = newest - known if newest is not None and known is not None else 0
        if not counts and state is not None:
            counts = state.expected  # an empty batch says nothing about the next
        return RoutingState(
            strategy.to_json(),
            expected_records(counts, shift, outcome.first_open_pane),
            newest,
            outcome.cut_us,
            outcome.elsewhere_us,
        )

    def close(self, state: RoutingState, first_open_pane: int | None) -> RoutingState:
        """A step without a batch: only panes were sealed."""
        strategy = self._restored(state)
        _close(strategy, first_open_pane)
        expected = expected_records(state.expected, 0, first_open_pane)
        return RoutingState(strategy.to_json(), expected, state.newest_pane, state.cut_us, state.elsewhere_us)

    def measurement(self, state: RoutingState | None, outcome: BatchOutcome) -> Measurement:
        """The batch as a sampling period of the pane stage: the time that its workers could have used.

        That is from one batch to the next, without what the step before did elsewhere and without the time in which
        the records were read and sent. Where there are more workers than slots, each has its share of the slots.
        """
        busy_us = [task.busy_us for task in outcome.tasks]
        working_us = max(max(busy_us, default=0), sum(busy_us) / outcome.slots)
        sending_us = max(0.0, outcome.pane_stage_us - working_us)
        since_us = 0
        if state is not None and state.cut_us is not None:
            since_us = outcome.cut_us - state.cut_us - state.elsewhere_us
        period_us = max(working_us, since_us - sending_us) * min(1.0, outcome.slots / self.degree)
        loads = [WorkerLoad(task.busy_us, task.records, task.records) for task in outcome.tasks]
        return Measurement(max(period_us, 1.0), loads)

    def rho(self, state: RoutingState | None, outcome: BatchOutcome) -> float | None:
        """The utilization of the papers."""
        return utilization(self.measurement(state, outcome))

    def _restored(self, state: RoutingState | None) -> PaneStrategy:
        """The strategy as it was; a new one if the last run had another, or another degree."""
        strategy = pane_strategy(self.name, self.degree)
        if state is not None and (state.strategy["name"], state.strategy["degree"]) == (self.name, self.degree):
            strategy.restore(state.strategy)
        return strategy


def expected_records(counts: Mapping[int, int], shift: int, first_open_pane: int | None) -> dict[int, int]:
    """The next batch as the last one, moved on as far as the stream has moved; late records are not planned for."""
    moved = {pane + shift: records for pane, records in counts.items() if records > 0}
    newest = max(moved, default=0)
    oldest = newest - MOST_PLANNED_PANES + 1
    if first_open_pane is not None:
        oldest = max(oldest, first_open_pane)
    return {pane: records for pane, records in sorted(moved.items()) if pane >= oldest}


def cut(shares: Mapping[int, int], width: int) -> list[int]:
    """Workers by their shares: ``width`` entries, rounded so that the largest remainders come first."""
    total = sum(shares.values())
    entries = {worker: records * width // total for worker, records in shares.items()}
    left = width - sum(entries.values())
    by_remainder = sorted(shares, key=lambda worker: (-(shares[worker] * width % total), worker))
    for worker in by_remainder[:left]:
        entries[worker] += 1
    return [worker for worker in sorted(entries) for _ in range(entries[worker])]


def splitting_factor(tasks: Sequence[TaskLoad]) -> float | None:
    """Mean shards per pane of one batch."""
    shards: dict[int, int] = {}
    for task in tasks:
        for pane, records in task.records_by_pane.items():
            shards[pane] = shards.get(pane, 0) + (records > 0)
    return sum(shards.values()) / len(shards) if shards else None


def imbalance(tasks: Sequence[TaskLoad]) -> float | None:
    """Records of the largest task over the mean."""
    total = sum(task.records for task in tasks)
    return max(task.records for task in tasks) * len(tasks) / total if total else None


def _as_it_came(planned: Mapping[str, Any], before: Mapping[str, Any], tasks: Sequence[TaskLoad]) -> Mapping[str, Any]:
    """The strategy's state with the shards that were made instead of those that were planned."""
    # A planned worker keeps its shard, be it empty: the strategy may go on with it.
    shards: dict[int, dict[int, int]] = {pane: dict.fromkeys(dict(made), 0) for pane, made in planned["shards"]}
    for pane, made in before["shards"]:
        shards.setdefault(pane, {}).update(made)
    for worker, task in enumerate(tasks):
        for pane, records in task.records_by_pane.items():
            made_now = shards.setdefault(pane, {})
            made_now[worker] = made_now.get(worker, 0) + records
    return {**planned, "shards": [[pane, sorted(made.items())] for pane, made in sorted(shards.items())]}


def _close(strategy: PaneStrategy, first_open_pane: int | None) -> None:
    """Punctuate the sealed panes that have records, and the last one: of the others there may be millions."""
    body = strategy.to_json()
    closed_before = body["closed_before"]
    if first_open_pane is None or (closed_before is not None and first_open_pane <= closed_before):
        return
    for pane, _ in body["shards"]:
        if pane < first_open_pane - 1 and (closed_before is None or pane >= closed_before):
            strategy.punctuate(pane)
    strategy.punctuate(first_open_pane - 1)
