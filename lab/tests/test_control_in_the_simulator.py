"""What the controlled strategies promise, on simulated streams at the papers' rates."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import pytest

from skypane_lab.figures.merges import merge_runs, merge_scenario
from skypane_lab.pane_run import PaneRun
from skypane_lab.scenario import Scenario
from tests.support.marks import LONG

PLAIN = Scenario(duration_s=120.0, warm_up_s=60.0, slice_us=20_000, seed=2)
BURSTY = Scenario(duration_s=720.0, warm_up_s=240.0, slice_us=20_000)
STREAMS = {
    "none": PLAIN,
    "low": replace(BURSTY, seed=3).bursty(1_000.0),
    "high": replace(BURSTY, seed=2).bursty(6_000.0),
}
"""The controller was tuned on seeds 11 to 13."""


@lru_cache(maxsize=64)
def run(level: str, strategy: str, degree: int) -> PaneRun:
    return STREAMS[level].panes(strategy, degree)


@pytest.mark.parametrize(
    ("level", "degree"),
    [
        ("none", 5),
        LONG("none", 6),
        LONG("low", 9),
        LONG("low", 12),
        LONG("low", 17),
        LONG("high", 9),
        LONG("high", 12),
        LONG("high", 17),
    ],
)
def test_pid_holds_the_utilization_where_the_degree_suffices(level: str, degree: int) -> None:
    assert run(level, "adaptive_pid", degree).utilization == pytest.approx(0.9, rel=0.02)


def test_without_bursts_and_with_enough_workers_nothing_is_split() -> None:
    assert run("none", "adaptive_pid", 9).splitting_factor == pytest.approx(1.0, abs=0.01)
    assert run("none", "adaptive_pid", 9).sustained == 1.0


@pytest.mark.parametrize("degree", [LONG(15), LONG(16), 17])
def test_pid_splits_less_than_adaptive_when_there_are_workers_to_spare(degree: int) -> None:
    plain, controlled = run("high", "adaptive", degree), run("high", "adaptive_pid", degree)
    assert plain.utilization < 0.85  # unnecessarily fast
    assert controlled.splitting_factor < plain.splitting_factor
    assert controlled.selected_per_pane < plain.selected_per_pane


@pytest.mark.parametrize("degree", [LONG(7), 9])
def test_pid_splits_more_than_adaptive_when_that_removes_the_bottleneck(degree: int) -> None:
    plain, controlled = run("high", "adaptive", degree), run("high", "adaptive_pid", degree)
    assert plain.utilization > 1.5
    assert plain.sustained < 0.9
    assert controlled.splitting_factor > plain.splitting_factor
    assert controlled.sustained > 0.97


def test_where_no_splitting_helps_pid_splits_as_much_as_it_can() -> None:
    controlled = run("none", "adaptive_pid", 3)
    assert controlled.utilization > 1.0
    assert controlled.splitting_factor > 2.95


def keeps_up(level: str, strategy: str, degree: int) -> bool:
    return run(level, strategy, degree).sustained > 0.985


@pytest.mark.parametrize(
    ("level", "strategy", "too_few", "enough"),
    [
        ("none", "tuple_rr", 3, 4),
        ("none", "adaptive_pid", 3, 5),
        ("none", "adaptive", 6, 7),
        ("none", "pane_rr", 6, 7),
        LONG("high", "tuple_rr", 4, 6),
        LONG("high", "adaptive_pid", 5, 9),
        LONG("high", "adaptive", 9, 12),
        ("high", "pane_rr", 16, None),
    ],
)
def test_optimal_degrees_are_in_the_papers_order(level: str, strategy: str, too_few: int, enough: int | None) -> None:
    """tuple_rr <= adaptive_pid < adaptive <= pane_rr, without bursts as paper 1's figure 8a has it."""
    assert not keeps_up(level, strategy, too_few)
    assert enough is None or keeps_up(level, strategy, enough)


def test_with_strong_bursts_whole_panes_are_a_bottleneck_with_any_degree() -> None:
    assert run("high", "pane_rr", 17).utilization > 1.0


def test_merge_tasks_lower_the_idle_time_of_the_window_stage() -> None:
    runs = merge_runs(merge_scenario(duration_s=120.0))
    plain, merging = runs["win_fb"][0], runs["win_fb_merge"][0]
    assert plain.merge_share == 0.0
    assert merging.merge_share > 0.05
    assert merging.sustained > 0.97
    assert merging.idle_share < 0.7 * plain.idle_share
    assert merging.mean_degree < plain.mean_degree
