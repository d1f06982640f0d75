"""The virtual stages by hand: queues, sampling, merges, idle time; and cost models."""

from __future__ import annotations

import json
import math
from collections import Counter

import numpy as np
import pytest

from skypane import kernels
from skypane.model.errors import OptionError
from skypane.model.windows import WindowSpec
from skypane.traffic.spec import TrafficSpec
from skypane.traffic.stream import Stream
from skypane_lab.arrivals import tabulate
from skypane_lab.calibration import insertion_comparisons, our_machine, points
from skypane_lab.cost_model import CostModel, Curve, paper_machine
from skypane_lab.partials import Combined
from skypane_lab.scenario import Scenario
from skypane_lab.strategies.pane_strategies import pane_strategy
from skypane_lab.strategies.window_strategies import window_strategy
from skypane_lab.virtual_pane_stage import VirtualPaneStage
from skypane_lab.virtual_window_stage import PaneClosed, ShardReady, VirtualWindowStage


def test_a_worker_takes_records_first_come_first_served() -> None:
    stage = VirtualPaneStage(pane_strategy("pane_rr", 2), lambda _pane, before, added: 10.0 * added + before)
    stage.arrive(0.0, 0, 10)  # worker 0 until 100
    stage.arrive(50.0, 0, 10)  # waits, then 100 + 10: until 210
    stage.arrive(50.0, 1, 3)  # worker 1 until 80
    assert stage.lengths() == [20, 3]
    loads = stage.sample(155.0).workers
    assert loads[0] == pytest.approx((155.0, 15.0, 20))  # half of the second piece is done
    assert loads[1] == pytest.approx((30.0, 3.0, 3))
    loads = stage.sample(300.0).workers
    assert loads[0] == pytest.approx((55.0, 5.0, 0))
    finished = stage.punctuate(160.0, 0)
    assert finished.shards == [(0, 20, 210.0)]
    assert finished.computed_us == 210.0


class Sets:
    """Partials are sets of labels, every task takes 10 us."""

    def combine(self, into: frozenset[str] | None, partial: frozenset[str]) -> Combined[frozenset[str]]:
        return Combined(partial | (into or frozenset()), 10.0)


@pytest.mark.parametrize(
    ("name", "merges", "ends_us", "starved_us"), [("win_fb", 0, 40.0, 30.0), ("win_fb_merge", 1, 30.0, 10.0)]
)
def test_idle_workers_merge_what_waits_for_a_busy_window(
    name: str, merges: int, ends_us: float, starved_us: float
) -> None:
    """a | b+c, then d | -, then bc: the second worker is idle once, with one partial waiting and nothing to merge."""
    events: list[PaneClosed | ShardReady[frozenset[str]]] = [
        PaneClosed(0.0, 0, 4),
        *(ShardReady(0.0, 0, frozenset(label)) for label in "abcd"),
    ]
    stage = VirtualWindowStage(WindowSpec(100, 100), window_strategy(name, 2), Sets(), 0)
    run = stage.run(events)
    assert [(d.window, d.result, d.delivered_us) for d in run.deliveries] == [(0, frozenset("abcd"), ends_us)]
    assert sum(done.task.is_merge for done in run.tasks) == merges
    assert run.starved_us == starved_us


@pytest.mark.parametrize(("disorder", "left"), [(0, [0, 1, 2]), (1, [1, 0, 2]), (2, [1, 2, 0])])
def test_results_leave_late_by_as_many_places_as_they_may(disorder: int, left: list[int]) -> None:
    """Window 0 has five shards, one after the other; windows 1 and 2 have one each, and are done first."""
    events: list[PaneClosed | ShardReady[frozenset[str]]] = []
    for pane, labels in enumerate(["abcde", "f", "g"]):
        events += [PaneClosed(0.0, pane, len(labels)), *(ShardReady(0.0, pane, frozenset(label)) for label in labels)]
    stage = VirtualWindowStage(WindowSpec(100, 100), window_strategy("win_fb", 2), Sets(), 0, disorder=disorder)
    deliveries = stage.run(events).deliveries
    assert [d.window for d in deliveries] == left
    assert {d.window: d.result for d in deliveries} == {0: frozenset("abcde"), 1: frozenset("f"), 2: frozenset("g")}


