"""Workers that come and go while panes are open, by hand (paper 2): who hands in what, and what is counted."""

from __future__ import annotations

import pytest

from skypane.model.errors import OptionError
from skypane.model.windows import WindowSpec
from skypane.tuning.splitting.adaptive import Adaptive
from skypane.tuning.splitting.pane_strategy import PlannedQueues
from skypane_lab.partials import Combined
from skypane_lab.strategies.pane_strategies import pane_strategy
from skypane_lab.strategies.window_strategies import window_strategy
from skypane_lab.two_stages import TwoStages
from skypane_lab.virtual_pane_stage import Shard, VirtualPaneStage
from skypane_lab.virtual_window_stage import VirtualWindowStage


def pane_stage(name: str, degree: int, record_us: float = 10.0) -> VirtualPaneStage:
    return VirtualPaneStage(pane_strategy(name, degree), lambda _pane, _before, added: record_us * added)


def test_the_worker_with_the_shortest_queue_leaves_and_hands_in_its_shards() -> None:
    stage = pane_stage("pane_rr", 3)
    stage.arrive(0.0, 0, 30)  # worker 0 until 300
    stage.arrive(0.0, 1, 10)  # worker 1 until 100
    stage.arrive(0.0, 2, 20)
    assert stage.resize(0.0, 2) == [(1, Shard(worker=1, records=10, ready_us=100.0))]
    stage.arrive(50.0, 1, 5)  # the pane goes on with another worker, the second of those that are left
    finished = stage.punctuate(60.0, 1)
    assert finished.handed_in == [Shard(1, 10, 100.0)]
    assert finished.shards == [Shard(2, 5, 250.0)]


def test_a_worker_that_comes_back_has_two_shards_of_the_pane() -> None:
    """Shards are counted, not workers; it still works off its first queue when it is back."""
    stage = pane_stage("tuple_rr", 2)
    stage.arrive(0.0, 7, 4)
    stage.arrive(0.0, 8, 1)  # worker 0 has the longer queue: worker 1 leaves
    assert stage.resize(0.0, 1) == [(7, Shard(1, 2, 20.0))]
    stage.resize(10.0, 2)
    stage.arrive(10.0, 7, 2)
    finished = stage.punctuate(10.0, 7)
    assert finished.all_shards() == [Shard(1, 2, 20.0), Shard(0, 3, 40.0), Shard(1, 1, 30.0)]
    # 0 to 50 of the first; the second was paid until 20 when it left at 0, and is there since
    assert stage.worker_us(50.0) == 100.0


def test_a_worker_that_is_gone_is_paid_until_its_queue_is_empty() -> None:
    stage = pane_stage("tuple_rr", 2)
    stage.arrive(0.0, 0, 20)
    stage.resize(5.0, 1)
    assert stage.worker_us(300.0) == 300.0 + 100.0
    assert [load.scheduled for load in stage.sample(300.0).workers] == [10]


def test_the_active_shard_goes_to_the_least_loaded_worker() -> None:
    strategy = Adaptive(3)
    queues = PlannedQueues(3)
    for pane in (0, 1, 2):
        queues.plan(strategy.route(pane, 10 * (3 - pane), queues))
    assert strategy.open_shards == {0: {0: 30}, 1: {1: 20}, 2: {2: 10}}
    assert strategy.leave({1}, queues) == {1: {1: 20}}
    # worker 2 is number 1 now, and the least loaded: it opened an empty shard, which counts
    assert strategy.open_shards == {0: {0: 30}, 1: {1: 0}, 2: {1: 10}}
    assert strategy.handed_in(1) == [20]
    assert strategy.route(1, 5, PlannedQueues(2)) == [(1, 5)]
    again = Adaptive(2)
    again.restore(strategy.to_json())
    assert again.to_json() == strategy.to_json()
    assert again.handed_in(1) == [20]
    with pytest.raises(OptionError, match="not all can leave"):
        strategy.leave({0, 1}, queues)


class Labels:
    """Partials are sets of labels, every task takes 10 us."""

    def combine(self, into: frozenset[str] | None, partial: frozenset[str]) -> Combined[frozenset[str]]:
        return Combined(partial | (into or frozenset()), 10.0)


def test_a_window_is_complete_when_all_shards_have_come_also_those_before_its_pane_was_closed() -> None:
    windows = VirtualWindowStage(WindowSpec(100, 100), window_strategy("win_fb", 1), Labels(), 0)
    stages = TwoStages(pane_stage("tuple_rr", 2), windows, lambda pane, shard: frozenset({f"{pane}-{shard.worker}"}))
    stages.arrive(0.0, 0, 2)
    stages.resize(0.0, 1, 1)
    stages.advance(500.0)
    assert [task.task.window for task in windows.found.tasks] == [0]  # what was handed in is taken in at once
    assert not windows.found.deliveries
    stages.close(500.0, 0)
    run = stages.drain()
    assert [(d.window, d.result, d.delivered_us) for d in run.deliveries] == [(0, frozenset({"0-0", "0-1"}), 510.0)]


def test_a_window_worker_that_leaves_finishes_its_task() -> None:
    windows = VirtualWindowStage(WindowSpec(100, 100), window_strategy("win_fb", 2), Labels(), 0)
    for pane in range(4):
        windows.close(0.0, pane, 1)
        windows.offer(0.0, pane, frozenset(str(pane)))
    windows.resize(5.0, 1)
    windows.drain()
    assert [(task.worker, task.start_us) for task in windows.found.tasks] == [(0, 0.0), (1, 0.0), (0, 10.0), (0, 20.0)]
    assert windows.found.worker_us == 20.0 + 10.0 + 10.0


def test_costs_are_multiplied_by_the_slowness_when_work_starts() -> None:
    stage = VirtualPaneStage(pane_strategy("pane_rr", 1), lambda *_: 100.0, lambda at_us: 1.0 if at_us < 100 else 3.0)
    stage.arrive(0.0, 0, 1)
    stage.arrive(0.0, 0, 1)  # starts at 100
    assert stage.lag_us(0.0) == 400.0
    windows = VirtualWindowStage(
        WindowSpec(100, 100), window_strategy("win_fb", 1), Labels(), 0, slowness=lambda _at_us: 2.0
    )
    windows.close(0.0, 0, 1)
    windows.offer(0.0, 0, frozenset("a"))
    assert windows.drain().deliveries[0].delivered_us == 20.0
