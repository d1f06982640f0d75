"""StepDriver: one step from batch to commit - pane job, decision, window job, sinks, manifest.

A step starts from the last manifest and from nothing else; it reads no clock that could change its outcome. So when the
process dies anywhere in it, the same batch gives the same step again.
"""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.policy import Lateness
from skypane.lateness.progress import Progress
from skypane.model.errors import CheckpointError
from skypane.model.ledger import Ledger
from skypane.operators.admission import Frontier
from skypane.operators.decision import decide
from skypane.operators.definition import Definition
from skypane.operators.pane_stats import PaneStats
from skypane.operators.window_worker import LAST_WINDOWS
from skypane.scheduling.ranges import balanced_ranges
from skypane.spark.checkpoint import Checkpoint
from skypane.spark.failpoints import reach
from skypane.spark.manifest import Manifest, StatePart, StepKind
from skypane.spark.metrics import MetricsLog, StepMetrics
from skypane.spark.pane_job import PaneJob, read_all, run_pane_job
from skypane.spark.sinks.base import Sink, StepRows
from skypane.spark.window_job import WindowJob, WindowTaskResult, run_window_job
from skypane.spark.writers import ArrowWriter, Written


@dataclass(frozen=True)
class Output:
    """A sink and the schema of the rows it gets."""

    sink: Sink
    schema: pa.Schema


@dataclass(frozen=True)
class Settings:
    """How a query is run; none of it changes the answers."""

    degree: int
    """The most window-stage tasks."""
    inline_rows: int
    """A window stage with no more rows than this runs in the driver: a Spark job would cost more than it saves."""


@dataclass(frozen=True)
class _PaneStage:
    """What the pane stage and the decision about it hand to the rest of the step."""

    progress: Progress
    ledger: Ledger
    partials: Sequence[Written]
    late: Sequence[Written]
    quarantined: Sequence[Written]
    rows_by_group: dict[int, int]
    tasks: int


@dataclass(frozen=True)
class _WindowStage:
    """What the window stage leaves: the new state, and the answers in files."""

    state: tuple[StatePart, ...]
    answers: Sequence[Written] = ()
    windows: int = 0
    last_windows: Sequence[tuple[int, int]] = ()
    tasks: int = 0
    inline: bool = True


