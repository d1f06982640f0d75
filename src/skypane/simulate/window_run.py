"""Window runs: the shards of a pane run through the virtual window stage, and what the papers report of it."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from skypane.model.windows import WindowSpec
from skypane.scheduling.utilization import Measurement
from skypane.scheduling.window_strategy import WindowStrategy
from skypane.simulate.cost_model import CostModel
from skypane.simulate.pane_run import Distributions, PaneRun
from skypane.simulate.partials import CountedAlgebra, CountedPartial
from skypane.simulate.virtual_window_stage import PaneClosed, ShardReady, VirtualWindowStage, WindowRun


@dataclass(frozen=True)
class WindowFigures:
    """Of one window run, after the warm-up and while records came."""

    sustained: float
    """Windows delivered over windows due: below 1 the stage is a bottleneck."""
    latency_us: float
    """Mean time from the first record of a window until its result is delivered."""
    idle_share: float
    """Share of the workers' time in which they did nothing."""
    starved_share: float
    """Share of the workers' time in which they did nothing although partials waited."""
    imbalance: float
    """Busy time of the most over that of the least loaded worker."""
    merge_share: float
    """Share of the tasks that were merges."""
    mean_degree: float


def run_windows(
    panes: PaneRun,
    window: WindowSpec,
    strategy: WindowStrategy,
    cost: CostModel,
    distributions: Distributions,
    control: DegreeControl | None = None,
) -> WindowFigures:
    """Send the shards of a pane run through the window stage."""
    algebra = CountedAlgebra(cost)
    events: list[PaneClosed | ShardReady[CountedPartial]] = []
    for pane in panes.panes:
        name = distributions.of(pane.pane, window.pane_us)
        events.append(PaneClosed(pane.closed_us, pane.pane, len(pane.shards)))
        events += [
            ShardReady(pane.ready_us[worker], pane.pane, algebra.shard(name, records))
            for worker, records in pane.shards.items()
        ]
    events.sort(key=attrgetter("at_us"))  # stable: a closing stays before its shards
    first_pane = panes.panes[0].pane
    first_window = -(-first_pane // window.panes_per_slide)
    degree = strategy.degree
    counted_us = (panes.warm_up_us, panes.end_us)
    stage = VirtualWindowStage(window, strategy, algebra, first_window, controller=control, counted_us=counted_us)
    run = stage.run(events)
    return _figures(panes, window, run, degree, control)


def _figures(
    panes: PaneRun, window: WindowSpec, run: WindowRun[CountedPartial], degree: int, control: DegreeControl | None
) -> WindowFigures:
    start_us, end_us = panes.warm_up_us, panes.end_us
    last_pane_closed = {p.pane: p.closed_us for p in panes.panes}
    first_record = {p.pane: p.first_us for p in panes.panes}
    due = delivered = 0
    latencies: list[float] = []
    for delivery in run.deliveries:
        first = delivery.window * window.panes_per_slide
        closed_us = last_pane_closed[first + window.panes_per_window - 1]
        due += start_us <= closed_us < end_us
        delivered += start_us <= delivery.delivered_us < end_us
        if start_us <= closed_us < end_us:
            latencies.append(delivery.delivered_us - first_record[first])
    busy: dict[int, float] = {}
    for task in run.tasks:
        spent = min(task.finish_us, end_us) - max(task.start_us, start_us)
        if spent > 0:
            busy[task.worker] = busy.get(task.worker, 0.0) + spent
    capacity_us = control.capacity_us(start_us, end_us) if control else degree * (end_us - start_us)
    loads = [busy.get(worker, 0.0) for worker in range(degree)]
    return WindowFigures(
        sustained=min(1.0, delivered / max(1, due)),
        latency_us=float(np.mean(latencies)) if latencies else float("nan"),
        idle_share=max(0.0, 1.0 - sum(busy.values()) / capacity_us),
        starved_share=run.starved_us / capacity_us,
        imbalance=max(loads) / max(1.0, min(loads)),
        merge_share=sum(task.task.is_merge for task in run.tasks) / max(1, len(run.tasks)),
        mean_degree=capacity_us / (end_us - start_us),
    )


class DegreeControl:
    """Chooses the degree of the window stage from its utilization, as paper 2's rules 4 to 6 do.

    The three fuzzy sets for utilization (fast, acceptable, slow) with the outputs 0.5, 1 and 1.5 are, for this one
    input, a broken line: halve at 0.5 and below, keep at 0.9, one and a half times at 1.3 and above.
    """

    def __init__(self, degree: int, most: int = 60) -> None:
        self._degree = degree
        self._most = most
        self.history: list[tuple[float, int, float]] = [(0.0, degree, 0.0)]
        """When which degree began, and the utilization that led to it."""

    def __call__(self, now_us: float, measurement: Measurement, wanted_tasks: int) -> int:
        """The degree from now on; ``wanted_tasks`` are those that came in the period and those that wait."""
        done = sum(worker.done for worker in measurement.workers)
        busy_us = sum(worker.busy_us for worker in measurement.workers)
        if done and busy_us:
            idle_us = max(0.0, measurement.period_us * self._degree - busy_us)
            rho = wanted_tasks / (done + idle_us / (busy_us / done))
            wanted = self._degree * float(np.interp(rho, [0.5, 0.9, 1.3], [0.5, 1.0, 1.5]))
            # Rounding would keep a degree of 1 for ever: from there any clear overload adds a worker.
            self._degree = max(1, min(self._most, round(wanted) if self._degree > 1 or wanted < 1.25 else 2))
            self.history.append((now_us, self._degree, rho))
        return self._degree

    def capacity_us(self, start_us: float, end_us: float) -> float:
        """Worker time that was there between two times."""
        total = 0.0
        for (begin_us, degree, _), after in zip(self.history, [*self.history[1:], (end_us, 0, 0.0)], strict=True):
            total += degree * max(0.0, min(after[0], end_us) - max(begin_us, start_us))
        return total
