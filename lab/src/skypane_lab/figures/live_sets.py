"""Paper 4, figures 4 and 7 to 9: how large the live set is, and how evenly it is spread over the workers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Final

import numpy as np

from skypane.model.groups import Float64Array, Int64Array
from skypane.traffic.points import DISTRIBUTIONS
from skypane_lab.figures.plotting import Figure, Panel
from skypane_lab.live.lifetimes import dominated_at
from skypane_lab.live.ownership import OWNERSHIPS
from skypane_lab.live.queueing import evenly, run_queues
from skypane_lab.live.samples import (
    ATTRIBUTES,
    LEANINGS,
    MACHINES,
    draw_sample,
    generated_points,
    leaning_points,
    stored_after,
)
from skypane_lab.live.setup import LiveSetup

_SIZES: Final = (10_000, 30_000, 100_000, 300_000, 1_000_000)
_SEEDS: Final = (1, 2)
_TABLE_2: Final = {
    "independent": (1_000_000, 4_296),
    "anticorrelated": (800_000, 13_968),
    "correlated": (15_000_000, 1_308),
}
"""Records per window and stored records, as paper 4 has them."""

_RATE, _WITHIN_NS, _SECONDS, _DEGREE = 100_000.0, 10_000_000_000, 50, 12
_SAMPLE_NS: Final = 100_000
_TABLE_1: Final = {
    ("rr", 1): (64.02, 229.18),
    ("rr", 5): (64.20, 230.88),
    ("rr", 100): (64.54, 246.26),
    ("rr", 10_000): (70.06, 424.65),
    ("od", 1): (34.13, 1790.67),
    ("od", 5): (581.45, 3948.31),
    ("llw", 1): (3.15, 4.28),
    ("llw", 5): (3.64, 4.60),
    ("llw", 100): (12.93, 136.26),
    ("llw", 10_000): (104.60, 16483.29),
    ("llw+", 1): (2.55, 4.05),
    ("llw+", 5): (2.61, 4.33),
    ("llw+", 100): (10.89, 23.06),
    ("llw+", 10_000): (50.90, 280.42),
}
"""Paper 4's mean and variance of the load difference, by ownership and queue size."""


def live_set_sizes() -> Figure:
    """4: stored records by records per window; our generators, and points as harsh as paper 4's."""
    lines: dict[str, list[float | None]] = {}
    rows = []
    for name in DISTRIBUTIONS:
        lines[f"{name}, our generator"] = _means(partial(generated_points, name))
    for name, leaning in LEANINGS.items():
        if leaning:
            lines[f"{name}, as paper 4's"] = _means(partial(leaning_points, leaning))
    rows += [[label, *(f"{value:,.0f}" for value in line if value is not None), ""] for label, line in lines.items()]
    for name, (window, paper) in _TABLE_2.items():
        found = [draw_sample(name, window, 0, seed).stored(window) for seed in _SEEDS]
        shown = f"{window:,} records: {np.mean(found):,.0f} ({min(found):,} to {max(found):,}); paper 4: {paper:,}"
        rows.append([f"{name}, table II", *([""] * len(_SIZES)), shown])
    labels = [f"{size:,}" for size in _SIZES]
    panel = Panel("stored records (mean of two streams)", "records per window", "records", labels, lines, log=True)
    return Figure("Paper 4, fig. 4: the live set, 5 attributes", [panel], ["points", *labels, "table II"], rows)


def _means(draw: Callable[[np.random.Generator, int], Float64Array]) -> list[float | None]:
    """The live set after so many records, a mean over seeds."""
    found = np.zeros(len(_SIZES))
    for seed in _SEEDS:
        points = draw(np.random.default_rng(seed), _SIZES[-1])
        numbers = stored_after(points)
        found += [np.count_nonzero(numbers >= _SIZES[-1] - size) for size in _SIZES]
    return [float(value) for value in found / len(_SEEDS)]


@cache
def _stream() -> Int64Array:
    """Of 50 s of independent points, and a little more, when each is dominated."""
    count = int(_RATE * (_SECONDS + 0.1))
    points = np.random.default_rng(5).random((count, ATTRIBUTES))
    return dominated_at(points, int(_RATE * _WITHIN_NS / 1e9))


@cache
def differences(policy: str, queue_size: int) -> Int64Array:
    """Load differences over 50 s, sampled every 100 us; the emitter stamps the records, as in paper 4."""
    dominated = _stream()
    setup = LiveSetup(MACHINES["independent"], _DEGREE, queue_size, OWNERSHIPS[policy], emitter_stamps=True)
    run = run_queues(evenly(len(dominated), _RATE), dominated, _WITHIN_NS, setup, _SAMPLE_NS)
    return run.differences[: _SECONDS * 10_000]


def _panel(title: str, runs: dict[str, tuple[str, int]], top: float | None = None) -> Panel:
    """One line for each run: the mean of every second."""
    lines: dict[str, list[float | None]] = {}
    for label, (policy, queue_size) in runs.items():
        by_second = differences(policy, queue_size)[: _SECONDS * 10_000].reshape(-1, 10_000).mean(axis=1)
        lines[label] = [float(value) for value in by_second]
    seconds = [second + 0.5 for second in range(_SECONDS)]
    return Panel(title, "seconds", "most - least stored", seconds, lines, top=top)


def _by_queue(policy: str, sizes: tuple[int, ...]) -> dict[str, tuple[str, int]]:
    return {f"queues of {size:,}": (policy, size) for size in sizes}


def _table(runs: list[tuple[str, int]]) -> tuple[list[str], list[list[str]]]:
    rows = []
    for policy, size in runs:
        found = differences(policy, size)
        paper = _TABLE_1.get(("od" if policy == "od_on" else policy, size))
        shown = ["", ""] if paper is None else [f"{paper[0]:.2f}", f"{paper[1]:,.2f}"]
        rows.append([policy, f"{size:,}", f"{found.mean():.2f}", f"{found.var():,.2f}", *shown])
    return ["ownership", "queue size", "mean", "variance", "paper 4: mean", "variance"], rows


def on_demand_and_least_loaded() -> Figure:
    """7: OD and LLW with queues of several sizes."""
    panels = [
        _panel("OD, the first queue with room", _by_queue("od", (1, 5, 30))),
        _panel("OD, from the last owner on", _by_queue("od_on", (1, 5, 30))),
        _panel("LLW", _by_queue("llw", (1, 5, 100, 10_000)), top=400.0),
    ]
    runs = [(policy, size) for policy in ("od", "od_on") for size in (1, 5, 30)]
    runs += [("llw", size) for size in (1, 5, 100, 10_000)]
    return Figure("Paper 4, fig. 7: load difference, 12 workers", panels, *_table(runs))


def least_loaded_with_ownership() -> Figure:
    """8: LLW+."""
    sizes = (1, 5, 100, 10_000)
    panel = _panel("LLW+", _by_queue("llw+", sizes))
    return Figure("Paper 4, fig. 8: load difference, 12 workers", [panel], *_table([("llw+", size) for size in sizes]))


def all_ownerships() -> Figure:
    """9 and table I: all policies."""
    small = {name: (name, 5) for name in ("rr", "llw", "llw+")} | {"od_on": ("od_on", 5)}
    panels = [
        _panel("queues of 5", small),
        _panel("queues of 10,000", {name: (name, 10_000) for name in ("rr", "llw", "llw+")}),
    ]
    runs = [(policy, size) for policy in OWNERSHIPS for size in (1, 5, 100, 10_000)]
    return Figure("Paper 4, fig. 9 and table I: load difference, 12 workers", panels, *_table(runs))