def test_arrivals_are_counted_like_the_stream_delivers_them() -> None:
    spec = TrafficSpec.from_options(rate=2000, duration="2 s", mean_delay="100 ms", disorder="uniform", attributes=0)
    table = tabulate(spec, 100_000, 10_000)
    stream = Stream(spec)
    assert stream.end_us is not None
    blocks = [stream.block(0, index) for index in range(-(-stream.end_us // stream.block_us))]
    ts_us = np.concatenate([block.ts_us for block in blocks])
    assert table.records + table.dropped == len(ts_us)
    assert np.all(np.abs(table.pane_sizes() - np.bincount(ts_us // 100_000)) <= table.dropped)
    patient = tabulate(spec, 100_000, 10_000, fixed_slack_us=10_000_000)
    cells = zip(patient.slices.tolist(), patient.panes.tolist(), strict=True)
    arrivals = [
        (a // 10_000, t // 100_000) for block in blocks for a, t in zip(block.arrival_us, block.ts_us, strict=True)
    ]
    assert list(zip(cells, patient.counts.tolist(), strict=True)) == sorted(Counter(arrivals).items())
    assert np.all(np.diff(table.punctuation_us) >= 0)
    # K-slack: the punctuation stays behind the newest time by the largest delay, which is below 200 ms.
    assert 180_000 < 2_000_000 - table.punctuation_us[-1] < 205_000


def test_a_stream_without_records_is_refused() -> None:
    spec = TrafficSpec.from_options(rate=0.001, duration="1 ms", attributes=0)
    with pytest.raises(OptionError, match="rate= and duration= make a stream without records"):
        tabulate(spec, 100_000)


def test_in_order_each_record_waits_for_the_punctuation() -> None:
    spec = TrafficSpec.from_options(rate=2000, duration="2 s", mean_delay="100 ms", disorder="uniform", attributes=0)
    plain, ordered = tabulate(spec, 100_000), tabulate(spec, 100_000, in_order=True)
    assert ordered.records == plain.records
    released = ordered.slices < len(ordered.punctuation_us) - 1
    assert np.all(np.diff(ordered.panes[released]) >= 0)  # in order of panes now
    assert not np.all(np.diff(plain.panes) >= 0)


def test_the_papers_machine_takes_what_paper_1_implies() -> None:
    cost = paper_machine()
    assert cost.insert_us("independent", 0, 10_000) == pytest.approx(650_000, rel=0.01)
    # A pane cut in four costs much less in all, but keeps more rows.
    assert 4 * cost.insert_us("independent", 0, 2_500) < 0.6 * cost.insert_us("independent", 0, 10_000)
    assert 4 * cost.rows("independent", 2_500) > 1.3 * cost.rows("independent", 10_000)
    assert cost.rows("anticorrelated", 10_000) > cost.rows("independent", 10_000) > cost.rows("correlated", 10_000)
    assert CostModel.from_json(json.loads(json.dumps(cost.to_json()))) == cost
    assert cost.scaled(2.0).insert_us("independent", 100, 50) == pytest.approx(
        2 * cost.insert_us("independent", 100, 50)
    )


def test_row_counts_of_the_model_are_those_of_the_kernel() -> None:
    for name in ("independent", "anticorrelated"):
        for size in (500, 4_000):
            rows = len(kernels.skyline(points(name, 8, size, 99)))
            assert paper_machine().rows(name, size) == pytest.approx(rows, rel=0.25)


def test_comparisons_of_block_nested_loops_by_hand() -> None:
    table = np.array([[1.0, 3.0], [3.0, 1.0], [2.0, 4.0], [0.0, 0.0], [5.0, 5.0]])
    # 0; 1 with the first; 1: the first dominates; 2: dominates both; 1: dominated by the only one left.
    assert insertion_comparisons(table, (1, 2, 3, 4, 5)) == [1.0, 1.0, 2.0, 4.0, 5.0]


def test_calibration_measures_our_kernels() -> None:
    model = our_machine(attributes=4, sizes=(200, 800, 3_200))
    assert model.rows("independent", 800) == pytest.approx(
        len(kernels.skyline(points("independent", 4, 800, 800))), rel=0.3
    )
    assert all(cost.insert_us.at(3_200) > 0 for cost in model.distributions.values())
    with pytest.raises(OptionError, match="version 9"):
        CostModel.from_json({**model.to_json(), "version": 9})


def test_a_curve_is_exact_on_a_power_law() -> None:
    curve = Curve.fit([1, 10, 100, 1000], [2 * x**1.5 for x in (1, 10, 100, 1000)])
    assert curve.at(50) == pytest.approx(2 * 50**1.5)
    assert curve.at(0) == 0.0
    assert math.isclose(curve.c, 0.0, abs_tol=1e-9)


def test_a_scenario_needs_time_after_its_warm_up() -> None:
    with pytest.raises(OptionError, match="warm_up=60 s must be shorter than duration=10 s"):
        Scenario(duration_s=10.0)


def test_late_records_at_the_very_end_are_counted_as_late() -> None:
    """With too little slack the last slices hold late records only."""
    spec = TrafficSpec.from_options(rate=200, duration="2 s", mean_delay="300 ms", disorder="uniform", attributes=0)
    table, patient = tabulate(spec, 10_000, 1_000, fixed_slack_us=0), tabulate(spec, 10_000, 1_000)
    assert table.dropped > 100
    assert table.records + table.dropped == patient.records + patient.dropped
    assert table.slices[-1] < len(table.punctuation_us) == len(patient.punctuation_us)
