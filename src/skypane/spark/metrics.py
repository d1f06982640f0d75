"""Metrics: what each step did and how long each part of it took."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import asdict, dataclass, field
from typing import Any

from skypane.flow.step import Flow, Stepped
from skypane.lateness.policy import Judgement, slack_warning
from skypane.model.ledger import Ledger
from skypane.scheduling.batch_plan import imbalance, splitting_factor
from skypane.spark.elastic_metrics import ElasticMetrics, elastic_metrics
from skypane.spark.executors.base import Executors
from skypane.spark.metrics_text import metrics_text
from skypane.spark.stopwatch import StepTimes
from skypane.spark.store.manifest import Manifest, StoredPart
from skypane.spark.store.writers import Written

SparkStepped = Stepped[Written, StoredPart]


@dataclass(frozen=True)
class StepMetrics:
    """One committed step."""

    step: int
    batch_id: int
    kind: str
    records: int
    late: int
    harmful: int | None
    """Late records that would have changed an answer; ``None`` where nobody asks."""
    quarantined: int
    held: int
    """Records whose time is in doubt, after this step: later ones, or the clock, will tell."""
    windows: int
    """How many (key, window) answers there were; of a live query, how many rows were told."""
    revised: int
    """How many (key, window) answers were corrected."""
    failed: int
    """How many windows were set aside, since a function of the user's failed."""
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
    """Rows of sealed panes that are kept for late records."""
    t_max_us: int | None
    front_us: int | None
    """The time that the punctuation stays behind, by the slack."""
    punctuation_us: int | None
    slack_us: int
    slack_warning: str | None
    """Set while answers wait for several windows' length."""
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

    Where records are routed, other tasks read and send them before: these are not counted. ``None`` where Spark adds
    records up before: it does not say what its tasks do.
    """
    window_utilization: float | None
    """The same of the window stage; in the driver it has one slot."""
    idle_share: float | None
    """Of the time of all slots in the whole step: how much no task of either stage used."""
    rho: float | None
    """Utilization of the pane stage as the papers define it, where records are routed: above 1 it is a bottleneck."""
    pane_degree: int | None
    """The most tasks that the pane stage was to have at a time; ``None``: as many as Spark runs."""
    window_degree: int
    executors: int | None
    """How many there were after the step; ``None`` where nobody moves them."""
    elastic: ElasticMetrics | None
    """Where degrees follow the load: what they were decided from, and why."""
    splitting_factor: float | None
    """Mean shards per pane of this batch."""
    imbalance: float | None
    """Records of the largest task of the pane stage over the mean."""
    selected_per_pane: float | None
    """Partial rows per pane: what the pane stage hands on."""
    pane_ms: float
    window_ms: float
    sink_ms: float
    commit_ms: float
    total_ms: float
    committed_at: float
    """Seconds of a clock that only goes forward."""


@dataclass(frozen=True)
class Metrics:
    """A query so far: the totals since its checkpoint began, and the last steps of this run; printed, some lines."""

    ledger: Ledger
    judged: Judgement
    """Late records that were judged, and those of them that would have changed an answer."""
    windows: int
    """Answers so far; of a live query, rows that were told."""
    steps: int
    last: StepMetrics | None
    recent: tuple[StepMetrics, ...] = field(repr=False, default=())
    failed: int = 0
    """Windows that were set aside, since a function of the user's failed."""

    @property
    def delivered(self) -> int:
        """Records the source has handed over: accepted + late + quarantined + held."""
        return self.ledger.delivered

    def __str__(self) -> str:
        return metrics_text(self)

    def as_dict(self) -> dict[str, Any]:
        """For logs and dashboards."""
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
        """One more."""
        self._steps.append(step)

    def recent(self) -> tuple[StepMetrics, ...]:
        """Oldest first."""
        return tuple(self._steps)


