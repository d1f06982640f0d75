"""Combine, the simulator's own pane strategy: it keeps the laws, splits under load, and survives other degrees."""

from __future__ import annotations

from collections import Counter

import pytest

from skypane.model.errors import OptionError
from skypane.testing.pane_strategy_laws import check_pane_strategy
from skypane.tuning.splitting.pane_strategy import PaneStrategy, PlannedQueues
from skypane.tuning.splitting.splitting_controller import ControlOptions
from skypane.tuning.splitting.utilization import Measurement, WorkerLoad
from skypane_lab.strategies.pane_strategies import pane_strategy

SOON = ControlOptions(warm_up_periods=2)


def test_combine_keeps_the_laws() -> None:
    """Also when the relay experiment is over soon."""
    check_pane_strategy(lambda degree: pane_strategy("combine", degree, SOON), max_examples=60)


def run(strategy: PaneStrategy, panes: int, busy_us: float) -> list[int]:
    """How many shards each pane has if all workers are busy for that long in each second."""
    shards = []
    for pane in range(panes):
        for _ in range(20):
            strategy.route(pane, 50 if pane % 2 else 100, PlannedQueues(strategy.degree))
        shards.append(len(strategy.punctuate(pane).shards))
        strategy.feedback(Measurement(1e6, [WorkerLoad(busy_us, 100.0, 300)] * strategy.degree))
    return shards


@pytest.mark.parametrize(("busy_us", "more"), [(1_000_000.0, True), (10_000.0, False)])
def test_control_splits_more_under_load_and_less_without(busy_us: float, more: bool) -> None:
    assert run(pane_strategy("combine", 8), 200, busy_us)[-1] == (8 if more else 1)


def test_resizing_keeps_how_many_shards_a_pane_has() -> None:
    strategy = pane_strategy("combine", 8, SOON)
    run(strategy, 60, 9e5)
    spread = strategy.describe()["spread"]
    assert spread == 8
    strategy.resize(30)
    assert strategy.describe()["spread"] == spread
    strategy.resize(1)
    assert strategy.describe()["spread"] == 1


def test_shards_of_workers_that_are_gone_are_handed_over() -> None:
    strategy = pane_strategy("combine", 6)
    for pane in range(8):
        strategy.route(pane, 60, PlannedQueues(6))
    before = {pane: dict(shards) for pane, shards in strategy.open_shards.items()}
    strategy.resize(4)
    for pane, shards in before.items():
        expected: Counter[int] = Counter()
        for worker, records in shards.items():
            expected[worker % 4] += records
        assert strategy.open_shards[pane] == expected
        assert {allocation.worker for allocation in strategy.route(pane, 8, PlannedQueues(4))} <= set(range(4))
        assert sum(strategy.punctuate(pane).shards.values()) == 68


def test_an_unknown_strategy_is_named_with_the_known_ones() -> None:
    with pytest.raises(OptionError, match=r"'best' is unknown.*pane_rr, tuple_rr, adaptive, adaptive_pid, combine"):
        pane_strategy("best", 3)
