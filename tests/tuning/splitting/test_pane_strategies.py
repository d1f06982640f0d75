"""Laws of every pane strategy: each record in one shard, each pane closed once, the same again after a restart."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from skypane.model.errors import OptionError
from skypane.tuning.splitting.adaptive import Adaptive
from skypane.tuning.splitting.base_threshold import WARM_UP_PANES
from skypane.tuning.splitting.pane_strategies import PANE_STRATEGIES, pane_strategy
from skypane.tuning.splitting.pane_strategy import PaneStrategy, PlannedQueues
from skypane.tuning.splitting.splitting_controller import ControlOptions
from skypane.tuning.splitting.utilization import Measurement, WorkerLoad


class Lengths:
    """Queues as a test wants them."""

    def __init__(self, lengths: list[int]) -> None:
        self._lengths = lengths

    def lengths(self) -> list[int]:
        return list(self._lengths)


def test_pane_round_robin_never_splits_and_tuple_round_robin_always_does() -> None:
    panes, tuples = pane_strategy("pane_rr", 4), pane_strategy("tuple_rr", 4)
    for pane in range(6):
        for _ in range(3):
            panes.route(pane, 100, PlannedQueues(4))
            tuples.route(pane, 100, PlannedQueues(4))
        assert dict(panes.punctuate(pane).shards) == {pane % 4: 300}
        assert dict(tuples.punctuate(pane).shards) == dict.fromkeys(range(4), 75)


def warmed(degree: int, size: int = 100) -> Adaptive:
    """An adaptive strategy whose threshold is ``size``: panes of equal size, unsplit."""
    strategy = Adaptive(degree)
    for pane in range(WARM_UP_PANES):
        strategy.route(pane, size, PlannedQueues(degree))
        assert len(strategy.punctuate(pane).shards) == 1
    assert strategy.threshold == size
    return strategy


def test_adaptive_fills_a_shard_then_turns_to_the_least_loaded_worker() -> None:
    strategy = warmed(3)
    assert strategy.route(9, 60, Lengths([5, 0, 7])) == [(1, 60)]
    # 40 more fit into the shard at worker 1; the rest goes to the worker with the shortest queue.
    assert strategy.route(9, 90, Lengths([5, 60, 7])) == [(1, 40), (0, 50)]
    assert dict(strategy.punctuate(9).shards) == {1: 100, 0: 50}


def test_adaptive_opens_a_full_shard_again_if_its_worker_is_the_least_loaded() -> None:
    strategy = warmed(2)
    strategy.route(9, 100, Lengths([0, 50]))
    assert strategy.route(9, 2, Lengths([0, 50])) == [(0, 1), (0, 1)]
    assert len(strategy.punctuate(9).shards) == 1


def test_equal_queues_are_taken_in_turn() -> None:
    strategy = warmed(3)
    owners = [strategy.route(10 + pane, 1, PlannedQueues(3))[0].worker for pane in range(6)]
    assert owners == [(owners[0] + step) % 3 for step in range(6)]


@pytest.mark.parametrize(("busy_us", "more"), [(1_000_000.0, True), (10_000.0, False)])
def test_control_splits_more_under_load_and_less_without(busy_us: float, more: bool) -> None:
    strategy = pane_strategy("adaptive_pid", 8)
    shards = []
    for pane in range(200):
        for _ in range(20):
            strategy.route(pane, 50 if pane % 2 else 100, PlannedQueues(8))
        shards.append(len(strategy.punctuate(pane).shards))
        strategy.feedback(Measurement(1e6, [WorkerLoad(busy_us, 100.0, 300)] * 8))
    assert shards[-1] == (8 if more else 1)


@pytest.mark.parametrize("busy_us", [1_000_000.0, 10_000.0])
def test_under_control_the_base_threshold_does_not_follow_the_threshold(busy_us: float) -> None:
    """Else alpha below 1 lowers the base, the lower base the shards, and these the base again."""
    strategy = pane_strategy("adaptive_pid", 8)
    for pane in range(100):
        for _ in range(20):
            strategy.route(pane, 50, PlannedQueues(8))
        strategy.punctuate(pane)
        strategy.feedback(Measurement(1e6, [WorkerLoad(busy_us, 100.0, 300)] * 8))
    state = strategy.describe()
    assert state["threshold"] / state["alpha"] == pytest.approx(1000.0)


def test_a_planned_batch_is_spread_over_the_workers() -> None:
    """A micro-batch engine: one call per pane with the records expected of it, before anything runs."""
    strategy, planned = warmed(4), PlannedQueues(4)
    for pane, records in ((9, 350), (10, 30), (11, 120)):
        planned.plan(strategy.route(pane, records, planned))
    assert sum(planned.lengths()) == 500
    # A worker is chosen for a shard when it has least, so nobody is ahead by more than a shard.
    assert max(planned.lengths()) - min(planned.lengths()) <= strategy.threshold


def loaded(name: str, degree: int, panes: int) -> PaneStrategy:
    """A strategy that has learned under load."""
    strategy = pane_strategy(name, degree, ControlOptions(warm_up_periods=2))
    for pane in range(panes):
        for _ in range(10):
            strategy.route(pane, 50 if pane % 2 else 100, PlannedQueues(degree))
        strategy.punctuate(pane)
        strategy.feedback(Measurement(1e6, [WorkerLoad(9e5, 100.0, 150)] * degree))
    return strategy


@pytest.mark.parametrize("degree", [1, 3, 8, 20])
@pytest.mark.parametrize("name", ["adaptive", "adaptive_pid"])
def test_resizing_keeps_what_was_learned(name: str, degree: int) -> None:
    strategy = loaded(name, 8, 60)
    learned = strategy.describe()
    strategy.resize(degree)
    assert strategy.describe() == learned
    assert strategy.degree == degree


@pytest.mark.parametrize("name", PANE_STRATEGIES)
def test_shards_of_workers_that_are_gone_are_handed_over(name: str) -> None:
    strategy = pane_strategy(name, 6)
    for pane in range(8):
        strategy.route(pane, 60, PlannedQueues(6))
    before = {pane: dict(shards) for pane, shards in strategy.open_shards.items()}
    strategy.resize(4)
    for pane, shards in before.items():
        expected: Counter[int] = Counter()
        for worker, records in shards.items():
            expected[worker % 4] += records
        assert strategy.open_shards[pane] == expected
        # The pane goes on with the workers there are.
        assert {allocation.worker for allocation in strategy.route(pane, 8, PlannedQueues(4))} <= set(range(4))
        assert sum(strategy.punctuate(pane).shards.values()) == 68


def test_what_came_replaces_what_was_planned_but_nothing_opens_a_closed_pane() -> None:
    strategy = pane_strategy("pane_rr", 3)
    strategy.punctuate(3)
    strategy.route(4, 10, PlannedQueues(3))
    strategy.replace_shards({2: {0: 5}, 4: {2: 7}, 5: {0: 1}})
    assert strategy.open_shards == {4: {1: 0, 2: 7}, 5: {0: 1}}
    strategy.punctuate_before(10**12)
    assert (strategy.open_shards, strategy.closed_before) == ({}, 10**12)
    strategy.punctuate_before(7)
    assert strategy.closed_before == 10**12


def test_the_state_of_another_strategy_is_refused() -> None:
    with pytest.raises(OptionError, match=r"state of the pane strategy adaptive does not fit tuple_rr"):
        pane_strategy("tuple_rr", 2).restore(pane_strategy("adaptive", 2).to_json())


@pytest.mark.parametrize("degree", [0, -1, 2.5, True, 10_001])
def test_a_degree_is_a_whole_number_from_1(degree: Any) -> None:
    with pytest.raises(OptionError, match=r"degree=.* must be a whole number from 1 to 10000"):
        pane_strategy("tuple_rr", degree)
    with pytest.raises(OptionError, match=r"degree=.* must be a whole number from 1 to 10000"):
        pane_strategy("tuple_rr", 2).resize(degree)


def test_an_unknown_strategy_is_named_with_the_known_ones() -> None:
    with pytest.raises(OptionError, match=r"'best' is unknown.*pane_rr, tuple_rr, adaptive, adaptive_pid\."):
        pane_strategy("best", 3)