def step_metrics(
    flow: Flow, manifest: Manifest, stepped: SparkStepped, times: StepTimes, executors: Executors
) -> StepMetrics:
    """Everything there is to say about a step."""
    windows, progress = stepped.windows, manifest.state.progress
    slack_us = flow.punctuator.policy.slack_us(progress.policy_state)
    return StepMetrics(
        step=manifest.step,
        batch_id=manifest.batch_id,
        kind=manifest.kind,
        records=stepped.ledger.delivered,
        late=stepped.ledger.late,
        harmful=windows.judged.harmful if flow.definition.judges_late else None,
        quarantined=stepped.ledger.quarantined,
        held=manifest.state.ledger.held,
        windows=windows.windows,
        revised=windows.revised,
        failed=windows.failures,
        last_windows=windows.last_windows,
        rows_emitted=sum(file.rows for file in windows.answers),
        t_max_us=progress.t_max_us,
        front_us=progress.front_us,
        punctuation_us=progress.punctuation_us,
        slack_us=slack_us,
        slack_warning=slack_warning(flow.punctuator.policy, flow.definition.window, slack_us),
        pane_latency_ms=stepped.latencies.pane_ms,
        closing_lag_ms=stepped.latencies.closing_lag_ms,
        window_latency_ms=stepped.latencies.window_ms,
        pane_ms=times.panes,
        window_ms=times.windows,
        sink_ms=times.sinks,
        commit_ms=times.commit,
        total_ms=times.total,
        committed_at=time.perf_counter(),
        executors=executors.count(),
        **_degrees(flow, manifest),
        **_kept(manifest),
        **_work(stepped, times, executors.slots()),
    )


def _degrees(flow: Flow, manifest: Manifest) -> dict[str, Any]:
    """Those of the step, and those to come."""
    degrees, learned = manifest.state.degrees, manifest.state.elastic
    wanted = flow.degrees.wanted(degrees, learned)
    return {
        "pane_degree": degrees.panes,
        "window_degree": degrees.windows,
        "elastic": elastic_metrics(wanted, learned),
    }


def _kept(manifest: Manifest) -> dict[str, Any]:
    """How much is kept for later steps."""
    kept = manifest.state.kept
    return {
        "open_panes": sum(part.panes for part in kept.panes),
        "state_rows": sum(part.file.rows for part in kept.to_answer),
        "state_bytes": sum(part.file.bytes for part in kept.to_answer),
        "past_rows": sum(part.file.rows for part in (*kept.sealed, *kept.revisions)),
    }


def _work(stepped: SparkStepped, times: StepTimes, slots: int) -> dict[str, Any]:
    """Who did how much."""
    panes, windows = stepped.panes, stepped.windows
    busy_ms, work_ms = sum(load.busy_us for load in panes.tasks) / 1e3, sum(windows.busy_us) / 1e3
    window_slots = 1 if windows.in_driver else slots
    partial_rows = sum(panes.rows_by_group.values())
    told = {
        "pane_utilization": _share(busy_ms, slots * times.panes) if panes.tasks else None,
        "idle_share": _share(slots * times.total - busy_ms - work_ms, slots * times.total),
        "splitting_factor": splitting_factor(panes.tasks),
        "imbalance": imbalance(panes.tasks),
    }
    if panes.condensed:  # most was done by tasks of Spark's own
        told = dict.fromkeys(told)
    return {
        **told,
        "partial_rows": partial_rows,
        "condensed": panes.condensed,
        "pane_tasks": len(panes.tasks),
        "window_tasks": len(windows.busy_us),
        "window_inline": windows.in_driver,
        "join_tasks": windows.joiners,
        "replication": None if windows.replication is None else round(windows.replication, 4),
        "window_utilization": _share(work_ms, window_slots * times.windows) if windows.busy_us else None,
        "rho": stepped.rho,
        "selected_per_pane": partial_rows / len(panes.records_by_pane) if panes.records_by_pane else None,
    }


def _share(part: float, whole: float) -> float | None:
    return round(min(1.0, max(0.0, part / whole)), 4) if whole > 0 else None
