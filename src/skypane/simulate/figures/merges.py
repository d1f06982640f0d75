"""Paper 2, figures 11 to 13: what splitting costs the window stage, and what merge tasks save."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from skypane.model.windows import WindowSpec
from skypane.simulate.cost_model import CostModel, paper_machine
from skypane.simulate.figures.plotting import Figure, Panel
from skypane.simulate.scenario import Scenario
from skypane.simulate.strategies.degree_control import DegreeControl
from skypane.simulate.window_run import WindowFigures

_STRATEGIES = ("win_fb", "win_fb_merge")
_MOST_WORKERS = 120


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


def merge_runs(scenario: Scenario, pane_degree: int = 6) -> dict[str, tuple[WindowFigures, DegreeControl]]:
    """The window stage with and without merge tasks; its degree follows the utilization."""
    panes = scenario.panes("adaptive_pid", pane_degree)
    found = {}
    for strategy in _STRATEGIES:
        control = DegreeControl(1, _MOST_WORKERS)
        found[strategy] = (scenario.windows(panes, strategy, 1, control), control)
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
    drawn: dict[str, DegreeControl] = {}
    cases = [(SLOWER, 6, seed) for seed in (1, 2, 3)] + [(2.0, 3, 1), (1.0, 2, 1)]
    for slower, pane_degree, seed in cases:
        scenario = replace(merge_scenario(), seed=seed, cost=paper_machine().scaled(slower))
        for strategy, (found, control) in merge_runs(scenario, pane_degree).items():
            drawn.setdefault(strategy, control)
            shares = [f"{found.idle_share:.1%}", f"{found.starved_share:.1%}", f"{found.merge_share:.0%}"]
            case = f"{slower:g}, {pane_degree}, {seed}"
            rows.append([case, strategy, f"{found.mean_degree:.1f}", *shares, f"{found.latency_us / 1e6:.1f} s"])
    return Figure("Paper 2, fig. 12 and 13: merge tasks, I = 1,000", _panels(drawn), list(_HEADER), rows)


def _panels(drawn: Mapping[str, DegreeControl]) -> list[Panel]:
    """Degree and utilization over time, of the first case."""
    shortest = min(len(control.history) for control in drawn.values())
    times = [at_us / 1e6 for at_us, _, _ in next(iter(drawn.values())).history[:shortest]]
    degrees = {name: [float(degree) for _, degree, _ in c.history[:shortest]] for name, c in drawn.items()}
    utilizations = {name: [rho for _, _, rho in c.history[:shortest]] for name, c in drawn.items()}
    return [
        Panel("workers", "seconds", "workers", times, degrees),
        Panel("utilization", "seconds", "utilization", times, utilizations, level=0.9, top=2.5),
    ]
