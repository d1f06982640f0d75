"""Paper 2, figures 9 and 10: the pane stage alone, under both loops or without splitting."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Final

import numpy as np

from skypane.model.windows import WindowSpec
from skypane.tuning.elastic.controllers import SET_POINT, Fuzzy
from skypane_lab.cost_model import CostModel, paper_machine
from skypane_lab.elastic_run import Elastic, ElasticRun
from skypane_lab.figures.elastic_setup import as_in_the_paper, machine, per_second, stream
from skypane_lab.figures.plotting import Figure, Panel
from skypane_lab.scenario import Scenario

_RATES: Final = (40, 50, 70, 80, 60, 40)
_PAPER_DEGREES: Final = ("3", "4", "5, from 70 s 6", "6", "5", "3")
_PANES: Final = WindowSpec(1_000_000, 100_000)
_MOST: Final = 60
_SLOW: Final = 2.0
"""Utilization of the window stage. By the rules, the pane stage grows as long as panes are split much, unless windows
need the workers more; in paper 2's figures it does not, so there they do."""
_LOGGED: Final = {"map": ("0.89", "7.7", "6.1"), "self-similar": ("0.93", "7.3", "4.7")}
_UNSPLIT: Final = {"map": "2.7", "self-similar": "2.2"}


def _of(scenario: Scenario, setup: Elastic, rho_windows: float) -> ElasticRun:
    """The pane stage alone, with up to 60 workers; the rules see this utilization of the window stage."""
    damped = replace(setup.loops.damped, controller=Fuzzy(1_000_000), max_degree=_MOST)
    loops = replace(setup.loops, damped=damped)
    elastic = replace(setup, loops=loops, controls_windows=False, window_degree=_MOST, other_rho=rho_windows)
    return replace(scenario, window=_PANES, cost=_pane_stage_only()).elastic(elastic)


def _pane_stage_only() -> CostModel:
    """Window tasks take no time."""
    return replace(machine(), merge_us=paper_machine().scaled(1e-9).merge_us, task_us=0.0)


def artificial() -> Figure:
    """9: six rates for 30 s each, degree 3 at first."""
    steps = ", ".join(f"{30 * number}:{1000 * rate}" for number, rate in enumerate(_RATES))
    scenario = replace(stream(40_000.0, "steps", 180.0, steps=steps), warm_up_s=0.0)
    run = _of(scenario, replace(as_in_the_paper(), pane_degree=3), _SLOW)
    times = [step.at_us / 1e6 for step in run.steps]
    seen = [step.decided.seen for step in run.steps]
    completed = per_second([pane.complete_us for pane in run.panes.panes], 0.0, run.panes.end_us)
    panels = [
        Panel(
            "workers and shards per pane",
            "seconds",
            "",
            times,
            {"workers": [float(s.pane_degree) for s in seen], "shards": [s.shards_per_pane for s in seen]},
        ),
        Panel("utilization", "seconds", "", times, {"panes": [s.rho_panes for s in seen]}, level=0.9, top=2.5),
        Panel("panes/s", "seconds", "", [float(n) for n in range(len(completed))], {"panes": completed}, level=10.0),
    ]
    rows = []
    for number, (rate, paper) in enumerate(zip(_RATES, _PAPER_DEGREES, strict=True)):
        own = [s for s, at in zip(seen, times, strict=True) if 30 * number + 2.5 < at <= 30 * number + 30]
        degrees = [own[0].pane_degree, *(b.pane_degree for a, b in pairwise(own) if a.pane_degree != b.pane_degree)]
        warm = own[len(own) // 2 :]
        cells = [f"{np.mean([s.rho_panes for s in warm]):.2f}", f"{np.mean([s.shards_per_pane for s in own]):.1f}"]
        panes = completed[30 * number : 30 * number + 30]
        rows.append([f"{rate},000", ", ".join(map(str, degrees)), paper, *cells, f"{min(panes):.0f}, {max(panes):.0f}"])
    header = ["records/s", "degrees", "paper 2", "utilization, second half", "shards per pane", "panes/s: least, most"]
    return Figure("Paper 2, fig. 9: both loops, pane stage", panels, header, rows)


def _bursty() -> dict[str, Scenario]:
    streams = {
        "map": stream(80_000.0, "map", 120.0, dispersion=1_000),
        "self-similar": stream(80_000.0, "selfsimilar", 120.0, hurst=0.6),
    }
    return {name: replace(scenario, warm_up_s=50.0) for name, scenario in streams.items()}


def _panels(runs: dict[str, ElasticRun]) -> list[Panel]:
    panels = []
    for name, run in runs.items():
        times = [step.at_us / 1e6 for step in run.steps]
        seen = [step.decided.seen for step in run.steps]
        degrees: dict[str, list[float | None]] = {
            "workers": [float(s.pane_degree) for s in seen],
            "shards": [s.shards_per_pane for s in seen],
        }
        rhos: dict[str, list[float | None]] = {"utilization": [s.rho_panes for s in seen]}
        panels.append(Panel(f"{name}: workers", "seconds", "", times, degrees))
        panels.append(Panel(f"{name}: utilization", "seconds", "", times, rhos, level=0.9, top=6.0))
    return panels


def without_splitting() -> Figure:
    """10a: degrees alone, up to 60 workers."""
    setup = replace(as_in_the_paper(), pane_strategy="pane_rr")
    runs = {name: _of(scenario, setup, SET_POINT) for name, scenario in _bursty().items()}
    rows = []
    for name, run in runs.items():
        degrees = list(dict.fromkeys(step.decided.seen.pane_degree for step in run.steps[:12]))
        rho = np.mean([step.decided.seen.rho_panes for step in run.after_warm_up()])
        rows.append([name, ", ".join(map(str, degrees)), f"{rho:.1f}", _UNSPLIT[name]])
    rows.append(["paper 2", "1, 2, 3, 5, 8, 12, 18, 27, 41, 60", "", ""])
    header = ["stream", "degrees", "utilization after 50 s", "paper 2"]
    return Figure("Paper 2, fig. 10a: degrees without splitting", _panels(runs), header, rows)


def with_splitting() -> Figure:
    """10b: both loops; as in the paper, and with a window stage that is just right."""
    rows = []
    drawn: dict[str, ElasticRun] = {}
    for windows, rho in {"slow": _SLOW, "acceptable": SET_POINT}.items():
        for name, scenario in _bursty().items():
            run = _of(scenario, as_in_the_paper(), rho)
            drawn.setdefault(name, run)
            each = [
                (s.rho_panes, s.pane_degree, s.shards_per_pane) for s in (x.decided.seen for x in run.after_warm_up())
            ]
            peak = max(step.decided.seen.pane_degree for step in run.steps)
            logged = ("18", *_LOGGED[name]) if rho == _SLOW else ("",) * 4
            rows.append([name, windows, f"{peak}", *(f"{mean:.2f}" for mean in np.mean(each, axis=0)), *logged])
    what = ("peak degree", "utilization", "degree", "shards")
    header = ["stream", "window stage", *what, *(f"logged: {name}" for name in what)]
    return Figure("Paper 2, fig. 10b: degrees and splitting", _panels(drawn), header, rows)
