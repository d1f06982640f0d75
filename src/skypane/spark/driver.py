"""StepDriver: one step from batch to commit - pane job, decision, window job, sinks, manifest.

A step starts from the last manifest and from nothing else; it reads no clock that could change its outcome. So when the
process dies anywhere in it, the same batch gives the same step again.
"""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from skypane.flow.definition import Definition
from skypane.flow.panes.admission import Frontier
from skypane.flow.panes.decision import decide
from skypane.flow.panes.stats import PaneStats, added
from skypane.flow.windows.worker import LAST_WINDOWS
from skypane.lateness.policy import Judgement
from skypane.lateness.punctuator import Punctuator
from skypane.model.errors import CheckpointError
from skypane.model.ledger import Ledger
from skypane.scheduling.batch_plan import BatchOutcome, RoutingState
from skypane.scheduling.ranges import task_ranges
from skypane.spark.jobs.pane_job import PaneJob, read_all, run_pane_job
from skypane.spark.jobs.routing import bounded, routed
from skypane.spark.jobs.window_job import WindowJob, WindowTaskResult, run_window_job
from skypane.spark.metrics import MetricsLog
from skypane.spark.sinks.base import Sink, StepRows
from skypane.spark.stages import PaneStage, Settings, WindowStage, batch_outcome, step_metrics
from skypane.spark.store.checkpoint import Checkpoint, Intent
from skypane.spark.store.failpoints import reach
from skypane.spark.store.manifest import Manifest, StepKind
from skypane.spark.store.past import tidy_past
from skypane.spark.store.writers import ArrowWriter, Written


@dataclass(frozen=True)
class Output:
    """A sink and the schema of the rows it gets."""

    sink: Sink
    schema: pa.Schema


