"""Paper 1, figures 12 and 13: the window-stage strategies, by burstiness and by degree."""

from __future__ import annotations

from skypane.model.windows import WindowSpec
from skypane_lab.figures.plotting import Figure, Panel
from skypane_lab.pane_run import PaneRun
from skypane_lab.scenario import Scenario
from skypane_lab.strategies.window_strategies import WINDOW_STRATEGIES

_DISPERSIONS = (1.0, 500.0, 1_000.0, 2_000.0, 4_000.0, 6_000.0, 8_000.0)
_DEGREE = 24
"""Window-stage workers that just keep up without bursts, under the cost model of paper 1's machine."""


def stream(dispersion: float) -> Scenario:
    """50,000 records/s, windows of 1 s that slide by 200 ms."""
    return Scenario(
        rate=50_000.0,
        dispersion=dispersion,
        window=WindowSpec(1_000_000, 200_000),
        duration_s=150.0,
        warm_up_s=50.0,
    )


def _panes(scenario: Scenario, degree: int) -> PaneRun:
    return scenario.panes("adaptive_pid", degree)


def by_burstiness() -> Figure:
    """12: windows delivered in time, and how late they are."""
    sustained: dict[str, list[float | None]] = {name: [] for name in WINDOW_STRATEGIES}
    latency: dict[str, list[float | None]] = {name: [] for name in WINDOW_STRATEGIES}
    rows = []
    for dispersion in _DISPERSIONS:
        scenario = stream(dispersion)
        panes = _panes(scenario, 5)
        cells = []
        for name in WINDOW_STRATEGIES:
            found = scenario.windows(panes, name, _DEGREE)
            sustained[name].append(found.sustained)
            latency[name].append(found.latency_us / 1e6)
            cells.append(f"{found.sustained:.1%}, {found.latency_us / 1e6:.1f} s")
        rows.append([f"{dispersion:,.0f}", *cells])
    labels = [f"{dispersion:,.0f}" for dispersion in _DISPERSIONS]
    panels = [
        Panel("windows delivered / windows due", "index of dispersion", "ratio", labels, sustained),
        Panel("window latency", "index of dispersion", "seconds", labels, latency),
    ]
    title = f"Fig. 12: 5 pane-stage and {_DEGREE} window-stage workers"
    return Figure(title, panels, ["index of dispersion", *WINDOW_STRATEGIES], rows)


def imbalances() -> Figure:
    """13: busy time of the most over that of the least loaded worker."""
    degrees = (3, 5, 8, 12, 16, 20, 24, 28)
    panels, rows = [], []
    for level, dispersion, pane_degree in (("medium", 2_500.0, 4), ("high", 6_000.0, 5)):
        scenario = stream(dispersion)
        panes = _panes(scenario, pane_degree)
        lines: dict[str, list[float | None]] = {
            name: [scenario.windows(panes, name, degree).imbalance for degree in degrees] for name in WINDOW_STRATEGIES
        }
        panels.append(Panel(f"{level} (I = {dispersion:,.0f})", "workers", "most / least loaded", list(degrees), lines))
        rows += [[level, name, *(f"{value:.2f}" for value in line)] for name, line in lines.items()]
    header = ["burstiness", "strategy", *(f"{degree}" for degree in degrees)]
    return Figure("Fig. 13: load imbalance of the window stage", panels, header, rows)
