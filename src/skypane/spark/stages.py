"""Stages: what the pane stage and the window stage hand to the rest of a step, and the metrics made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from skypane.flow.latency import Latencies
from skypane.lateness.policy import Judgement
from skypane.lateness.progress import Progress
from skypane.model.ledger import Ledger
from skypane.model.windows import WindowSpec
from skypane.scheduling.batch_plan import BatchOutcome, BatchPlan, BatchPlanner, TaskLoad, imbalance, splitting_factor
from skypane.scheduling.ranges import PIECES_PER_WORKER, WindowScheduling
from skypane.spark.metrics import StepMetrics
from skypane.spark.store.manifest import Manifest, PastPart, StatePart
from skypane.spark.store.writers import Written


@dataclass(frozen=True)
class Settings:
    """How a query is run; none of it changes the answers."""

    degree: int
    """How many window-stage tasks there are to be at a time."""
    inline_rows: int
    """A window stage with no more rows than this runs in the driver: a Spark job would cost more than it saves."""
    slots: int
    """How many tasks Spark runs at a time."""
    planner: BatchPlanner | None = None
    """Who routes records to the tasks of the pane stage; nobody if partials are made where the records are."""
    pane_degree: int | None = None
    """Where nobody routes: the most tasks of the pane stage; ``None`` for as many as Spark can run at a time."""
    window_scheduling: WindowScheduling = "ranges"

    @property
    def pane_tasks(self) -> str:
        """Which tasks the pane stage has, in words."""
        if self.planner is None:
            return f"one task per source partition, at most {self.pane_degree or 'as many as Spark can run at a time'}"
        return f"{self.planner.degree} tasks, routed by {self.planner.name}"

    @property
    def most_window_tasks(self) -> int:
        """How many tasks the window stage is cut into at most."""
        return self.degree * (PIECES_PER_WORKER if self.window_scheduling == "feedback" else 1)


@dataclass(frozen=True)
class PaneStage:
    """What the pane stage and the decision about it hand to the rest of the step."""

    progress: Progress
    ledger: Ledger
    now_us: int
    """When the source cut the batch, or the clock decided the step."""
    partials: Sequence[Written] = ()
    late: Sequence[Written] = ()
    quarantined: Sequence[Written] = ()
    rows_by_group: Mapping[int, int] = field(default_factory=dict)
    records_by_pane: Mapping[int, int] = field(default_factory=dict)
    loads: Sequence[TaskLoad] = ()
    """Of its tasks, in their order."""
    plan: BatchPlan | None = None


@dataclass(frozen=True)
class WindowStage:
    """What the window stage leaves: the new state, and the answers in files."""

    state: tuple[StatePart, ...]
    past: tuple[PastPart, ...] = ()
    answers: Sequence[Written] = ()
    late: Sequence[Written] = ()
    judged: Judgement = field(default_factory=Judgement)
    windows: int = 0
    revised: int = 0
    last_windows: Sequence[tuple[int, int]] = ()
    tasks: int = 0
    work_us: int = 0
    inline: bool = True


def batch_outcome(panes: PaneStage, window: WindowSpec, clock: Sequence[float], slots: int) -> BatchOutcome:
    """The batch as the next plan will see it; ``clock`` has the seconds at the ends of the parts of the step so far."""
    began, panes_done, _, published = clock
    after_us = panes.progress.punctuation_us
    return BatchOutcome(
        tasks=panes.loads,
        records_by_pane=panes.records_by_pane,
        first_open_pane=None if after_us is None else window.sealed_before(after_us),
        cut_us=panes.now_us,
        pane_stage_us=int((panes_done - began) * 1e6),
        elsewhere_us=int((published - panes_done) * 1e6),
        slots=slots,
    )


def step_metrics(
    manifest: Manifest,
    panes: PaneStage,
    windows: WindowStage,
    latencies: Latencies,
    clock: Sequence[float],
    settings: Settings,
    *,
    slack_us: int,
    judged: bool,
    rho: float | None,
) -> StepMetrics:
    """Everything there is to say about a step."""
    pane_ms, window_ms, sink_ms, commit_ms = (np.diff(clock) * 1e3).round(2).tolist()
    total_ms = round((clock[-1] - clock[0]) * 1e3, 2)
    partial_rows = sum(file.rows for file in panes.partials)
    busy_ms, work_ms = sum(load.busy_us for load in panes.loads) / 1e3, windows.work_us / 1e3
    return StepMetrics(
        step=manifest.step,
        batch_id=manifest.batch_id,
        kind=manifest.kind,
        records=panes.ledger.delivered,
        late=panes.ledger.late,
        harmful=windows.judged.harmful if judged else None,
        quarantined=panes.ledger.quarantined,
        windows=windows.windows,
        revised=windows.revised,
        last_windows=tuple(windows.last_windows),
        rows_emitted=sum(file.rows for file in windows.answers),
        open_panes=sum(part.panes for part in manifest.state),
        state_rows=sum(part.file.rows for part in manifest.state),
        state_bytes=sum(part.file.bytes for part in manifest.state),
        partial_rows=partial_rows,
        past_rows=sum(part.file.rows for part in manifest.past),
        t_max_us=manifest.progress.t_max_us,
        front_us=manifest.progress.front_us,
        punctuation_us=manifest.progress.punctuation_us,
        slack_us=slack_us,
        pane_latency_ms=latencies.pane_ms,
        closing_lag_ms=latencies.closing_lag_ms,
        window_latency_ms=latencies.window_ms,
        pane_tasks=len(panes.loads),
        window_tasks=windows.tasks,
        window_inline=windows.inline,
        pane_utilization=_share(busy_ms, settings.slots * pane_ms) if panes.loads else None,
        window_utilization=_share(work_ms, (1 if windows.inline else settings.slots) * window_ms)
        if windows.tasks
        else None,
        idle_share=_share(settings.slots * total_ms - busy_ms - work_ms, settings.slots * total_ms),
        rho=rho,
        splitting_factor=splitting_factor(panes.loads),
        imbalance=imbalance(panes.loads),
        selected_per_pane=partial_rows / len(panes.records_by_pane) if panes.records_by_pane else None,
        pane_ms=pane_ms,
        window_ms=window_ms,
        sink_ms=sink_ms,
        commit_ms=commit_ms,
        total_ms=total_ms,
        committed_at=clock[-1],
    )


def _share(part: float, whole: float) -> float | None:
    return round(min(1.0, max(0.0, part / whole)), 4) if whole > 0 else None
