"""Both stages on one clock: as before where degrees stay, and following the load where they may change."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from skypane.model.windows import WindowSpec
from skypane.tuning.elastic.controllers import Ds2, ElasticController, Fuzzy
from skypane.tuning.elastic.damping import Damped
from skypane.tuning.elastic.elastic import DEFAULT_CONTROLLER
from skypane.tuning.elastic.loops import Loops
from skypane_lab.elastic_run import Elastic, ElasticRun
from skypane_lab.figures import FIGURES
from skypane_lab.figures.elastic_rules import multipliers
from skypane_lab.figures.elastic_setup import as_in_the_paper, machine, power_share, stream, throughput
from skypane_lab.scenario import Scenario
from skypane_lab.window_run import window_figures

CONTROLLERS: list[ElasticController] = [Fuzzy(64), Ds2(max_workers=64)]


def damped(controller: ElasticController) -> Elastic:
    return Elastic(Loops(Damped(controller, tolerated_lag_us=5e5, max_workers=64), inner_us=250_000.0), 3, 8)


def doubling() -> Scenario:
    return replace(stream(10_000.0, "steps", 160.0, steps="0:10000, 60:20000, 110:10000"), cost=machine(1.5))


def workers(run: ElasticRun, start_s: float, end_s: float) -> list[int]:
    decided = [(step.at_us / 1e6, step.decided.decision) for step in run.steps]
    return [d.pane_degree + d.window_degree for at_s, d in decided if start_s <= at_s < end_s]


def test_with_fixed_degrees_it_equals_one_stage_after_the_other() -> None:
    scenario = Scenario(
        rate=30_000.0,
        dispersion=1_000.0,
        window=WindowSpec(1_000_000, 200_000),
        duration_s=40.0,
        warm_up_s=10.0,
        period_us=250_000,
        cost=machine(),
    )
    panes = scenario.panes("adaptive_pid", 5)
    run = scenario.elastic(replace(as_in_the_paper(), window_strategy="win_fb").fixed(5, 40))
    assert run.panes.panes == panes.panes
    assert [s.utilization for s in run.panes.samples] == [s.utilization for s in panes.samples]
    apart = scenario.windows(panes, "win_fb", 40)
    together = window_figures(run.panes, scenario.window, run.windows, run.windows.worker_us)
    assert together.latency_us == apart.latency_us
    assert together.sustained == apart.sustained
    assert together.mean_degree == pytest.approx(40.0)
    assert run.pane_workers == pytest.approx(5.0)


@pytest.mark.parametrize("controller", CONTROLLERS, ids=lambda c: c.name)
def test_degrees_follow_a_rate_that_doubles_and_halves(controller: ElasticController) -> None:
    run = doubling().elastic(damped(controller))
    before, doubled, after = (np.mean(workers(run, *at)) for at in ((40, 60), (85, 110), (140, 160)))
    assert max(workers(run, 60, 67.6)) > max(workers(run, 50, 60.1))  # within two periods
    assert 1.4 * before < doubled < 4 * before
    assert after < 0.8 * doubled
    assert throughput(run).mean == pytest.approx(5.0, rel=0.03)  # windows/s: none is lost, none waits for ever
    if controller.name == DEFAULT_CONTROLLER:
        assert all(turns(workers(run, *at)) <= 1 for at in ((40, 60), (59, 110), (109, 160)))
        assert run.busy_seconds > 0.7 * run.core_seconds


def turns(degrees: list[int]) -> int:
    moves = [after - before for before, after in pairwise(degrees) if after != before]
    return sum((a > 0) != (b > 0) for a, b in pairwise(moves))


def test_others_on_the_machine_are_made_up_for_by_more_workers() -> None:
    scenario = stream(8_000.0, "poisson", 120.0)
    alone = scenario.elastic(damped(Fuzzy(64)))
    slowed = scenario.elastic(replace(damped(Fuzzy(64)), slowness=lambda at_us: 1.0 if at_us < 60e6 else 2.5))
    assert workers(alone, 40, 60) == workers(slowed, 40, 60)
    assert np.mean(workers(slowed, 80, 120)) > 1.7 * np.mean(workers(alone, 80, 120))
    assert throughput(slowed).mean == pytest.approx(5.0, rel=0.03)


def test_a_run_can_be_repeated() -> None:
    first, second = (doubling().elastic(damped(Fuzzy(64))) for _ in range(2))
    assert first.steps == second.steps
    assert [d.delivered_us for d in first.windows.deliveries] == [d.delivered_us for d in second.windows.deliveries]


def test_the_surface_is_that_of_the_rules(tmp_path: Path) -> None:
    assert multipliers(0.6, 1.0, 0.9) == pytest.approx((0.625, 1.0))  # 0.75 fast, 0.25 acceptable
    figure = FIGURES["p2-surface"]()
    for panel in figure.panels:
        assert (panel.x_label, panel.y_label) == ("utilization of panes", "factor of the degree")
        assert next(iter(panel.lines)) == "utilization of windows 0.3"
    picture, table = figure.write(tmp_path, "p2-surface")
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert "| moderate splitting | 0.9 | 0.50, 1.00 | 0.75, 1.00 | 1.00, 1.00 |" in table.read_text()


def test_power_by_the_fitted_model() -> None:
    assert power_share(60) == 1.0
    assert power_share(19.5) == pytest.approx(0.775, abs=0.001)  # paper 2: from 78 %
