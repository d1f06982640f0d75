"""Window runs: the shards of a pane run through the virtual window stage, and what the papers report of it."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from skypane.model.windows import WindowSpec
from skypane_lab.cost_model import CostModel
from skypane_lab.pane_run import Distributions, PaneRun
from skypane_lab.partials import CountedAlgebra, CountedPartial
from skypane_lab.strategies.window_strategy import WindowStrategy
from skypane_lab.virtual_window_stage import PaneClosed, ShardReady, VirtualWindowStage, WindowRun


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
) -> WindowFigures:
    """Send the shards of a pane run through the window stage."""
    algebra = CountedAlgebra(cost)
    events: list[PaneClosed | ShardReady[CountedPartial]] = []
    for pane in panes.panes:
        name = distributions.of(pane.pane, window.pane_us)
        events.append(PaneClosed(pane.closed_us, pane.pane, len(pane.shards)))
        events += [ShardReady(shard.ready_us, pane.pane, algebra.shard(name, shard.records)) for shard in pane.shards]
    events.sort(key=attrgetter("at_us"))  # stable: a closing stays before its shards
    first_pane = panes.panes[0].pane
    first_window = -(-first_pane // window.panes_per_slide)
    degree = strategy.degree
    counted_us = (panes.warm_up_us, panes.end_us)
    stage = VirtualWindowStage(window, strategy, algebra, first_window, counted_us=counted_us)
    run = stage.run(events)
    return window_figures(panes, window, run, degree * (panes.end_us - panes.warm_up_us))


def window_figures(
    panes: PaneRun, window: WindowSpec, run: WindowRun[CountedPartial], capacity_us: float
) -> WindowFigures:
    """What the papers report; ``capacity_us`` is the time of all workers after the warm-up, while records came."""
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
    workers = round(capacity_us / (end_us - start_us))
    loads = [busy.get(worker, 0.0) for worker in range(workers)]
    return WindowFigures(
        sustained=min(1.0, delivered / max(1, due)),
        latency_us=float(np.mean(latencies)) if latencies else float("nan"),
        idle_share=max(0.0, 1.0 - sum(busy.values()) / capacity_us),
        starved_share=run.starved_us / capacity_us,
        imbalance=max(loads) / max(1.0, min(loads)),
        merge_share=sum(task.task.is_merge for task in run.tasks) / max(1, len(run.tasks)),
        mean_degree=capacity_us / (end_us - start_us),
    )
