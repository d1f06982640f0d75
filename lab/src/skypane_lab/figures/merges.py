"""Paper 2, figures 11 to 13: what splitting costs the window stage, and what merge tasks save."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from skypane.model.windows import WindowSpec
from skypane.tuning.elastic.controllers import Fuzzy
from skypane.tuning.elastic.damping import Damped
from skypane.tuning.elastic.loops import Loops
from skypane_lab.cost_model import CostModel, paper_machine
from skypane_lab.elastic_run import Elastic, ElasticRun
from skypane_lab.figures.plotting import Figure, Panel
from skypane_lab.scenario import Scenario
from skypane_lab.window_run import WindowFigures, window_figures

_STRATEGIES = ("win_fb", "win_fb_merge")
_MAX_WORKERS = 120


SLOWER = 4.0
"""Paper 2's cores against paper 1's: with this factor its figure 11 needs seven workers here, too."""


def slow_machine() -> CostModel:
    """Paper 2's machine."""
    return paper_machine().scaled(SLOWER)


def filtering() -> Figure:
    """Paper 2, figure 11: utilization and filtering ratio over degrees, with even and with controlled splitting."""
    scenario = Scenario(rate=80_000.0, dispersion=1_000.0, cost=slow_machine(), duration_s=150.0, warm_up_s=60.0)
    degrees = range(1, 13)
    panels, rows = [], []
    for strategy in ("tuple_rr", "adaptive_pid"):
        runs = [scenario.panes(strategy, degree) for degree in degrees]
        lines: dict[str, list[float | None]] = {
            "utilization": [run.utilization for run in runs],
            "filtering ratio": [run.filtering_ratio for run in runs],
        }
        panels.append(Panel(strategy, "workers", "", list(degrees), dict(lines), level=0.9, top=2.5))
        for degree, run in zip(degrees, runs, strict=True):
            cells = [f"{run.utilization:.2f}", f"{run.splitting_factor:.2f}", f"{run.filtering_ratio:.0%}"]
            rows.append([strategy, f"{degree}", *cells])
    header = ["strategy", "workers", "utilization", "shards per pane", "filtering ratio"]
    return Figure("Paper 2, fig. 11: splitting and filtering, I = 1,000", panels, header, rows)


def merge_scenario(duration_s: float = 240.0) -> Scenario:
    """30,000 records/s, windows of 1 s that slide by 200 ms."""
    return Scenario(
        rate=30_000.0,
        dispersion=1_000.0,
        window=WindowSpec(1_000_000, 200_000),
        cost=slow_machine(),
        duration_s=duration_s,
        warm_up_s=duration_s / 3,
    )


def merge_runs(scenario: Scenario, pane_degree: int = 6) -> dict[str, tuple[WindowFigures, ElasticRun]]:
    """The window stage with and without merge tasks; the rules choose its degree, undamped as in the paper."""
    undamped = Damped(Fuzzy(_MAX_WORKERS + pane_degree), dwell_periods=1, tolerated_lag_us=math.inf, dead_band=0.0)
    setup = Elastic(Loops(undamped, inner_us=250_000.0), pane_degree=pane_degree, controls_panes=False)
    found = {}
    for strategy in _STRATEGIES:
        run = scenario.elastic(replace(setup, window_strategy=strategy))
        found[strategy] = window_figures(run.panes, scenario.window, run.windows, run.windows.worker_us), run
    return found


_HEADER = (
    "slowness, pane-stage workers, seed",
    "strategy",
    "mean workers",
    "idle",
    "idle while partials wait",
    "merge tasks",
    "window latency",
)


def merge_tasks() -> Figure:
    """Paper 2, figures 12 and 13: degree, utilization and idle time."""
    rows = []
    drawn: dict[str, ElasticRun] = {}
    cases = [(SLOWER, 6, seed) for seed in (1, 2, 3)] + [(2.0, 3, 1), (1.0, 2, 1)]
    for slower, pane_degree, seed in cases:
        scenario = replace(merge_scenario(), seed=seed, cost=paper_machine().scaled(slower))
        for strategy, (found, run) in merge_runs(scenario, pane_degree).items():
            drawn.setdefault(strategy, run)
            shares = [f"{found.idle_share:.1%}", f"{found.starved_share:.1%}", f"{found.merge_share:.0%}"]
            case = f"{slower:g}, {pane_degree}, {seed}"
            rows.append([case, strategy, f"{found.mean_degree:.1f}", *shares, f"{found.latency_us / 1e6:.1f} s"])
    return Figure("Paper 2, fig. 12 and 13: merge tasks, I = 1,000", _panels(drawn), list(_HEADER), rows)


def _panels(drawn: Mapping[str, ElasticRun]) -> list[Panel]:
    """Degree and utilization over time, of the first case."""
    times = [step.at_us / 1e6 for step in next(iter(drawn.values())).steps]
    seen = {name: [step.decided.seen for step in run.steps] for name, run in drawn.items()}
    return [
        Panel(
            "workers",
            "seconds",
            "workers",
            times,
            {n: [float(s.window_degree) for s in all_] for n, all_ in seen.items()},
        ),
        Panel(
            "utilization",
            "seconds",
            "utilization",
            times,
            {name: [s.rho_windows for s in all_] for name, all_ in seen.items()},
            level=0.9,
            top=2.5,
        ),
    ]
