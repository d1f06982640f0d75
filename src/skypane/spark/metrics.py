"""Metrics: what each step did and how long each part of it took."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import asdict, dataclass, field
from typing import Any

from skypane.flow.step import Flow
from skypane.lateness.policy import Judgement, slack_warning
from skypane.model.ledger import Ledger
from skypane.spark.elastic_metrics import ElasticMetrics, elastic_metrics
from skypane.spark.executors.base import Executors
from skypane.spark.metrics_text import metrics_text
from skypane.spark.stopwatch import StepTimes
from skypane.spark.store.manifest import Manifest, SparkStepped
from skypane.tuning.splitting.batch_plan import imbalance, splitting_factor
from skypane.tuning.tuner import TuningReport, TuningState


@dataclass(frozen=True)
class StepMetrics:
    """Counts, times and utilization of one committed step."""

    step: int
    batch_id: int
    kind: str
    records: int
    late: int
    harmful: int | None
    """Late records that would have changed an answer; ``None`` if they are not judged."""
    quarantined: int
    duplicate: int
    """Records whose id was accepted before, see docs/duplicates.md."""
    held: int
    """Records whose time is in doubt after this step; later records, or the clock, will decide."""
    windows: int
    """How many (key, window) answers this step emitted; of a live query, how many rows."""
    revised: int
    """How many (key, window) answers were corrected."""
    failed: int
    """How many windows went to the failed sink because a user's function failed."""
    last_windows: tuple[tuple[int, int], ...]
    """End (microseconds) and answer rows, over all keys, of the newest windows that this step emitted."""
    rows_emitted: int
    open_panes: int
    state_rows: int
    state_bytes: int
    partial_rows: int
    condensed: int
    """Records that Spark added up before they were sent to the tasks, see docs/decisions/0014-condensing.md."""
    past_rows: int
    """Rows of sealed panes in the state, for late records."""
    known_ids: int
    """Ids in the state, by which duplicates are found."""
    t_max_us: int | None
    front_us: int | None
    """The time of the front; the watermark stays behind it by the slack."""
    watermark_us: int | None
    slack_us: int
    slack_warning: str | None
    """A warning while answers wait longer than several windows."""
    pane_latency_ms: float | None
    """From the first to the last batch of a pane; a mean over the panes that this step sealed."""
    closing_lag_ms: float | None
    """From the last batch of a pane to this step, which sealed it."""
    window_latency_ms: float | None
    """From the first batch of a window to this step, which answered it."""
    pane_tasks: int
    window_tasks: int
    window_inline: bool
    join_tasks: int
    """How many tasks shared the join of one key's rows, see docs/one-key.md; 1 where none was shared."""
    replication: float | None
    """Rows that the tasks of the window stage read, over the rows there are: above 1 where they share a key."""
    pane_utilization: float | None
    """Busy time of the tasks that make partials over what the slots could have given while the pane stage lasted.

    Tasks that only read and route records are not counted. ``None`` if Spark condenses records before: it does not
    report the busy time of its own tasks.
    """
    window_utilization: float | None
    """Busy time of the window stage's tasks over what the slots could have given; the driver counts as one slot."""
    idle_share: float | None
    """The share of all slots' time in the step that no task of either stage used."""
    rho: float | None
    """Utilization of the pane stage as the papers define it, where records are routed: above 1 it is a bottleneck."""
    pane_degree: int | None
    """The limit on pane tasks at a time; ``None``: as many as Spark runs."""
    window_degree: int
    executors: int | None
    """How many executors there were after the step; ``None`` if their number does not change."""
    elastic: ElasticMetrics | None
    """Set with elastic degrees: what they were decided from, and why."""
    splitting_factor: float | None
    """Mean shards per pane of this batch."""
    imbalance: float | None
    """Records of the largest task of the pane stage over the mean."""
    selected_per_pane: float | None
    """Partial rows per pane that the pane stage sends to the window stage."""
    pane_ms: float
    window_ms: float
    sink_ms: float
    commit_ms: float
    total_ms: float
    committed_at: float
    """When the step was committed, in seconds of a monotonic clock."""


@dataclass(frozen=True)
class Metrics:
    """A query so far: the totals since its checkpoint began, and the last steps of this run; printed, some lines."""

    ledger: Ledger
    judged: Judgement
    """Late records that were judged, and those of them that would have changed an answer."""
    windows: int
    """Answers so far; of a live query, emitted rows."""
    steps: int
    last: StepMetrics | None
    recent: tuple[StepMetrics, ...] = field(repr=False, default=())
    failed: int = 0
    """Windows that went to the failed sink because a user's function failed."""

    @property
    def delivered(self) -> int:
        """Records the source has handed over: accepted + late + quarantined + duplicate + held."""
        return self.ledger.delivered

    def __str__(self) -> str:
        return metrics_text(self)

    def as_dict(self) -> dict[str, Any]:
        """All metrics but the recent steps, as plain data for logs and dashboards."""
        return {
            "ledger": self.ledger.to_json(),
            "delivered": self.delivered,
            "judged": asdict(self.judged),
            "windows": self.windows,
            "failed": self.failed,
            "steps": self.steps,
            "last": asdict(self.last) if self.last else None,
        }