class StepDriver:
    """Runs steps, one after the other."""

    def __init__(
        self,
        spark: SparkSession,
        definition: Definition,
        policy: Lateness,
        guard: FutureGuard,
        checkpoint: Checkpoint,
        manifest: Manifest,
        results: Output,
        late: Output | None,
        quarantine: Output | None,
        settings: Settings,
    ) -> None:
        self.manifest = manifest
        self.log = MetricsLog()
        self._spark = spark
        self._definition = definition
        self._policy = policy
        self._guard = guard
        self._checkpoint = checkpoint
        self._results = results
        self._late = late
        self._quarantine = quarantine
        self._settings = settings

    def batch(self, df: DataFrame, batch_id: int) -> None:
        """A batch of the source; one that is in the manifest already is passed over."""
        if batch_id <= self.manifest.batch_id:
            return
        if batch_id != self.manifest.batch_id + 1:
            raise CheckpointError(
                f"Spark continues with batch {batch_id}, but {self._checkpoint.folder} knows batches up to "
                f"{self.manifest.batch_id} only: its manifests and Spark's own files do not belong together. "
                "Restore both from one backup, or start over with a new checkpoint folder."
            )
        self._step("batch", batch_id, lambda scratch: self._pane_stage(df, scratch))

    def finish(self, kind: StepKind, *, resumed: bool = False) -> None:
        """Close and emit all open windows, because the stream has ended or is idle."""
        progress = self.manifest.progress.finish(self._definition.window)
        if progress == self.manifest.progress and not resumed:
            return
        if not resumed:
            # No batch of the source will repeat this step, so it has to be remembered before it shows any effect.
            self._checkpoint.log_intent(self.manifest.step + 1, kind)
            reach("intent.logged")
        self._step(kind, self.manifest.batch_id, lambda _: _PaneStage(progress, Ledger(), (), (), (), {}, 0))

    def resume(self) -> None:
        """Repeat a step that the clock decided before a crash."""
        kind = self._checkpoint.pending_intent(self.manifest)
        if kind is not None:
            self.finish(kind, resumed=True)

    def has_open_windows(self) -> bool:
        """Whether some window has records but no answer yet."""
        progress = self.manifest.progress
        return progress.finish(self._definition.window) != progress

    def _step(self, kind: StepKind, batch_id: int, pane_stage: Callable[[Path], _PaneStage]) -> None:
        clock = [time.perf_counter()]
        before = self.manifest
        step = before.step + 1
        scratch = self._checkpoint.scratch(step)
        try:
            reach("step.begin")
            panes = pane_stage(scratch)
            reach("panes.done")
            clock.append(time.perf_counter())
            windows = self._window_stage(step, panes, scratch)
            reach("windows.done")
            clock.append(time.perf_counter())
            self._publish(step, panes, windows.answers)
            clock.append(time.perf_counter())
            manifest = Manifest(
                step=step,
                batch_id=batch_id,
                kind=kind,
                progress=panes.progress,
                ledger=before.ledger + panes.ledger,
                windows=before.windows + windows.windows,
                state=windows.state,
            )
            self._checkpoint.commit(manifest)
            self.manifest = manifest
            self._checkpoint.clean(manifest, scratch)
            reach("step.cleaned")
            clock.append(time.perf_counter())
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        self.log.add(self._metrics(manifest, panes, windows, clock))

    def _pane_stage(self, df: DataFrame, scratch: Path) -> _PaneStage:
        """Run the pane job and decide what its statistics mean."""
        frontier = Frontier(self.manifest.progress, self._guard)
        late_writer = self._late.sink.writer(scratch) if self._late else None
        quarantine_writer = self._quarantine.sink.writer(scratch) if self._quarantine else None
        job = PaneJob(self._definition, frontier, str(scratch), late_writer, quarantine_writer)
        tasks = run_pane_job(job, df)
        stats = PaneStats.merge([task.stats for task in tasks], self._guard)
        decision = decide(self._definition, self._policy, frontier, stats, read_all([task.suspects for task in tasks]))
        partials = [task.partials for task in tasks]
        rows_by_group = dict(stats.partial_rows_by_group)
        if decision.partials is not None:
            partials.append(ArrowWriter(str(scratch)).write([decision.partials]))
            for group, rows in decision.partial_rows_by_group.items():
                rows_by_group[group] = rows_by_group.get(group, 0) + rows
        quarantined = [task.quarantined for task in tasks]
        if decision.quarantined is not None and quarantine_writer is not None:
            quarantined.append(quarantine_writer.write([decision.quarantined]))
        return _PaneStage(
            decision.progress,
            decision.ledger,
            _present(partials),
            _present([task.late for task in tasks]),
            _present(quarantined),
            rows_by_group,
            len(tasks),
        )

    def _window_stage(self, step: int, panes: _PaneStage, scratch: Path) -> _WindowStage:
        """Run the window job where it is cheapest, or not at all if it would change nothing."""
        before, after = self.manifest.progress.punctuation_us, panes.progress.punctuation_us
        if not panes.partials and (not self.manifest.state or not self._closes_windows(before, after)):
            return _WindowStage(self.manifest.state)
        rows = dict(panes.rows_by_group)
        for part in self.manifest.state:
            for group, count in part.rows_by_group.items():
                rows[group] = rows.get(group, 0) + count
        job = WindowJob(
            definition=self._definition,
            step=step,
            before_us=before,
            after_us=after,
            ranges=balanced_ranges(rows, self._settings.degree),
            state=self.manifest.state,
            partials=panes.partials,
            state_folder=str(self._checkpoint.state),
            answers=self._results.sink.writer(scratch),
            answer_schema=self._results.schema,
        )
        inline = sum(rows.values()) <= self._settings.inline_rows
        results = run_window_job(job, self._spark, inline=inline)
        return _WindowStage(
            state=tuple(result.state for result in results if result.state is not None),
            answers=_present([result.answers for result in results]),
            windows=sum(result.windows for result in results),
            last_windows=_newest_windows(results),
            tasks=len(results),
            inline=inline,
        )

    def _closes_windows(self, before_us: int | None, after_us: int | None) -> bool:
        window = self._definition.window
        return after_us is not None and (
            before_us is None or window.closed_before(after_us) > window.closed_before(before_us)
        )

    def _publish(self, step: int, panes: _PaneStage, answers: Sequence[Written]) -> None:
        self._results.sink.publish(step, StepRows(self._spark, self._results.schema, answers))
        reach("results.published")
        if self._late:
            self._late.sink.publish(step, StepRows(self._spark, self._late.schema, panes.late))
            reach("late.published")
        if self._quarantine:
            self._quarantine.sink.publish(step, StepRows(self._spark, self._quarantine.schema, panes.quarantined))
            reach("quarantine.published")

    def _metrics(
        self, manifest: Manifest, panes: _PaneStage, windows: _WindowStage, clock: Sequence[float]
    ) -> StepMetrics:
        pane_ms, window_ms, sink_ms, commit_ms = (np.diff(clock) * 1e3).round(2).tolist()
        return StepMetrics(
            step=manifest.step,
            batch_id=manifest.batch_id,
            kind=manifest.kind,
            records=panes.ledger.delivered,
            late=panes.ledger.late,
            quarantined=panes.ledger.quarantined,
            windows=windows.windows,
            last_windows=tuple(windows.last_windows),
            rows_emitted=sum(file.rows for file in windows.answers),
            open_panes=sum(part.panes for part in manifest.state),
            state_rows=sum(part.file.rows for part in manifest.state),
            state_bytes=sum(part.file.bytes for part in manifest.state),
            partial_rows=sum(file.rows for file in panes.partials),
            t_max_us=manifest.progress.t_max_us,
            punctuation_us=manifest.progress.punctuation_us,
            slack_us=self._policy.slack_us(manifest.progress.policy_state),
            pane_tasks=panes.tasks,
            window_tasks=windows.tasks,
            window_inline=windows.inline,
            pane_ms=pane_ms,
            window_ms=window_ms,
            sink_ms=sink_ms,
            commit_ms=commit_ms,
            total_ms=round((clock[-1] - clock[0]) * 1e3, 2),
            committed_at=clock[-1],
        )


def _newest_windows(results: Sequence[WindowTaskResult]) -> list[tuple[int, int]]:
    """End and rows of the newest windows, over all tasks."""
    rows_by_end: Counter[int] = Counter()
    for result in results:
        rows_by_end.update(dict(result.last_windows))
    return sorted(rows_by_end.items())[-LAST_WINDOWS:]


def _present(files: Sequence[Written | None]) -> list[Written]:
    return [file for file in files if file is not None]