class StepDriver:
    """Runs steps, one after the other."""

    def __init__(
        self,
        spark: SparkSession,
        definition: Definition,
        punctuator: Punctuator,
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
        self._punctuator = punctuator
        self._checkpoint = checkpoint
        self._results = results
        self._late = late
        self._quarantine = quarantine
        self._settings = settings
        self._planner = settings.planner

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
        self._step("batch", batch_id, lambda scratch: self._pane_stage(df, batch_id, scratch))

    def finish(self, kind: StepKind) -> None:
        """Close and emit all open windows, because the stream has ended or is idle."""
        if not self.has_open_windows():
            return
        # No batch of the source will repeat this step, so it has to be remembered before it shows any effect.
        intent = Intent(kind, time.time_ns() // 1_000)
        self._checkpoint.log_intent(self.manifest.step + 1, intent)
        reach("intent.logged")
        self._carry_out(intent)

    def resume(self) -> None:
        """Repeat a step that the clock decided before a crash."""
        intent = self._checkpoint.pending_intent(self.manifest)
        if intent is not None:
            self._carry_out(intent)

    def _carry_out(self, intent: Intent) -> None:
        progress = self.manifest.progress.finish(self._definition.window)
        self._step(intent.kind, self.manifest.batch_id, lambda _: PaneStage(progress, Ledger(), intent.now_us))

    def has_open_windows(self) -> bool:
        """Whether some window has records but no answer yet."""
        progress = self.manifest.progress
        return progress.finish(self._definition.window) != progress

    def _step(self, kind: StepKind, batch_id: int, pane_stage: Callable[[Path], PaneStage]) -> None:
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
            self._publish(step, panes, windows)
            clock.append(time.perf_counter())
            pane_clock, latencies = before.clock.advance(
                self._definition.window,
                panes.records_by_pane,
                panes.now_us,
                before.progress.punctuation_us,
                panes.progress.punctuation_us,
            )
            outcome = batch_outcome(panes, self._definition.window, clock, self._settings.slots)
            routing = self._next_routing(panes, outcome)
            manifest = Manifest(
                step=step,
                batch_id=batch_id,
                kind=kind,
                progress=panes.progress,
                ledger=before.ledger + panes.ledger,
                windows=before.windows + windows.windows,
                state=windows.state,
                past=windows.past,
                judged=windows.judged,
                judged_so_far=before.judged_so_far + windows.judged,
                clock=pane_clock,
                routing=routing,
            )
            self._checkpoint.commit(manifest)
            self.manifest = manifest
            self._checkpoint.clean(manifest, scratch)
            reach("step.cleaned")
            clock.append(time.perf_counter())
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        self.log.add(
            step_metrics(
                manifest,
                panes,
                windows,
                latencies,
                clock,
                self._settings,
                slack_us=self._punctuator.policy.slack_us(manifest.progress.policy_state),
                judged=self._definition.judges_late,
                rho=None if self._planner is None else self._planner.rho(before.routing, outcome),
            )
        )

    def _next_routing(self, panes: PaneStage, outcome: BatchOutcome) -> RoutingState | None:
        """What the strategy has learned, to be committed with the step: a repeated batch gets the same plan again."""
        planner, before = self._planner, self.manifest.routing
        if planner is None:
            return None
        if panes.plan is not None:
            return planner.learn(before, panes.plan, outcome)
        return None if before is None else planner.close(before, outcome.first_open_pane)

    def _pane_stage(self, df: DataFrame, batch_id: int, scratch: Path) -> PaneStage:
        """Run the pane job and decide what its statistics mean."""
        before, guard = self.manifest.progress, self._punctuator.guard
        quarantine_writer = self._quarantine.sink.writer(scratch) if self._quarantine else None
        frontier = Frontier(before.for_workers(), guard)
        job = PaneJob(self._definition, frontier, str(scratch), self._keeps_late, quarantine_writer)
        plan = None
        if self._planner is not None:
            plan = self._planner.plan(self.manifest.routing)
            df = routed(df, self._definition, plan)
        else:
            df = bounded(df, self._settings.pane_degree)
        tasks = run_pane_job(job, df)
        stats = PaneStats.merge([task.stats for task in tasks], guard)
        suspects = read_all([task.suspects for task in tasks])
        now_us = self._checkpoint.batch_time_us(batch_id)
        decision = decide(self._definition, self._punctuator, before, stats, suspects, self.manifest.judged, now_us)
        partials = [task.partials for task in tasks]
        if decision.partials is not None:
            partials.append(ArrowWriter(str(scratch)).write([decision.partials]))
        quarantined = [task.quarantined for task in tasks]
        if decision.quarantined is not None and quarantine_writer is not None:
            quarantined.append(quarantine_writer.write([decision.quarantined]))
        return PaneStage(
            decision.progress,
            decision.ledger,
            now_us,
            _present(partials),
            _present([task.late for task in tasks]),
            _present(quarantined),
            added([stats.partial_rows_by_group, decision.partial_rows_by_group]),
            decision.records_by_pane,
            [task.load for task in tasks],
            plan,
        )

    @property
    def _keeps_late(self) -> bool:
        """Late records are looked at where someone wants them, or wants to know what they would have changed."""
        return self._late is not None or self._definition.judges_late

    def _window_stage(self, step: int, panes: PaneStage, scratch: Path) -> WindowStage:
        """Run the window job where it is cheapest, or not at all if it would change nothing."""
        before, after_us = self.manifest.progress, panes.progress.punctuation_us
        idle = not self.manifest.state or not self._closes_windows(before.punctuation_us, after_us)
        if not panes.partials and not panes.late and idle:
            return WindowStage(self.manifest.state, self.manifest.past)
        rows = added([panes.rows_by_group, *(part.rows_by_group for part in self.manifest.state)])
        late_rows = sum(file.rows for file in panes.late)
        inline = sum(rows.values()) + late_rows <= self._settings.inline_rows
        ranges = task_ranges(rows, self._settings.degree, self._settings.window_scheduling)
        job = WindowJob(
            definition=self._definition,
            step=step,
            before=before.for_workers(),
            after_us=after_us,
            ranges=ranges,
            state=self.manifest.state,
            past=self.manifest.past,
            partials=panes.partials,
            late_records=panes.late,
            state_folder=str(self._checkpoint.state),
            answers=self._results.sink.writer(scratch),
            answer_schema=self._results.schema,
            late=self._late.sink.writer(scratch) if self._late else None,
            threads=self._threads(len(ranges), inline=inline),
        )
        results = run_window_job(job, self._spark, inline=inline)
        past = [*self.manifest.past, *(part for result in results for part in result.past)]
        return WindowStage(
            state=tuple(part for result in results for part in result.state),
            past=tidy_past(self._checkpoint.state, step, self._definition, past, after_us),
            answers=_present([result.answers for result in results]),
            late=_present([result.late for result in results]),
            judged=sum((result.judged for result in results), Judgement()),
            windows=sum(result.windows for result in results),
            revised=sum(result.revised for result in results),
            last_windows=_newest_windows(results),
            tasks=len(results),
            work_us=sum(result.work_us for result in results),
            inline=inline,
        )

    def _threads(self, tasks: int, *, inline: bool) -> int:
        """Slots that would be idle are used by threads: with one key there is only one task, however many cores.

        Not on a cluster, where the cores of a worker may belong to others.
        """
        embedded = str(self._spark.sparkContext.master).startswith("local")
        return max(1, min(self._settings.slots // tasks, os.cpu_count() or 1)) if embedded or inline else 1

    def _closes_windows(self, before_us: int | None, after_us: int | None) -> bool:
        window = self._definition.window
        return after_us is not None and (
            before_us is None or window.closed_before(after_us) > window.closed_before(before_us)
        )

    def _publish(self, step: int, panes: PaneStage, windows: WindowStage) -> None:
        self._results.sink.publish(step, StepRows(self._spark, self._results.schema, windows.answers))
        reach("results.published")
        if self._late:
            self._late.sink.publish(step, StepRows(self._spark, self._late.schema, windows.late))
            reach("late.published")
        if self._quarantine:
            self._quarantine.sink.publish(step, StepRows(self._spark, self._quarantine.schema, panes.quarantined))
            reach("quarantine.published")


def _newest_windows(results: Sequence[WindowTaskResult]) -> list[tuple[int, int]]:
    """End and rows of the newest windows, over all tasks."""
    rows_by_end: Counter[int] = Counter()
    for result in results:
        rows_by_end.update(dict(result.last_windows))
    return sorted(rows_by_end.items())[-LAST_WINDOWS:]


def _present(files: Sequence[Written | None]) -> list[Written]:
    return [file for file in files if file is not None]
