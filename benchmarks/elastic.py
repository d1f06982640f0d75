"""Elastic: lag, latency and core-seconds of fixed degrees and of controllers, in the simulator with 64 workers.

On Spark the same is measured by ``elastic_spark``. The recorded arrivals are not part of the project: where they are
absent, only steps of the rate are simulated.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from benchmarks.kernels import data_folder
from skypane.traffic.arrivals.trace import read_trace
from skypane.tuning.elastic.controllers import Ds2, ElasticController, Fixed, Fuzzy, Threshold
from skypane.tuning.elastic.damping import Damped
from skypane.tuning.elastic.loops import Loops
from skypane_lab.cost_model import CostModel
from skypane_lab.elastic_run import Elastic, ElasticRun
from skypane_lab.figures.elastic_setup import PERIOD_US, SAMPLING_US, machine, stream
from skypane_lab.scenario import Scenario

WORKERS = 64
LARGE = (12, 52)
BUSIEST = 36
"""Costs are scaled so that a trace's busiest ten seconds need so many window workers: 64 suffice on all of them."""
CONTROLLERS: dict[str, ElasticController] = {
    "threshold": Threshold(max_workers=WORKERS),
    "ds2": Ds2(max_workers=WORKERS),
    "fuzzy": Fuzzy(max_workers=WORKERS),
    "fuzzy by load": Fuzzy(max_workers=WORKERS, by_load=True),
}


@dataclass(frozen=True)
class Outcome:
    """One run, after the first 30 s."""

    pane_degree: float
    window_degree: float
    core_s: float
    busy_s: float
    """Of the core-seconds, those in which workers worked."""
    lag_p99_s: float
    """From when a window could be answered to its answer."""
    lag_max_s: float
    latency_p99_s: float
    """From a window's first record to its answer."""
    changes: int
    reversals: int
    """Changes of the degree of both stages together in the other direction than the one before."""


def run(quick: bool) -> dict[str, Any]:
    """All traces, side by side on the cores there are, and a rate that doubles and halves; quick: two traces."""
    paths = sorted(data_folder().glob("arrivals-*.txt"))
    paths = [path for path in paths if not quick or path.stem.endswith(("-elastic", "-steps"))]
    with ProcessPoolExecutor() as pool:
        steps = pool.map(step_response, CONTROLLERS)
        traces = list(pool.map(partial(compare, seconds=100.0 if quick else None), map(str, paths)))
    return {"workers": WORKERS, "traces": traces, "steps": list(steps)}


def elastic(controller: ElasticController, pane_degree: int = 4, window_degree: int = 16) -> Elastic:
    """Both loops, damped as by default."""
    damped = Damped(controller, tolerated_lag_us=2 * SAMPLING_US, max_workers=WORKERS)
    return Elastic(Loops(damped, PERIOD_US, SAMPLING_US), pane_degree, window_degree)


def compare(path: str, seconds: float | None) -> dict[str, Any]:
    """Fixed degrees and controllers on one trace."""
    name = Path(path).stem.removeprefix("arrivals-")
    length = min(seconds or 1e9, read_trace(path).duration_us / 1e6)
    scenario = replace(stream(20_000.0, "trace", length, 17 if "Game" in name else 200, trace=path), warm_up_s=30.0)
    scenario = replace(scenario, cost=scaled(scenario))
    fixed = elastic(Fixed())
    large = outcome(scenario, fixed.fixed(*LARGE))
    small = smallest(scenario, fixed, large)
    found = {"fixed small": outcome(scenario, fixed.fixed(*small)), "fixed large": large}
    for kind, controller in CONTROLLERS.items():
        found[kind] = outcome(scenario, elastic(controller))
    return {"trace": name, "small": small, "runs": {kind: asdict(one) for kind, one in found.items()}}


def scaled(scenario: Scenario) -> CostModel:
    """The machine on which the busiest ten seconds need ``BUSIEST`` window workers."""
    plenty = scenario.elastic(elastic(Fixed()).fixed(WORKERS, 10 * WORKERS))
    tasks = plenty.windows.tasks
    work_us = [task.finish_us - task.start_us for task in tasks]
    by_time, _ = np.histogram([t.start_us for t in tasks], np.arange(0, plenty.panes.end_us, 10e6), weights=work_us)
    return machine(BUSIEST * 10e6 / float(by_time.max()))


def smallest(scenario: Scenario, fixed: Elastic, large: Outcome) -> tuple[int, int]:
    """The fewest workers that keep lag bounded: its maximum and 99th percentile at most a period above those of all 64.

    Pane workers first, with window workers to spare; then window workers.
    """
    period_s = PERIOD_US / 1e6

    def bears(panes: int, windows: int) -> bool:
        found = outcome(scenario, fixed.fixed(panes, windows))
        return found.lag_max_s <= large.lag_max_s + period_s and found.lag_p99_s <= large.lag_p99_s + period_s

    panes = next(n for n in range(1, LARGE[0] + 1) if n == LARGE[0] or bears(n, LARGE[1]))
    low, high = 0, LARGE[1]
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if bears(panes, middle) else (middle, high)
    return panes, high