class MetricsLog:
    """Keeps the last steps."""

    def __init__(self, keep: int = 2_000) -> None:
        self._steps: deque[StepMetrics] = deque(maxlen=keep)

    def add(self, step: StepMetrics) -> None:
        """Append the metrics of a step."""
        self._steps.append(step)

    def recent(self) -> tuple[StepMetrics, ...]:
        """The last steps, oldest first."""
        return tuple(self._steps)


def step_metrics(
    flow: Flow[TuningState],
    manifest: Manifest,
    stepped: SparkStepped,
    times: StepTimes,
    executors: Executors,
    tuning: TuningReport,
) -> StepMetrics:
    """Collect the metrics of a committed step."""
    windows, progress = stepped.windows, manifest.state.progress
    slack_us = flow.punctuator.policy.slack_us(progress.policy_state)
    return StepMetrics(
        step=manifest.step,
        batch_id=manifest.batch_id,
        kind=manifest.kind,
        records=stepped.panes.ledger.delivered,
        late=stepped.panes.ledger.late,
        harmful=windows.judged.harmful if flow.definition.judges_late else None,
        quarantined=stepped.panes.ledger.quarantined,
        duplicate=stepped.panes.ledger.duplicate,
        held=manifest.state.ledger.held,
        windows=windows.windows,
        revised=windows.revised,
        failed=windows.failures,
        last_windows=windows.last_windows,
        rows_emitted=sum(file.rows for file in windows.answers),
        t_max_us=progress.t_max_us,
        front_us=progress.front_us,
        watermark_us=progress.punctuation_us,
        slack_us=slack_us,
        slack_warning=slack_warning(flow.punctuator.policy, flow.definition.window, slack_us),
        pane_latency_ms=stepped.latencies.pane_ms,
        closing_lag_ms=stepped.latencies.closing_lag_ms,
        window_latency_ms=stepped.latencies.window_ms,
        committed_at=time.perf_counter(),
        executors=executors.count(),
        **_times(times),
        **_tuning(stepped, executors, tuning),
        **_state(manifest),
        **_work(stepped, times, executors.slots()),
    )


def _times(times: StepTimes) -> dict[str, Any]:
    """How long each part took."""
    return {
        "pane_ms": times.panes,
        "window_ms": times.windows,
        "sink_ms": times.sinks,
        "commit_ms": times.commit,
        "total_ms": times.total,
    }


def _tuning(stepped: SparkStepped, executors: Executors, tuning: TuningReport) -> dict[str, Any]:
    """The degrees of the step, and those to come."""
    return {
        "pane_degree": stepped.plan.pane_tasks,
        "window_degree": stepped.plan.window_degree(executors.slots()),
        "elastic": elastic_metrics(tuning),
        "rho": tuning.rho,
    }


def _state(manifest: Manifest) -> dict[str, Any]:
    """How much state there is for later steps."""
    rows = manifest.state.rows
    return {
        "open_panes": sum(part.panes for part in rows.panes),
        "state_rows": sum(part.file.rows for part in rows.to_answer),
        "state_bytes": sum(part.file.bytes for part in rows.to_answer),
        "past_rows": sum(part.file.rows for part in (*rows.sealed, *rows.revisions)),
        "known_ids": sum(part.file.rows for part in rows.ids),
    }


def _work(stepped: SparkStepped, times: StepTimes, slots: int) -> dict[str, Any]:
    """Tasks, utilization and rows of both stages."""
    panes, windows = stepped.panes, stepped.windows
    busy_ms, work_ms = sum(load.busy_us for load in panes.tasks) / 1e3, sum(windows.busy_us) / 1e3
    window_slots = 1 if windows.in_driver else slots
    partial_rows = sum(panes.rows_by_group.values())
    measured = {
        "pane_utilization": _share(busy_ms, slots * times.panes) if panes.tasks else None,
        "idle_share": _share(slots * times.total - busy_ms - work_ms, slots * times.total),
        "splitting_factor": splitting_factor(panes.tasks),
        "imbalance": imbalance(panes.tasks),
    }
    if panes.condensed:  # most was done by tasks of Spark's own
        measured = dict.fromkeys(measured)
    return {
        **measured,
        "partial_rows": partial_rows,
        "condensed": panes.condensed,
        "pane_tasks": len(panes.tasks),
        "window_tasks": len(windows.busy_us),
        "window_inline": windows.in_driver,
        "join_tasks": windows.joiners,
        "replication": None if windows.replication is None else round(windows.replication, 4),
        "window_utilization": _share(work_ms, window_slots * times.windows) if windows.busy_us else None,
        "selected_per_pane": partial_rows / len(panes.records_by_pane) if panes.records_by_pane else None,
    }


def _share(part: float, whole: float) -> float | None:
    return round(min(1.0, max(0.0, part / whole)), 4) if whole > 0 else None
