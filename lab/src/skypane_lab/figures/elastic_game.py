"""Paper 2, figures 14, 15, 17 and 18: one game in detail - over time, by periods, and with others on the machine."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Final

import numpy as np

from skypane_lab.elastic_run import ElasticRun
from skypane_lab.figures.elastic_setup import (
    GAME_1,
    as_in_the_paper,
    game,
    mean_rhos,
    per_second,
    throughput,
)
from skypane_lab.figures.plotting import Figure, Panel
from skypane_lab.scenario import Scenario
from skypane_lab.virtual_pane_stage import Slowness

_STATIC: Final = (6, 38)
_PERIODS_S: Final = {1.0: 0.68, 2.5: 0.80, 5.0: 0.88, 10.0: 1.55, 20.0: 1.90}
"""Control period, and the variation of windows/s in paper 2."""
_SAMPLING_MS: Final = (100, 250, 500)
_LOADED: Final = (19.5, 21.5, 22.8, 25.5, 24.8, 31.0, 33.5, 37.3, 42.9, 47.0, 47.3)
"""Workers in paper 2 with external loads of 0, 0.1, ... 1."""


@lru_cache(maxsize=1)
def _game() -> Scenario:
    return game(*GAME_1)


@lru_cache(maxsize=1)
def _run() -> ElasticRun:
    return _game().elastic(as_in_the_paper())


def over_time() -> Figure:
    """14: rate, workers and shards."""
    run = _run()
    times = [step.at_us / 1e6 for step in run.steps]
    seen = [step.decided.seen for step in run.steps]
    came: dict[int, float] = {}
    table = _game().table()
    for index, count in zip((table.slices * table.slice_us // 2_500_000).tolist(), table.counts.tolist(), strict=True):
        came[index] = came.get(index, 0.0) + count / 2.5
    rates = [came.get(index, 0.0) for index in range(len(times))]
    panels = [
        Panel("records/s", "seconds", "", times, {"arrivals": rates}),
        Panel(
            "pane stage",
            "seconds",
            "",
            times,
            {"workers": [float(s.pane_degree) for s in seen], "shards": [s.shards_per_pane for s in seen]},
        ),
        Panel("window stage", "seconds", "", times, {"workers": [float(s.window_degree) for s in seen]}),
    ]
    panes, windows = mean_rhos(run)
    correlation = float(np.corrcoef(rates[16:], [s.window_degree for s in seen[16:]])[0, 1])
    rows = [
        ["mean utilization, pane stage", f"{panes:.3f}", "0.882"],
        ["mean utilization, window stage", f"{windows:.3f}", "0.912"],
        ["mean pane workers", f"{run.pane_workers:.2f}", "3.82"],
        ["mean window workers", f"{run.window_workers:.1f}", "15.65"],
        ["shards per pane", f"{run.panes.splitting_factor:.2f}", "2.74"],
        ["correlation of window workers with the rate", f"{correlation:.2f}", '"keeps up with the arrival rate"'],
    ]
    return Figure("Paper 2, fig. 14: a stream like Game1", panels, ["", "here", "paper 2"], rows)


def against_static() -> Figure:
    """15: windows/s, beside fixed degrees that suffice."""
    runs = {"elastic": _run(), "static 6 + 38": _game().elastic(as_in_the_paper().fixed(*_STATIC))}
    lines: dict[str, list[float | None]] = {}
    rows = []
    printed = {"elastic": ("4.93", "0.86"), "static 6 + 38": ("less than 1 % more", "0.66")}
    for name, run in runs.items():
        delivered_us = [delivery.delivered_us for delivery in run.windows.deliveries]
        lines[name] = [*per_second(delivered_us, 0.0, run.panes.end_us)]
        mean, deviation, _ = throughput(run)
        cells = [f"{run.pane_workers + run.window_workers:.1f}", f"{mean:.3f}", f"{deviation:.2f}"]
        rows.append([name, *cells, f"{deviation / mean:.2f}", *printed[name]])
    seconds = [float(second) for second in range(len(lines["elastic"]))]
    panel = Panel("windows/s", "seconds", "", seconds, lines, level=5.0)
    header = ["", "workers", "windows/s", "deviation", "deviation over mean", "paper 2: windows/s", "paper 2: CV"]
    return Figure("Paper 2, fig. 15: elastic against static", [panel], header, rows)


def by_periods() -> Figure:
    """17: control period and sampling period."""
    errors: dict[str, list[float | None]] = {}
    rows = []
    variation: list[float | None] = []
    for period_s, paper in _PERIODS_S.items():
        line, deviations = [], []
        for sampling_ms in _SAMPLING_MS:
            run = _game().elastic(as_in_the_paper(period_us=period_s * 1e6, sampling_us=sampling_ms * 1e3))
            line.append(mean_rhos(run)[0])
            deviations.append(throughput(run).deviation)
        errors[f"every {period_s:g} s"] = [100.0 * abs(rho / 0.9 - 1.0) for rho in line]
        variation.append(deviations[1])
        rows.append([f"{period_s:g} s", *(f"{rho:.3f}" for rho in line), f"{deviations[1]:.2f}", f"{paper:g}"])
    panels = [
        Panel("error of the utilization", "sampling period, ms", "%", list(_SAMPLING_MS), errors),
        Panel(
            "variation of windows/s",
            "control period, s",
            "",
            list(_PERIODS_S),
            {"ours": variation, "paper 2": list(_PERIODS_S.values())},
        ),
    ]
    header = ["control period", *(f"utilization, sampled every {ms} ms" for ms in _SAMPLING_MS), "deviation", "paper 2"]
    return Figure("Paper 2, fig. 17: periods", panels, header, rows)


def _from(start_us: float, slower: float) -> Slowness:
    """Others come at a time, and stay."""
    return lambda at_us: slower if at_us >= start_us else 1.0


def under_load() -> Figure:
    """18: costs are multiplied by what paper 2's workers grew by; and the same switched on in the middle."""
    loads = [index / 10 for index in range(11)]
    workers: list[float | None] = []
    rows = []
    for load, paper in zip(loads, _LOADED, strict=True):
        slower = paper / _LOADED[0]
        run = _game().elastic(replace(as_in_the_paper(), slowness=_from(0.0, slower)))
        mean, deviation, _ = throughput(run)
        workers.append(run.pane_workers + run.window_workers)
        cells = [f"{slower:.2f}", f"{workers[-1]:.1f}", f"{paper:g}", f"{mean:.2f}", f"{deviation:.2f}"]
        rows.append([f"{load:g}", *cells])
    switched = _game().elastic(replace(as_in_the_paper(), slowness=_from(140e6, _LOADED[5] / _LOADED[0])))
    mean, deviation, _ = throughput(switched)
    workers_in_all = switched.pane_workers + switched.window_workers
    rows.append(["0, then 0.5", "1.00, 1.59", f"{workers_in_all:.1f}", "", f"{mean:.2f}", f"{deviation:.2f}"])
    times = [step.at_us / 1e6 for step in switched.steps]
    total = [float(step.decided.seen.pane_degree + step.decided.seen.window_degree) for step in switched.steps]
    panels = [
        Panel("workers by external load", "external load", "", loads, {"ours": workers, "paper 2": list(_LOADED)}),
        Panel("external load of 0.5 from 140 s on", "seconds", "workers", times, {"both stages": total}),
    ]
    header = ["external load", "costs times", "workers", "paper 2", "windows/s", "deviation"]
    return Figure("Paper 2, fig. 18: others on the machine", panels, header, rows)