def outcome(scenario: Scenario, setup: Elastic) -> Outcome:
    """Run it, and measure."""
    found = scenario.elastic(setup)
    window, start_us, end_us = scenario.window, found.panes.warm_up_us, found.panes.end_us
    closed_us = {pane.pane: pane.closed_us for pane in found.panes.panes}
    first_us = {pane.pane: pane.first_us for pane in found.panes.panes}
    lags, latencies = [], []
    for delivery in found.windows.deliveries:
        first = delivery.window * window.panes_per_slide
        due_us = closed_us[first + window.panes_per_window - 1]
        if start_us <= due_us < end_us:
            lags.append((delivery.delivered_us - due_us) / 1e6)
            latencies.append((delivery.delivered_us - first_us[first]) / 1e6)
    moved = moves([total for at_s, total in degrees(found) if at_s * 1e6 >= start_us])
    return Outcome(
        pane_degree=found.pane_workers,
        window_degree=found.window_workers,
        core_s=found.core_seconds,
        busy_s=found.busy_seconds,
        lag_p99_s=float(np.quantile(lags, 0.99)),
        lag_max_s=max(lags),
        latency_p99_s=float(np.quantile(latencies, 0.99)),
        changes=len(moved),
        reversals=reversals(moved),
    )


def moves(totals: Sequence[int]) -> list[int]:
    """By how much it changed, each time that it did."""
    return [after - before for before, after in pairwise(totals) if after != before]


def reversals(moved: Sequence[int]) -> int:
    """How often it turned back."""
    return sum((a > 0) != (b > 0) for a, b in pairwise(moved))


def degrees(found: ElasticRun) -> list[tuple[float, int]]:
    """When which degree of both stages together began, in seconds."""
    steps = [(step.at_us / 1e6, step.decided.decision) for step in found.steps]
    return [(at_s, decision.pane_degree + decision.window_degree) for at_s, decision in steps]


STEPS = ((0, 10_000), (60, 20_000), (120, 10_000), (180, 20_000), (240, 10_000))


def step_response(name: str) -> dict[str, Any]:
    """After how many periods a controller moves when the rate doubles or halves, and how often it turns back then."""
    text = ", ".join(f"{at_s}:{rate}" for at_s, rate in STEPS)
    scenario = replace(stream(10_000.0, "steps", 300.0, steps=text), cost=machine(1.5))
    series = degrees(scenario.elastic(elastic(CONTROLLERS[name])))
    rows = []
    for (at_s, rate), (_, before) in zip(STEPS[1:], STEPS, strict=False):
        up = rate > before
        own = [total for time_s, total in series if at_s < time_s <= at_s + 60]
        began = [total for time_s, total in series if time_s <= at_s][-1]
        right = [index for index, (a, b) in enumerate(pairwise([began, *own]), 1) if (b > a if up else b < a)]
        warm = own[len(own) // 2 :]
        rows.append(
            {
                "at_s": at_s,
                "rate": rate,
                "periods": min(right, default=None),
                "reversals": reversals(moves([began, *own])),
                "from": began,
                "settled": [min(warm), max(warm)],
            }
        )
    return {"controller": name, "steps": rows}


def tables(found: dict[str, Any]) -> list[Table]:
    """One of the traces, one of the steps."""
    return [_traces(found), _steps(found)]


def _traces(found: dict[str, Any]) -> Table:
    table = Table(title=f"Elastic, simulated: {found['workers']} workers", title_justify="left")
    left = ("trace", "degrees")
    numbers = ("panes", "windows", "core-s", "of small", "work", "lag p99", "lag max", "latency p99", "of small")
    for column in (*left, *numbers, "changes", "reversals"):
        table.add_column(column, justify="left" if column in left else "right")
    for trace in found["traces"]:
        small = trace["runs"]["fixed small"]
        for kind, one in trace["runs"].items():
            table.add_row(
                trace["trace"],
                kind,
                f"{one['pane_degree']:.1f}",
                f"{one['window_degree']:.1f}",
                f"{one['core_s']:,.0f}",
                *(f"{one[name] / small['core_s']:.2f}" for name in ("core_s", "busy_s")),
                *(f"{one[name]:.1f} s" for name in ("lag_p99_s", "lag_max_s", "latency_p99_s")),
                f"{one['latency_p99_s'] / small['latency_p99_s']:.2f}",
                f"{one['changes']}",
                f"{one['reversals']}",
            )
    return table


def _steps(found: dict[str, Any]) -> Table:
    steps = Table(title="A rate that doubles and halves", title_justify="left")
    for column in ("controller", "at", "records/s", "moves after periods", "reversals", "from", "settled at"):
        steps.add_column(column, justify="left" if column == "controller" else "right")
    for response in found["steps"]:
        for row in response["steps"]:
            low, high = row["settled"]
            cells = [f"{row['periods']}", f"{row['reversals']}", f"{row['from']}", f"{low} to {high}"]
            steps.add_row(response["controller"], f"{row['at_s']} s", f"{row['rate']:,}", *cells)
    return steps
