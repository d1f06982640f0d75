"""Laws of every pane strategy: each record in one shard, each pane closed once, the same again after a restart."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skypane.model.errors import OptionError
from skypane.scheduling.adaptive import Adaptive
from skypane.scheduling.base_threshold import WARM_UP_PANES
from skypane.scheduling.pane_strategy import PaneStrategy, PlannedQueues
from skypane.scheduling.utilization import Measurement, WorkerLoad
from skypane.simulate.strategies.pane_strategies import PANE_STRATEGIES, pane_strategy

names = st.sampled_from(PANE_STRATEGIES)
degrees = st.integers(1, 9)


class Lengths:
    """Queues as a test wants them."""

    def __init__(self, lengths: list[int]) -> None:
        self._lengths = lengths

    def lengths(self) -> list[int]:
        return list(self._lengths)


@st.composite
def histories(draw: st.DrawFn, degree: int) -> list[tuple[str, Any]]:
    """Calls as an engine makes them: records of open panes in any order, closings in order, feedback now and then."""
    calls: list[tuple[str, Any]] = []
    closed = 0
    for _ in range(draw(st.integers(0, 40))):
        kind = draw(st.sampled_from(["route", "route", "route", "punctuate", "feedback"]))
        if kind == "route":
            lengths = draw(st.lists(st.integers(0, 500), min_size=degree, max_size=degree))
            calls.append(("route", (draw(st.integers(closed, closed + 4)), draw(st.integers(0, 700)), lengths)))
        elif kind == "punctuate":
            calls.append(("punctuate", closed))
            closed += 1
        else:
            load = st.builds(WorkerLoad, st.floats(0, 1e6), st.floats(0, 1e4), st.integers(0, 10_000))
            calls.append(("feedback", draw(st.lists(load, min_size=degree, max_size=degree))))
    return calls


def play(strategy: PaneStrategy, calls: list[tuple[str, Any]]) -> list[Any]:
    """What the strategy answers."""
    answers: list[Any] = []
    for kind, given_ in calls:
        if kind == "route":
            pane, records, lengths = given_
            answers.append(strategy.route(pane, records, Lengths(lengths)))
        elif kind == "punctuate":
            closed = strategy.punctuate(given_)
            answers.append((closed.pane, dict(closed.shards)))
        else:
            strategy.feedback(Measurement(1e6, given_))
    return answers


@settings(max_examples=100, deadline=None)
@given(data=st.data(), name=names, degree=degrees)
def test_every_record_is_in_exactly_one_shard(data: st.DataObject, name: str, degree: int) -> None:
    calls = data.draw(histories(degree))
    answers = iter(play(pane_strategy(name, degree), calls))
    routed: dict[int, Counter[int]] = {}
    for kind, given_ in calls:
        if kind == "route":
            pane, records, _ = given_
            allocations = next(answers)
            assert sum(count for _, count in allocations) == records
            assert all(count > 0 and 0 <= worker < degree for worker, count in allocations)
            for worker, count in allocations:
                routed.setdefault(pane, Counter())[worker] += count
        elif kind == "punctuate":
            pane, shards = next(answers)
            assert pane == given_
            assert +Counter(shards) == routed.get(pane, Counter())
            # A pane without records has one empty shard: the window stage hears of it.
            assert len(shards) == (len(routed[pane]) if pane in routed else 1)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), name=names, degree=degrees)
def test_a_restart_from_json_changes_nothing(data: st.DataObject, name: str, degree: int) -> None:
    calls = data.draw(histories(degree))
    cut = data.draw(st.integers(0, len(calls)))
    whole = play(pane_strategy(name, degree), calls)
    first = pane_strategy(name, degree)
    before = play(first, calls[:cut])
    second = pane_strategy(name, degree)
    second.restore(json.loads(json.dumps(first.to_json())))
    assert before + play(second, calls[cut:]) == whole


@pytest.mark.parametrize("name", PANE_STRATEGIES)
def test_a_pane_closes_once_and_gets_nothing_after(name: str) -> None:
    strategy = pane_strategy(name, 3)
    strategy.route(5, 10, PlannedQueues(3))
    strategy.punctuate(5)
    with pytest.raises(ValueError, match="pane 5 is closed"):
        strategy.punctuate(5)
    with pytest.raises(ValueError, match="pane 4 is closed"):
        strategy.route(4, 1, PlannedQueues(3))


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
@pytest.mark.parametrize("name", ["adaptive_pid", "combine"])
def test_control_splits_more_under_load_and_less_without(name: str, busy_us: float, more: bool) -> None:
    strategy = pane_strategy(name, 8)
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


@pytest.mark.parametrize("degree", [0, -1, 2.5, True, 10_001])
def test_a_degree_is_a_whole_number_from_1(degree: Any) -> None:
    with pytest.raises(OptionError, match=r"degree=.* must be a whole number from 1 to 10000"):
        pane_strategy("tuple_rr", degree)


def test_an_unknown_strategy_is_named_with_the_known_ones() -> None:
    with pytest.raises(OptionError, match=r"'best' is unknown.*pane_rr, tuple_rr, adaptive, adaptive_pid, combine"):
        pane_strategy("best", 3)
