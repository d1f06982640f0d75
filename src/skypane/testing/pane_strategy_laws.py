"""The law suite for pane strategies: every strategy, yours included, must pass ``check_pane_strategy``.

    from skypane.testing import check_pane_strategy

    def test_my_strategy() -> None:
        check_pane_strategy(MyStrategy)

Each law is a function of what makes the strategy (its class, or a function of the degree) and of the calls that an
engine makes; its docstring is the law.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from hypothesis import strategies as st

from skypane.testing.batch_runs import batch_runs, batches_are_planned
from skypane.testing.law import expect, for_all
from skypane.tuning.splitting.pane_strategies import StrategyFactory, check_factory, strategy_factory
from skypane.tuning.splitting.pane_strategy import PaneStrategy
from skypane.tuning.splitting.utilization import Measurement, WorkerLoad

MAX_WORKERS = 9
_PERIOD_US = 1e6


class Route(NamedTuple):
    """Records of a pane, so many panes ahead of the oldest open one; the seed says what waits at the workers."""

    ahead: int
    records: int
    seed: int


class Punctuate(NamedTuple):
    """The oldest open pane is over."""


class Feedback(NamedTuple):
    """The seed says what the workers did in a sampling period."""

    seed: int


class Resize(NamedTuple):
    """So many workers from now on."""

    degree: int


Call = Route | Punctuate | Feedback | Resize


@dataclass(frozen=True)
class History:
    """Calls as an engine makes them, and a place among them."""

    degree: int
    calls: Sequence[Call]
    cut: int
    other_degree: int


class _Waiting:
    """Queues, drawn from a seed; 0 for empty ones."""

    def __init__(self, degree: int, seed: int = 0) -> None:
        rng = random.Random(seed)  # noqa: S311 - no secrets
        self._lengths = [rng.randint(0, 500) if seed else 0 for _ in range(degree)]

    def lengths(self) -> Sequence[int]:
        return list(self._lengths)


def _measurement(degree: int, seed: int) -> Measurement:
    rng = random.Random(seed)  # noqa: S311 - no secrets
    loads = [WorkerLoad(rng.uniform(0, 1e6), rng.uniform(0, 1e4), rng.randint(0, 10_000)) for _ in range(degree)]
    return Measurement(_PERIOD_US, loads)


class _Engine:
    """Makes the calls, and keeps counts of its own."""

    def __init__(self, strategy: PaneStrategy, oldest: int = 0) -> None:
        self.strategy = strategy
        self.oldest = oldest
        self.routed: dict[int, Counter[int]] = {}

    def play(self, calls: Sequence[Call]) -> list[Any]:
        """What the strategy answers."""
        return [self._play(call) for call in calls]

    def _play(self, call: Call) -> Any:
        if isinstance(call, Route):
            pane, waiting = self.oldest + call.ahead, _Waiting(self.strategy.degree, call.seed)
            allocations = self.strategy.route(pane, call.records, waiting)
            for worker, records in allocations:
                self.routed.setdefault(pane, Counter())[worker] += records
            return [tuple(allocation) for allocation in allocations]
        if isinstance(call, Punctuate):
            closed = self.strategy.punctuate(self.oldest)
            self.oldest += 1
            return dict(closed.shards)
        if isinstance(call, Feedback):
            return self.strategy.feedback(_measurement(self.strategy.degree, call.seed))
        self.strategy.resize(call.degree)
        for pane, shards in self.routed.items():
            handed_over: Counter[int] = Counter()
            for worker, records in shards.items():
                handed_over[worker % call.degree] += records
            self.routed[pane] = handed_over
        return None


def allocations_add_up(new: StrategyFactory, history: History) -> None:
    """Allocations add up to the records routed, each at least one record, to workers that there are."""
    engine = _Engine(new(history.degree))
    for call in history.calls:
        (allocations,) = engine.play([call])
        if isinstance(call, Route):
            expect(sum(records for _, records in allocations), call.records)
            expect([a for a in allocations if not (0 <= a[0] < engine.strategy.degree and a[1] > 0)], [])


def closed_panes_count_every_record(new: StrategyFactory, history: History) -> None:
    """A closed pane has the shards that were routed, or one empty one; a worker ``w`` that is gone has handed its over.

    To worker ``w % degree``.
    """
    engine = _Engine(new(history.degree))
    for call in history.calls:
        pane = engine.oldest
        (shards,) = engine.play([call])
        if isinstance(call, Punctuate):
            expect(+Counter(shards), engine.routed.get(pane, Counter()))
            expect(len(shards), max(1, len(engine.routed.get(pane, ()))))
            expect([worker for worker in shards if not 0 <= worker < engine.strategy.degree], [])


def closed_panes_stay_closed(new: StrategyFactory, history: History) -> None:
    """Neither records nor a watermark are taken for a pane that is closed: ``ValueError``."""
    engine = _Engine(new(history.degree))
    engine.play([*history.calls, Punctuate()])
    for late in (
        lambda: engine.strategy.route(engine.oldest - 1, 1, _Waiting(engine.strategy.degree)),
        lambda: engine.strategy.punctuate(engine.oldest - 1),
    ):
        try:
            late()
        except ValueError:
            continue
        expect("no error", "ValueError")


def the_same_calls_give_the_same_answers(new: StrategyFactory, history: History) -> None:
    """It is deterministic."""
    expect(_Engine(new(history.degree)).play(history.calls), _Engine(new(history.degree)).play(history.calls))


def a_restart_changes_nothing(new: StrategyFactory, history: History) -> None:
    """Its state survives JSON, and a strategy that is restored from it goes on like the one that it is of."""
    engine, rest = _played(new, history)
    again = new(engine.strategy.degree)
    again.restore(_through_json(engine.strategy))
    expect(_state(again), _state(engine.strategy))
    expect(_Engine(again, engine.oldest).play(rest), _Engine(engine.strategy, engine.oldest).play(rest))


def a_copy_is_another_strategy(new: StrategyFactory, history: History) -> None:
    """What is tried out with a copy changes nothing."""
    engine, rest = _played(new, history)
    before, copied = _state(engine.strategy), engine.strategy.copy()
    expect(_state(copied), before)
    _Engine(copied, engine.oldest).play(rest)
    expect(_state(engine.strategy), before)


def resizing_to_the_same_degree_changes_nothing(new: StrategyFactory, history: History) -> None:
    """``resize`` to the degree that it has leaves the state as it is."""
    engine, _ = _played(new, history)
    before = _state(engine.strategy)
    engine.strategy.resize(engine.strategy.degree)
    expect(_state(engine.strategy), before)


def restoring_with_another_degree_is_resizing(new: StrategyFactory, history: History) -> None:
    """A state restored with another degree is that of a strategy that was resized, and goes on like it."""
    engine, rest = _played(new, history)
    restored = new(history.other_degree)
    restored.restore(_through_json(engine.strategy))
    engine.strategy.resize(history.other_degree)
    expect(_state(restored), _state(engine.strategy))
    expect(_Engine(restored, engine.oldest).play(rest), _Engine(engine.strategy, engine.oldest).play(rest))


LAWS: tuple[Callable[[StrategyFactory, History], None], ...] = (
    allocations_add_up,
    closed_panes_count_every_record,
    closed_panes_stay_closed,
    the_same_calls_give_the_same_answers,
    a_restart_changes_nothing,
    a_copy_is_another_strategy,
    resizing_to_the_same_degree_changes_nothing,
    restoring_with_another_degree_is_resizing,
)


def check_pane_strategy(strategy: str | StrategyFactory, *, max_examples: int = 100) -> None:
    """Check every law on generated calls; raise :class:`~skypane.testing.law.LawBroken` if one does not hold.

    strategy: as for ``splitting=``: the class, a function of the degree that makes one, or a name. Batches are planned
    with it as Spark's are.
    """
    new = strategy_factory(strategy)
    check_factory(new, "check_pane_strategy", reserved=())
    for_all(LAWS, new, _histories(), max_examples)
    for_all((batches_are_planned,), new, batch_runs(), max_examples)


def _histories() -> st.SearchStrategy[History]:
    degrees, seeds = st.integers(1, MAX_WORKERS), st.integers(0, 1000)
    route = st.builds(Route, st.integers(0, 4), st.integers(0, 700), seeds)
    others = (st.builds(Punctuate), st.builds(Feedback, seeds), st.builds(Resize, degrees))
    call: st.SearchStrategy[Call] = st.one_of(route, route, *others)
    # Short ones to show, long ones to find: some faults take a certain order of calls.
    calls = st.one_of(st.lists(call, max_size=4), st.lists(call, min_size=10, max_size=25))
    return st.builds(History, degrees, calls, st.integers(0, 25), degrees)


def _played(new: StrategyFactory, history: History) -> tuple[_Engine, Sequence[Call]]:
    """The engine at the history's cut, and the calls that are left."""
    engine = _Engine(new(history.degree))
    engine.play(history.calls[: history.cut])
    return engine, history.calls[history.cut :]


def _through_json(strategy: PaneStrategy) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(json.dumps(strategy.to_json(), allow_nan=False))
    return read


def _state(strategy: PaneStrategy) -> str:
    return json.dumps(strategy.to_json(), allow_nan=False, sort_keys=True)
