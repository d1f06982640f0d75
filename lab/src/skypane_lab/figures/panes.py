"""Paper 1, figure 8: the pane-stage strategies over 1 to 17 workers and four levels of burstiness."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from typing import Final, NamedTuple

from skypane_lab.figures.plotting import Figure, Panel
from skypane_lab.scenario import Scenario
from skypane_lab.strategies.pane_strategies import PANE_STRATEGIES

LEVELS: Final = {
    "no bursts": 1.0,
    "low (I = 1,000)": 1_000.0,
    "medium (I = 2,500)": 2_500.0,
    "high (I = 6,000)": 6_000.0,
}
DEGREES: Final = range(1, 18)
_HIGH: Final = "high (I = 6,000)"
KEEPS_UP = 0.985
"""From this share of the panes completed a stage counts as keeping up: at the end some are always under way."""


class Point(NamedTuple):
    """One run."""

    utilization: float
    splitting: float
    selected: float
    imbalance: float
    sustained: float


def scenario(dispersion: float) -> Scenario:
    """100,000 records/s, panes of 100 ms; with bursts the correlation of the points changes, too."""
    plain = Scenario(duration_s=480.0, warm_up_s=120.0, slice_us=20_000)
    return plain if dispersion <= 1 else plain.bursty(dispersion)


@lru_cache(maxsize=1)
def grid() -> dict[tuple[str, str, int], Point]:
    """All runs, by level, strategy and degree; the levels side by side on the cores there are."""
    with ProcessPoolExecutor() as pool:
        return {key: point for runs in pool.map(runs_of, LEVELS) for key, point in runs.items()}


def runs_of(level: str) -> dict[tuple[str, str, int], Point]:
    """The runs of one level."""
    stream = scenario(LEVELS[level])
    found = {}
    for strategy in PANE_STRATEGIES:
        for degree in DEGREES:
            run = stream.panes(strategy, degree)
            found[level, strategy, degree] = Point(
                run.utilization, run.splitting_factor, run.selected_per_pane, run.imbalance, run.sustained
            )
    return found


def optimal_degree(level: str, strategy: str) -> int | None:
    """The smallest degree from which on the stage keeps up; ``None`` if no degree does."""
    enough = [n for n in DEGREES if all(grid()[level, strategy, m].sustained >= KEEPS_UP for m in DEGREES if m >= n)]
    return min(enough, default=None)


def optimal_degrees() -> Figure:
    """8a: how many workers are needed."""
    rows, lines = [], {}
    for strategy in PANE_STRATEGIES:
        best = [optimal_degree(level, strategy) for level in LEVELS]
        lines[strategy] = [None if n is None else float(n) for n in best]
        cells = [
            f"{n}" if n else f"none up to 17 ({grid()[level, strategy, 17].sustained:.0%})"
            for level, n in zip(LEVELS, best, strict=True)
        ]
        rows.append([strategy, *cells])
    panel = Panel("workers needed to keep up (none up to 17: no point)", "burstiness", "workers", list(LEVELS), lines)
    return Figure("Fig. 8a: optimal degrees", [panel], ["strategy", *LEVELS], rows)


def utilizations() -> Figure:
    """8c to 8f: utilization over degrees, one panel per level."""
    panels = [
        Panel(level, "workers", "utilization", list(DEGREES), _lines(level, "utilization"), level=0.9, top=3.0)
        for level in LEVELS
    ]
    return Figure("Fig. 8c-f: utilization", panels, *_table("utilization", "{:.2f}"))


def splitting() -> Figure:
    """8b: splitting factor of the adaptive strategies."""
    panels = []
    for level in LEVELS:
        lines = {name: line for name, line in _lines(level, "splitting").items() if name not in {"pane_rr", "tuple_rr"}}
        panels.append(Panel(level, "workers", "shards per pane", list(DEGREES), lines))
    return Figure("Fig. 8b: splitting factor", panels, *_table("splitting", "{:.2f}"))


def selected() -> Figure:
    """8g: rows that the window stage gets."""
    panel = Panel(_HIGH, "workers", "rows per pane", list(DEGREES), _lines(_HIGH, "selected"))
    return Figure("Fig. 8g: selected records per pane", [panel], *_table("selected", "{:,.0f}"))


def imbalances() -> Figure:
    """8h: busy time of the most over that of the least loaded worker."""
    panel = Panel(_HIGH, "workers", "most / least loaded", list(DEGREES), _lines(_HIGH, "imbalance"))
    return Figure("Fig. 8h: load imbalance", [panel], *_table("imbalance", "{:.2f}"))


def _lines(level: str, value: str) -> dict[str, list[float | None]]:
    return {name: [getattr(grid()[level, name, n], value) for n in DEGREES] for name in PANE_STRATEGIES}


def _table(value: str, form: str) -> tuple[list[str], list[list[str]]]:
    shown = (2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 15, 17)
    rows = [
        [level, name, *(form.format(getattr(grid()[level, name, n], value)) for n in shown)]
        for level in LEVELS
        for name in PANE_STRATEGIES
    ]
    return ["burstiness", "strategy", *(f"{n}" for n in shown)], rows
