"""BatchPlanner: a plan before each batch, a lesson after it."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from skypane.flow.plan import Routing
from skypane.flow.reports import TaskLoad
from skypane.model.errors import OptionError
from skypane.tuning.splitting.batch_plan import BatchOutcome, BatchPlan, RoutingState
from skypane.tuning.splitting.pane_strategies import StrategyFactory, strategy_factory, strategy_name
from skypane.tuning.splitting.pane_strategy import Allocation, PaneStrategy, PlannedQueues
from skypane.tuning.splitting.utilization import Measurement, WorkerLoad, utilization

MAX_PLANNED_PANES = 1_024
SHARES = 32
"""Into how many parts a split pane's records are cut, at least: the grain of a worker's share."""


_log = logging.getLogger("skypane")


class BatchPlanner:
    """Plans batches with one strategy, given by name or by what makes it; keeps no state of its own."""

    def __init__(self, strategy: str | StrategyFactory, degree: int) -> None:
        self._new = strategy_factory(strategy)
        self.degree = degree
        self.name = strategy_name(strategy)

    def plan(self, state: RoutingState | None) -> BatchPlan:
        """Route the expected records, oldest pane first."""
        strategy, queues = self._restored(state), PlannedQueues(self.degree)
        expected = {} if state is None else state.expected
        splits_unplanned = self._splits_unplanned(strategy, expected)
        routes: dict[int, dict[int, int]] = {}
        for pane in sorted(expected):
            allocations = strategy.route(pane, expected[pane], queues)
            self._check(allocations, expected[pane])
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
        routing = Routing(
            degree=self.degree,
            first_pane=min(routes, default=0),
            width=width,
            table=tuple(table),
            splits_unplanned=splits_unplanned,
        )
        return BatchPlan(routing, strategy.to_json())

    def _check(self, allocations: Sequence[Allocation], records: int) -> None:
        """Strategies may be of others; a wrong one is named here and not where its plan is used."""
        fits = all(0 <= worker < self.degree and count > 0 for worker, count in allocations)
        if not fits or sum(count for _, count in allocations) != records:
            raise OptionError(
                f"The pane strategy {self.name} distributes {records} records over {self.degree} workers as "
                f"{[tuple(allocation) for allocation in allocations]}. Check it with "
                "skypane.testing.check_pane_strategy."
            )

    def _splits_unplanned(self, strategy: PaneStrategy, expected: Mapping[int, int]) -> bool:
        """Whether the strategy would split an unexpected pane of the usual size over all workers."""
        pane = max((*expected, strategy.closed_before or 0)) + 1
        usual = sum(expected.values()) // len(expected) if expected else 0
        allocations = strategy.copy().route(pane, max(usual, self.degree), PlannedQueues(self.degree))
        return self.degree > 1 and len({allocation.worker for allocation in allocations}) == self.degree

    def learn(self, state: RoutingState | None, outcome: BatchOutcome) -> RoutingState:
        """Replace the planned records by those that came, close sealed panes, learn from the measurement."""
        strategy = self._new(self.degree)
        strategy.restore(self.plan(state).strategy)  # planned again: the same, and nothing has to be carried along
        strategy.replace_shards(with_shards_of(self._restored(state).open_shards, outcome.tasks))
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
            strategy=strategy.to_json(),
            expected=expected_records(counts, shift, outcome.first_open_pane),
            newest_pane=newest,
            cut_us=outcome.cut_us,
            elsewhere_us=outcome.elsewhere_us,
        )

    def close(self, state: RoutingState, first_open_pane: int | None) -> RoutingState:
        """A step without a batch: only panes were sealed."""
        strategy = self._restored(state)
        _close(strategy, first_open_pane)
        expected = expected_records(state.expected, 0, first_open_pane)
        return replace(state, strategy=strategy.to_json(), expected=expected)

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
            since_us = outcome.cut_us - state.cut_us - state.elsewhere_us - outcome.sinks_us
        period_us = max(working_us, since_us - sending_us) * min(1.0, outcome.slots / self.degree)
        loads = [WorkerLoad(task.busy_us, task.records, task.records) for task in outcome.tasks]
        return Measurement(max(period_us, 1.0), loads)

    def rho(self, state: RoutingState | None, outcome: BatchOutcome) -> float | None:
        """The utilization of the papers."""
        return utilization(self.measurement(state, outcome))

    def _restored(self, state: RoutingState | None) -> PaneStrategy:
        """The strategy as it was, with as many workers as there are now; a new one if the last run had another.

        So it is with a state that the strategy cannot read: it was damaged, or written by another version of its code.
        """
        strategy = self._new(self.degree)
        if state is None:
            return strategy
        try:
            if strategy.understands(state.strategy):
                strategy.restore(state.strategy)
        except Exception as error:  # noqa: BLE001 - whatever it is, no answer depends on what was learned
            _log.warning("Forgot what the pane strategy %s has learned, which it cannot read: %r", self.name, error)
            return self._new(self.degree)
        return strategy


def expected_records(counts: Mapping[int, int], shift: int, first_open_pane: int | None) -> dict[int, int]:
    """The next batch as the last one, moved on as far as the stream has moved; late records are not planned for."""
    moved = {pane + shift: records for pane, records in counts.items() if records > 0}
    newest = max(moved, default=0)
    oldest = newest - MAX_PLANNED_PANES + 1
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


def with_shards_of(shards: Mapping[int, Mapping[int, int]], tasks: Sequence[TaskLoad]) -> dict[int, dict[int, int]]:
    """The shards of before and those that the tasks have made."""
    together = {pane: dict(made) for pane, made in shards.items()}
    for worker, task in enumerate(tasks):
        for pane, records in task.records_by_pane.items():
            made = together.setdefault(pane, {})
            made[worker] = made.get(worker, 0) + records
    return together


def _close(strategy: PaneStrategy, first_open_pane: int | None) -> None:
    if first_open_pane is not None:
        strategy.punctuate_before(first_open_pane)
