"""The splitting under control: how it settles, and whether it holds the set-point without splitting needlessly."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import product
from typing import Final, NamedTuple

import numpy as np

from skypane.tuning.splitting.adaptive_pid import AdaptivePid
from skypane.tuning.splitting.pid import Gains
from skypane.tuning.splitting.relay import Relay
from skypane.tuning.splitting.splitting_controller import ControlOptions
from skypane_lab.figures.panes import LEVELS, scenario
from skypane_lab.figures.plotting import Figure, Panel
from skypane_lab.pane_run import PaneRun, run_panes

_DEGREE: Final = 17
HELD_DEGREES: Final = (7, 9, 12, 15, 16, 17)
HELD_STREAMS: Final = (
    *(("low (I = 1,000)", seed) for seed in (1, 2)),
    *(("medium (I = 2,500)", seed) for seed in (1, 2)),
    *(("high (I = 6,000)", seed) for seed in range(1, 7)),
)
"""With seeds that the controller was not tuned on."""


class Held(NamedTuple):
    """One run: the mean utilization and the shards per pane."""

    utilization: float
    splitting: float

    def __str__(self) -> str:
        return f"{self.utilization:.3f}, {self.splitting:.2f}"


def held() -> Figure:
    """Utilization and splitting over 12 minutes after a warm-up of 4: long against the swings of alpha."""
    cases = list(product(HELD_STREAMS, ("adaptive", "adaptive_pid")))
    with ProcessPoolExecutor() as pool:
        runs = dict(zip(cases, pool.map(_held, cases), strict=True))
    rows = [
        [level, f"{seed}", strategy, *(str(point) for point in points)]
        for ((level, seed), strategy), points in runs.items()
    ]
    panels = []
    for level in dict.fromkeys(level for level, _ in HELD_STREAMS):
        both = {strategy: runs[(level, 1), strategy] for strategy in ("adaptive", "adaptive_pid")}
        busy: dict[str, list[float | None]] = {name: [p.utilization for p in points] for name, points in both.items()}
        split: dict[str, list[float | None]] = {name: [p.splitting for p in points] for name, points in both.items()}
        title, degrees = f"{level}, seed 1", list(HELD_DEGREES)
        panels.append(Panel(title, "workers", "utilization", degrees, busy, level=0.9, top=4.0))
        panels.append(Panel(title, "workers", "shards per pane", degrees, split, top=4.0))
    return Figure("The set-point, held", panels, ["burstiness", "seed", "strategy", *map(str, HELD_DEGREES)], rows)


def _held(case: tuple[tuple[str, int], str]) -> list[Held]:
    (level, seed), strategy = case
    stream = replace(scenario(LEVELS[level]), seed=seed, duration_s=960.0, warm_up_s=240.0)
    runs = [stream.panes(strategy, degree) for degree in HELD_DEGREES]
    return [Held(run.utilization, run.splitting_factor) for run in runs]


def settling() -> Figure:
    """High burstiness, more workers than needed: the case in which splitting too much is easiest."""
    tuned, relay = _run(ControlOptions())
    usual, careful = relay.gains(), relay.gains(adds_up=True)
    runs: list[tuple[str, Gains | None, PaneRun]] = [("in use", careful, tuned)]
    if usual is not None:
        runs.append(("Ziegler-Nichols", usual, _run(ControlOptions(warm_up_periods=0, gains=usual))[0]))
    rows = []
    times = [sample.at_us / 1e6 for sample in tuned.samples]
    alphas: dict[str, list[float | None]] = {}
    utilizations: dict[str, list[float | None]] = {}
    for name, gains, run in runs:
        line = [sample.state["alpha"] for sample in run.samples]
        alphas[name] = list(line)
        utilizations[name] = _smoothed([sample.utilization or 0.0 for sample in run.samples])
        warm = line[len(line) // 4 :]
        numbers = "none" if gains is None else f"{gains.proportional:.2f}, {gains.integral:.3f}, {gains.derivative:.2f}"
        cells = [f"{run.utilization:.3f}", f"{run.splitting_factor:.2f}", f"{np.mean(warm):.2f}"]
        rows.append([name, numbers, *cells, f"{np.std(warm):.2f}"])
    panels = [
        Panel("alpha", "seconds", "threshold / base threshold", times, alphas),
        Panel("utilization, mean of 10 periods", "seconds", "utilization", times, utilizations, level=0.9, top=2.5),
    ]
    header = ["gains", "Kp, Ki, Kd", "mean utilization", "shards per pane", "mean alpha", "standard deviation of alpha"]
    return Figure(f"adaptive_pid, high burstiness, {_DEGREE} workers", panels, header, rows)


def _run(control: ControlOptions) -> tuple[PaneRun, Relay]:
    stream = scenario(6_000.0)
    strategy = AdaptivePid(_DEGREE, control)
    run = run_panes(stream.table(), strategy, stream.cost, stream.points, warm_up_us=round(stream.warm_up_s * 1e6))
    return run, strategy.relay


def _smoothed(values: list[float]) -> list[float | None]:
    return [float(np.mean(values[max(0, index - 9) : index + 1])) for index in range(len(values))]
