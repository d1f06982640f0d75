"""StepDriver: runs the step on Spark, publishes what it emits, commits what it leaves.

A step starts from the last manifest and from nothing else; it reads no clock that could change its outcome. So when the
process dies anywhere in it, the same batch gives the same step again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from skypane.flow.capacity import Capacity
from skypane.flow.step import Flow, ends_anything, finish, step
from skypane.lateness.suspects import Ending
from skypane.model.errors import CheckpointError
from skypane.patterns.planner import Planning
from skypane.spark.executors.base import Executors, GivenSlots
from skypane.spark.jobs.sending import Sending
from skypane.spark.metrics import MetricsLog, SparkStepped, step_metrics
from skypane.spark.outputs import Outputs
from skypane.spark.ports import SparkStages
from skypane.spark.session_copies import SessionCopies
from skypane.spark.settings import Settings
from skypane.spark.stopwatch import Stopwatch
from skypane.spark.store.checkpoint import Checkpoint, Intent
from skypane.spark.store.failpoints import reach
from skypane.spark.store.manifest import Manifest, SparkState, StepKind
from skypane.tables.rows import conform, with_columns_of

_log = logging.getLogger("skypane")


def clock_us() -> int:
    """Now, for steps that the clock decides; those with a batch take the time from Spark's log."""
    return time.time_ns() // 1_000


class StepDriver:
    """Runs steps, one after the other."""

    def __init__(
        self,
        spark: SparkSession,
        flow: Flow,
        checkpoint: Checkpoint,
        manifest: Manifest,
        outputs: Outputs,
        settings: Settings,
        sending: Sending,
        executors: Executors | None = None,
    ) -> None:
        self.manifest = manifest
        self.backlog_us: Callable[[], float | None] = lambda: None
        """How long what waits at the source would take; whoever knows Spark's query tells."""
        self._executors: Executors = executors or GivenSlots(settings.slots)
        self.log = MetricsLog()
        self._spark = spark
        self._flow = flow
        self._checkpoint = checkpoint
        self._outputs = outputs
        self._settings = settings
        self._sending = sending
        self._copies = SessionCopies()
        self._warned = False
        self._began_us = 0 if settings.elastic is None else clock_us()

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
        self.follow()
        now_us = self._checkpoint.batch_time_us(batch_id)
        self._take("batch", batch_id, df, lambda stages: step(*self._inputs(stages), now_us, self._capacity()))

    def finish(self, kind: StepKind, ending: Ending) -> None:
        """Close and emit what has ended by the clock, or everything, because nothing more comes for now."""
        intent = Intent(kind, ending, clock_us())
        stages = self._stages(self.manifest.step + 1, self._checkpoint.folder, Stopwatch(), None)
        if not ends_anything(*self._inputs(stages), ending, intent.now_us):
            return
        # No batch of the source will repeat this step, so it has to be remembered before it shows any effect.
        self._checkpoint.log_intent(self.manifest.step + 1, intent)
        reach("intent.logged")
        self._carry_out(intent)

    def planning(self) -> Planning | None:
        """Who plans the next step, and what is known for it; nobody if somebody has said how to share the work."""
        planner = self._flow.planner
        return None if planner is None else Planning(planner, self.manifest.state.learned)

    def resume(self) -> None:
        """Repeat a step that the clock decided before a crash."""
        intent = self._checkpoint.pending_intent(self.manifest)
        if intent is not None:
            self._carry_out(intent)

    def _carry_out(self, intent: Intent) -> None:
        slots = self._executors.slots()
        self._take(
            intent.kind,
            self.manifest.batch_id,
            None,
            lambda stages: finish(*self._inputs(stages), intent.ending, intent.now_us, slots),
        )

    def follow(self) -> None:
        """Have the executors that the next step's degrees ask for."""
        if self._settings.elastic is not None:
            state = self.manifest.state
            panes, windows = self._flow.degrees.wanted(state.degrees, state.elastic)
            self._executors.follow(max(panes or 1, windows))

    def rest(self) -> None:
        """No record has come for long: the fewest executors will do until one does."""
        if self._settings.elastic is not None:
            self._executors.follow(self._settings.elastic.min_degree)

    def _capacity(self) -> Capacity:
        """Measured before the step, once: what it decides, it decides from what was committed."""
        slots = self._executors.slots()
        if self._settings.elastic is None:
            return Capacity(slots)
        return Capacity(slots, self._executors.ready(), self.backlog_us(), first=self._is_first())

    def _is_first(self) -> bool:
        """Whether nobody was there all the time since the last batch was cut.

        Also after one that is repeated: that was cut before the crash, so the next comes after the time between.
        """
        elastic = self.manifest.state.elastic
        return elastic is None or elastic.cut_us < self._began_us

    def _inputs(self, stages: SparkStages) -> tuple[Flow, SparkState, SparkStages]:
        return self._flow, self.manifest.state, stages

    def _take(
        self, kind: StepKind, batch_id: int, df: DataFrame | None, run: Callable[[SparkStages], SparkStepped]
    ) -> None:
        """Compute the step, publish it, commit it."""
        watch = Stopwatch()
        number = self.manifest.step + 1
        scratch = self._checkpoint.scratch(number)
        try:
            reach("step.begin")
            stepped = run(self._stages(number, scratch, watch, df))
            self._publish(number, stepped, scratch)
            watch.lap("sinks")
            manifest = Manifest(number, batch_id, kind, _with_times(stepped.state, watch))
            self._checkpoint.commit(manifest)
            self.manifest = manifest
            self.follow()
            self._checkpoint.clean(manifest, scratch)
            reach("step.cleaned")
            watch.lap("commit")
        finally:
            self._checkpoint.discard(scratch)
        metrics = step_metrics(self._flow, manifest, stepped, watch.times(), self._executors)
        self.log.add(metrics)
        self._warn(metrics.slack_warning)

    def _warn(self, warning: str | None) -> None:
        """Once: the metrics have it as long as it is true."""
        if warning is not None and not self._warned:
            _log.warning("%s", warning)
            self._warned = True

    def _stages(self, number: int, scratch: Path, watch: Stopwatch, df: DataFrame | None) -> SparkStages:
        return SparkStages(
            self._spark,
            self._flow.definition,
            self._settings,
            self._sending,
            self._outputs,
            number,
            scratch,
            self._checkpoint.state,
            watch,
            df,
            self._copies,
        )

    def _publish(self, number: int, stepped: SparkStepped, scratch: Path) -> None:
        outputs = self._outputs
        outputs.results.publish(self._spark, number, stepped.windows.answers)
        if outputs.late is not None:
            outputs.late.publish(self._spark, number, stepped.windows.late)
        if outputs.failed is not None:
            outputs.failed.publish(self._spark, number, stepped.windows.failed)
        if outputs.quarantine is not None:
            refused = None
            if stepped.refused is not None:
                rows = with_columns_of(stepped.refused, outputs.quarantine.schema)
                refused = outputs.quarantine.sink.writer(scratch).write([conform(rows, outputs.quarantine.schema)])
            files = (*stepped.panes.quarantined, *(() if refused is None else (refused,)))
            outputs.quarantine.publish(self._spark, number, files)


def _with_times(state: SparkState, watch: Stopwatch) -> SparkState:
    """The time outside the stages is known only now; plans and degrees of later batches take it into account."""
    if state.routing is not None:
        state = replace(state, routing=replace(state.routing, elsewhere_us=watch.us("windows", "sinks")))
    if state.elastic is not None:
        state = replace(state, elastic=replace(state.elastic, elsewhere_us=watch.us("sinks")))
    return state
