"""How the PID settles: alpha and utilization over time, with the gains in use and with those of Ziegler and Nichols."""

from __future__ import annotations

import numpy as np

from skypane.control.pid import Gains
from skypane.control.relay import Relay
from skypane.scheduling.adaptive_pid import AdaptivePid
from skypane.scheduling.splitting_controller import ControlOptions
from skypane.simulate.figures.panes import scenario
from skypane.simulate.figures.plotting import Figure, Panel
from skypane.simulate.pane_run import PaneRun, run_panes

_DEGREE = 17


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
        settled = line[len(line) // 4 :]
        numbers = "none" if gains is None else f"{gains.proportional:.2f}, {gains.integral:.3f}, {gains.derivative:.2f}"
        cells = [f"{run.utilization:.3f}", f"{run.splitting_factor:.2f}", f"{np.mean(settled):.2f}"]
        rows.append([name, numbers, *cells, f"{np.std(settled):.2f}"])
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
    return run, Relay.from_json(strategy.to_json()["controller"]["relay"])


def _smoothed(values: list[float]) -> list[float | None]:
    return [float(np.mean(values[max(0, index - 9) : index + 1])) for index in range(len(values))]
