"""Paper 1, figures 15 and 17: degrees, bandwidth and latency for streams like the eight soccer games.

The recorded streams are not ours to ship. These are generated, with the rate, the index of dispersion and the mean and
largest delay of paper 1's table 2.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from skypane.model.windows import WindowSpec
from skypane_lab.arrivals import blocks
from skypane_lab.cost_model import paper_machine
from skypane_lab.figures.panes import KEEPS_UP
from skypane_lab.figures.plotting import Figure, Panel
from skypane_lab.pane_run import PaneRun
from skypane_lab.scenario import Scenario


class Game(NamedTuple):
    """One row of paper 1's table 2."""

    name: str
    rate: float
    mean_delay_ms: int
    max_delay_s: float
    dispersion: float


GAMES: Final = (
    Game("G1", 8_514, 34, 142.0, 2_853),
    Game("G2", 10_037, 29, 171.0, 207),
    Game("G3", 8_766, 26, 77.0, 1_507),
    Game("G4", 11_610, 24, 54.0, 155),
    Game("G5", 18_850, 15, 50.0, 1_845),
    Game("G6", 18_462, 16, 71.0, 23),
    Game("G7", 21_102, 20, 5.03, 89),
    Game("G8", 23_071, 265, 5.18, 3_062),
)
_TOP_DELTA_FACTOR = 1.75
"""Paper 1: the top-delta query costs 1.5 to 2 times what the skyline costs."""
_MOST = 60


class Needed(NamedTuple):
    """The degrees that keep up, and what they gain over one thread."""

    panes: int
    windows: int
    sustained: float
    gain: float


def game_stream(game: Game, factor: float = 1.0) -> Scenario:
    """Windows of 1 s that slide by 200 ms."""
    return Scenario(
        rate=game.rate,
        dispersion=game.dispersion,
        window=WindowSpec(1_000_000, 200_000),
        mean_delay_us=game.mean_delay_ms * 1_000,
        duration_s=120.0,
        warm_up_s=45.0,
        cost=paper_machine().scaled(factor),
    )


@lru_cache(maxsize=32)
def needed(game: Game, factor: float) -> Needed:
    """Add pane-stage workers, then window-stage workers, until both keep up."""
    scenario = game_stream(game, factor)
    degree, run = 1, scenario.panes("adaptive_pid", 1)
    while (run.utilization >= 1.0 or run.sustained < KEEPS_UP) and degree < _MOST:
        degree += 1
        run = scenario.panes("adaptive_pid", degree)
    seconds = scenario.duration_s - scenario.warm_up_s
    windows = max(1, math.floor(_window_work_us(scenario, run) / seconds / 1e6))
    found = scenario.windows(run, "win_fb", windows)
    while found.sustained < KEEPS_UP and windows < _MOST:
        windows += 1
        found = scenario.windows(run, "win_fb", windows)
    work_us = sum(run.busy_us) + (1.0 - found.idle_share) * windows * seconds * 1e6
    return Needed(degree, windows, found.sustained, found.sustained * max(1.0, work_us / seconds / 1e6))


def _window_work_us(scenario: Scenario, run: PaneRun) -> float:
    idle = scenario.windows(run, "win_fb", _MOST).idle_share
    return (1.0 - idle) * _MOST * (scenario.duration_s - scenario.warm_up_s) * 1e6


def degrees() -> Figure:
    """15: workers needed, windows per second, and the gain over one thread."""
    rows, panels = [], []
    for query, factor in (("skyline", 1.0), ("top-delta", _TOP_DELTA_FACTOR)):
        found = [needed(game, factor) for game in GAMES]
        lines: dict[str, list[float | None]] = {
            "pane stage": [float(n.panes) for n in found],
            "window stage": [float(n.windows) for n in found],
            "gain": [n.gain for n in found],
        }
        panels.append(Panel(query, "stream", "workers, gain", [game.name for game in GAMES], dict(lines)))
        for game, n in zip(GAMES, found, strict=True):
            cells = [f"{n.panes}", f"{n.windows}", f"{5.0 * n.sustained:.2f}", f"{n.gain:.1f}"]
            rows.append([query, game.name, f"{game.rate:,.0f}", f"{game.dispersion:,.0f}", *cells])
    header = ["query", "stream", "records/s", "I", "pane-stage workers", "window-stage workers", "windows/s", "gain"]
    return Figure("Fig. 15: degrees and gain over one thread", panels, header, rows)


def latencies() -> Figure:
    """17: window latency with K-slack, and with slacks that give up 1, 2 and 5 % of the records."""
    ratios = (None, 0.01, 0.02, 0.05)
    lines: dict[str, list[float | None]] = {_label(ratio): [] for ratio in ratios}
    rows = []
    for game in GAMES:
        cap_s = max(game.max_delay_s, 2.1 * game.mean_delay_ms / 1e3)
        delays = (("disorder", "pareto"), ("max_delay", f"{cap_s} s"), ("tail", "1.5"))
        plain = replace(game_stream(game), stream=delays, duration_s=max(120.0, 2.5 * game.max_delay_s), warm_up_s=45.0)
        needs = needed(game, 1.0)
        cells = []
        for ratio in ratios:
            scenario = plain if ratio is None else replace(plain, fixed_slack_us=_slack_us(plain, ratio))
            run = scenario.panes("adaptive_pid", needs.panes)
            latency_s = scenario.windows(run, "win_fb", needs.windows + 2).latency_us / 1e6
            table = scenario.table()
            lines[_label(ratio)].append(latency_s)
            cells.append(f"{latency_s:.1f} s ({table.dropped / (table.dropped + table.records):.2%} late)")
        rows.append([game.name, f"{game.mean_delay_ms} ms, {game.max_delay_s:g} s", *cells])
    panel = Panel("window latency", "stream", "seconds", [game.name for game in GAMES], lines, log=True)
    return Figure("Fig. 17: latency by slack", [panel], ["stream", "mean, largest delay", *lines], rows)


def _label(ratio: float | None) -> str:
    return "K-slack" if ratio is None else f"{ratio:.0%} given up"


def _slack_us(scenario: Scenario, ratio: float) -> int:
    """The slack that all but this share of the records need."""
    lags, t_max = [], 0
    for block in blocks(scenario.spec()):
        newest = np.maximum.accumulate(np.maximum(block.ts_us, t_max))
        t_max = int(newest[-1])
        lags.append(newest - block.ts_us)
    return int(np.quantile(np.concatenate(lags), 1.0 - ratio))
