"""Paper 3, figures 20 to 24: the Yahoo streaming benchmark by threads - events a second, and how late answers are."""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np

from skypane_lab.figures.plotting import Figure, Panel
from skypane_lab.trees.tree_run import TreeRun
from skypane_lab.trees.yahoo import as_tasks, by_campaign, events_per_s, within_windows

_THREADS: Final = (8, 16, 24, 32, 48, 64)
_SHARES: Final = (0.14, 0.17, 0.21)
"""Of the threads, how many count; the best is shown."""
_BATCHES: Final = (1, 10, 100, 300)
_PERCENTILES: Final = {"least": 0, "25 %": 25, "median": 50, "75 %": 75, "most": 100}


@cache
def _best_by_campaign(threads: int) -> TreeRun:
    """100 campaigns."""
    workers = {max(1, round(share * threads)) for share in _SHARES}
    return max((by_campaign(threads - 1 - n, n) for n in sorted(workers)), key=events_per_s)


@cache
def _best_within_windows(threads: int) -> TreeRun:
    """One campaign."""
    workers = {max(2, round(share * threads)) for share in _SHARES}
    return max((within_windows(threads - 2 - n, n) for n in sorted(workers)), key=events_per_s)


@cache
def _tasks(threads: int, batch: int) -> TreeRun:
    return as_tasks(threads, batch)


def _millions(run: TreeRun) -> float:
    return events_per_s(run) / 1e6


def latencies() -> Figure:
    """20: from the last event of a window to its answer."""
    return _latencies("Paper 3, fig. 20: latency, 100 campaigns", {f"{t}": _best_by_campaign(t) for t in _THREADS})


def _latencies(title: str, runs: dict[str, TreeRun], x_label: str = "threads", *, log: bool = False) -> Figure:
    found = {name: run.latencies_us() / 1e3 for name, run in runs.items()}
    lines: dict[str, list[float | None]] = {
        name: [float(np.percentile(each, share)) for each in found.values()] for name, share in _PERCENTILES.items()
    }
    if log:
        lines.pop("least")
    panel = Panel("latency", x_label, "ms", list(runs), lines, log=log)
    rows = [
        [
            name,
            f"{_millions(run):.1f}",
            *(f"{np.percentile(found[name], share):.2f}" for share in _PERCENTILES.values()),
        ]
        for name, run in runs.items()
    ]
    return Figure(title, [panel], [x_label, "M events/s", *(f"{name}, ms" for name in _PERCENTILES)], rows)


def many_campaigns() -> Figure:
    """21: 100 campaigns."""
    return _rates(
        "Paper 3, fig. 21: 100 campaigns",
        {"KF(n)": [_millions(_best_by_campaign(t)) for t in _THREADS]},
        {"KF(n)": "more than three times Flink"},
    )


def one_campaign() -> Figure:
    """22: one campaign."""
    return _rates(
        "Paper 3, fig. 22: one campaign",
        {
            "KF(n)": [_millions(by_campaign(t - 2, 1, 1)) for t in _THREADS],
            "WMR(n,1) L1": [_millions(_best_within_windows(t)) for t in _THREADS],
        },
        {"KF(n)": "stops with few threads", "WMR(n,1) L1": "about 30, near figure 21"},
    )


def threads_or_tasks() -> Figure:
    """23: 100 campaigns, threads of their own against tasks in batches."""
    lines: dict[str, list[float | None]] = {"threads, KF(n)": [_millions(_best_by_campaign(t)) for t in _THREADS]}
    for batch in _BATCHES:
        lines[f"tasks, batches of {batch}"] = [_millions(_tasks(t, batch)) for t in _THREADS]
    paper = {
        "tasks, batches of 1": "at most 3",
        "tasks, batches of 100": "as threads",
        "tasks, batches of 300": "above 40",
    }
    return _rates("Paper 3, fig. 23: threads or tasks", lines, paper)


def _rates(title: str, lines: dict[str, list[float | None]], paper: dict[str, str]) -> Figure:
    panel = Panel("throughput", "threads", "million events/s", list(_THREADS), lines)
    rows = [
        [name, *(f"{value:.1f}" for value in line if value is not None), paper.get(name, "")]
        for name, line in lines.items()
    ]
    return Figure(title, [panel], ["M events/s with threads", *(f"{t}" for t in _THREADS), "paper 3"], rows)


def latency_of_batches() -> Figure:
    """24: 64 threads, what batches add to the latency."""
    most = _THREADS[-1]
    runs = {"threads": _best_by_campaign(most), **{f"tasks, {b}": _tasks(most, b) for b in _BATCHES[1:]}}
    return _latencies(f"Paper 3, fig. 24: latency, {most} threads", runs, "threads, or tasks in batches", log=True)
