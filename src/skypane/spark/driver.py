"""StepDriver: runs the step on Spark, stores what it emits and leaves, publishes it, commits it.

A step starts from the last manifest and from nothing else. Until it is prepared, that is, stored with all of its rows,
nothing of it shows, and after a crash it is computed anew. From then on it is only rolled forward: the sinks get the
stored rows, whatever has changed since.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from skypane.flow.plan import EngineFacts
from skypane.flow.step import Flow, ends_anything, finish, step
from skypane.model.ending import Ending
from skypane.model.errors import CheckpointError
from skypane.spark.executors.base import Executors
from skypane.spark.metrics import MetricsLog, step_metrics
from skypane.spark.outputs import Outputs
from skypane.spark.ports import SparkStages
from skypane.spark.retries import repeated
from skypane.spark.session_copies import SessionCopies
from skypane.spark.stopwatch import Stopwatch
from skypane.spark.store.checkpoint import Checkpoint
from skypane.spark.store.failpoints import reach
from skypane.spark.store.manifest import Manifest, SparkState, SparkStepped, StepKind
from skypane.spark.transfer import Transfer
from skypane.tuning.planner.planner import Planning
from skypane.tuning.tuner import StepTuner, TuningReport, TuningState

_log = logging.getLogger("skypane")


def clock_us() -> int:
    """Now, for steps that the clock decides; those with a batch take the time from Spark's log."""
    return time.time_ns() // 1_000


class StepDriver:
    """Runs steps, one after the other."""

    def __init__(
        self,
        spark: SparkSession,
        flow: Flow[TuningState],
        tuner: StepTuner,
        checkpoint: Checkpoint,
        manifest: Manifest,
        outputs: Outputs,
        transfer: Transfer,
        executors: Executors,
        engine: EngineFacts,
    ) -> None:
        self.manifest = manifest
        self.backlog_us: Callable[[], float | None] = lambda: None
        """How long what waits at the source would take; set by the run, which knows Spark's query."""
        self.log = MetricsLog()
        self._spark = spark
        self._flow = flow
        self._tuner = tuner
        self._checkpoint = checkpoint
        self._outputs = outputs
        self._transfer = transfer
        self.executors = executors
        self._copies = SessionCopies()
        self._warned = False
        self._facts = engine
        """What stays the same from step to step."""
        self._began_us = clock_us() if self._is_elastic else 0
        self._last_cut_us: int | None = None
        """When the last batch of this run was cut."""
        self._sinks_us = 0
        """How long the last step of this run was busy outside its stages."""

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
        self.scale()
        now_us = self._checkpoint.batch_time_us(batch_id)
        self._take("batch", batch_id, df, lambda stages: step(*self._inputs(stages), now_us))
        self._last_cut_us = now_us

    def finish(self, kind: StepKind, ending: Ending) -> None:
        """Close and emit what has ended by the clock, or everything, because nothing more comes for now."""
        now_us = clock_us()
        stages = self._stages(self.manifest.step + 1, self._checkpoint.folder, Stopwatch(), None)
        if ends_anything(*self._inputs(stages), ending, now_us):
            self._take(kind, self.manifest.batch_id, None, lambda stages: finish(*self._inputs(stages), ending, now_us))

    def planning(self) -> Planning | None:
        """The planner and what it knows; ``None`` where options say how to share the work."""
        return self._tuner.planning(self.manifest.state.tuning)

    def resume(self) -> None:
        """Publish and commit a step that was prepared before a crash."""
        pending = self._checkpoint.pending
        if pending is not None:
            self._outputs.publish_pending(self._spark, pending)
            self._commit(pending)

    def scale(self, *, idle: bool = False) -> None:
        """Have the executors that the next step needs; the fewest if no record has come for long."""
        slots = self._tuner.target_slots(self.manifest.state.tuning, idle=idle)
        if slots is not None:
            self.executors.scale_to(slots)

    @property
    def _is_elastic(self) -> bool:
        return self._tuner.degrees is not None

    def _engine(self) -> EngineFacts:
        """Measured before the step, once."""
        facts = replace(self._facts, slots=self.executors.slots(), elsewhere_us=self._sinks_us)
        if not self._is_elastic:
            return facts
        # Also after a batch that is repeated: it was cut before the crash, so the next comes after the time between.
        first = self._last_cut_us is None or self._last_cut_us < self._began_us
        return replace(facts, ready=self.executors.ready(), backlog_us=self.backlog_us(), first=first)

    def _inputs(self, stages: SparkStages) -> tuple[Flow[TuningState], SparkState, SparkStages]:
        return self._flow, self.manifest.state, stages

    def _take(
        self, kind: StepKind, batch_id: int, df: DataFrame | None, run: Callable[[SparkStages], SparkStepped]
    ) -> None:
        """Compute the step, prepare it, publish it, commit it."""
        number, before = self.manifest.step + 1, self.manifest.state.tuning
        scratch = self._checkpoint.scratch(number)
        try:
            reach("step.begin")
            stepped, watch = repeated(lambda: self._compute(number, scratch, df, run), f"Step {number}")
            reach("windows.done")
            outputs = self._outputs.rows_of(stepped, scratch, self.manifest)
        except BaseException:
            self._checkpoint.discard(scratch)
            raise
        manifest = Manifest(number, batch_id, kind, stepped.state, outputs)
        self._checkpoint.prepare(manifest)
        watch.lap("commit")
        self._outputs.publish(self._spark, manifest)
        watch.lap("sinks")
        self._sinks_us = watch.us("sinks")
        self._commit(manifest)
        watch.lap("commit")
        metrics = step_metrics(
            self._flow, manifest, stepped, watch.times(), self.executors, self._tuning_report(before, stepped)
        )
        self.log.add(metrics)
        self._warn(metrics.slack_warning)

    def _commit(self, manifest: Manifest) -> None:
        self._checkpoint.commit(manifest)
        self.manifest = manifest
        self.scale()
        self._checkpoint.clean()
        reach("step.cleaned")

    def _compute(
        self, number: int, scratch: Path, df: DataFrame | None, run: Callable[[SparkStages], SparkStepped]
    ) -> tuple[SparkStepped, Stopwatch]:
        """One attempt, on a watch of its own: nothing that it writes is looked at before it has succeeded."""
        watch = Stopwatch()
        return run(self._stages(number, scratch, watch, df)), watch

    def _tuning_report(self, before: TuningState, stepped: SparkStepped) -> TuningReport:
        if stepped.seen is None:
            return self._tuner.status(stepped.state.tuning)
        return self._tuner.report(before, stepped.state.tuning, stepped.plan, stepped.seen)

    def _warn(self, warning: str | None) -> None:
        """Once: the metrics have it as long as it is true."""
        if warning is not None and not self._warned:
            _log.warning("%s", warning)
            self._warned = True

    def _stages(self, number: int, scratch: Path, watch: Stopwatch, df: DataFrame | None) -> SparkStages:
        return SparkStages(
            spark=self._spark,
            program=self._flow.program,
            engine=self._engine(),
            transfer=self._transfer,
            outputs=self._outputs,
            step=number,
            scratch=scratch,
            state_folder=self._checkpoint.state,
            watch=watch,
            df=df,
            copies=self._copies,
        )
