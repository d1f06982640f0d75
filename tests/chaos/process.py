"""A process that runs a query without Spark: the real step, checkpoint, jobs and sinks, on whatever disk there is.

Spark's part is played by a log of batches: a batch is logged, then taken, then marked as done, and one that was logged
and not marked is taken again after a crash. Its files are durable, as they are Spark's own concern.
"""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa

import skypane as sp
from skypane.api.options.run_options import RunOptions
from skypane.flow.definition import Definition
from skypane.flow.plan import EngineFacts, StagePlan
from skypane.flow.program import Program
from skypane.flow.reports import PaneReport
from skypane.flow.step import Flow
from skypane.local.preparation import prepared
from skypane.model.columns import DISTINCT, ID
from skypane.model.ledger import Ledger
from skypane.spark.claims import claim_sinks
from skypane.spark.driver import StepDriver
from skypane.spark.executors.base import GivenSlots
from skypane.spark.fingerprint import fingerprint
from skypane.spark.jobs.pane_job import PaneJob
from skypane.spark.jobs.sending import Sending
from skypane.spark.options import LaunchOptions
from skypane.spark.outputs import Outputs, outputs_of
from skypane.spark.ports import SparkStages
from skypane.spark.sinks.base import Continuation
from skypane.spark.store import files, state_files
from skypane.spark.store.checkpoint import Checkpoint
from skypane.spark.store.disk import using
from skypane.spark.store.manifest import Manifest
from skypane.spark.store.writers import Written
from skypane.spark.transfer import Transfer
from tests.chaos.memory_disk import MemoryDisk
from tests.support.configurations import Configuration
from tests.support.random_plans import RandomStepTuner

NO_SPARK = cast("Any", None)
_REAL_NAMES = uuid
OnStep = Callable[[Manifest], bool]


@dataclass(frozen=True)
class Stages(SparkStages):
    """The stages as Spark runs them, with every task in this process."""

    tasks: tuple[pa.Table, ...] = ()
    rng: random.Random = field(default_factory=random.Random)

    def _run_panes(self, job: PaneJob, plan: StagePlan) -> PaneReport[Written]:
        # Any record may be anywhere, also when the batch comes again: that must change nothing.
        routing = plan.routing
        count = routing.degree if routing is not None else self.rng.choice([1, 1, plan.pane_tasks or 2])
        rows = self.tasks[0]
        where = [self.rng.randrange(count) for _ in range(rows.num_rows)]
        if self.definition.distinct is not None:
            # But for records with one id, which must meet, and in order.
            rows = rows.sort_by([(name, "ascending") for name in (DISTINCT, self.definition.time, ID)])
            found = zip(where, rows.column(DISTINCT).to_pylist(), strict=True)
            salt = self.rng.random()
            where = [w if own is None else random.Random(f"{salt} {own}").randrange(count) for w, own in found]
        if count == 1:
            return PaneReport.merge([job.run(iter(rows.to_batches()))], job.frontier.guard)
        tasks = [rows.filter(pa.array([w == task for w in where], pa.bool_())) for task in range(count)]
        return PaneReport.merge([job.run(iter(task.to_batches())) for task in tasks], job.frontier.guard)

    def _run_tasks(self, tasks: int, run: Callable[[int], str]) -> list[str]:
        return [run(task) for task in range(tasks)]


@contextmanager
def on_disk(disk: MemoryDisk) -> Iterator[None]:
    """Everything that is stored is on this disk, under names that the disk's seed decides: a run can be repeated."""
    names = SimpleNamespace(uuid4=lambda: SimpleNamespace(hex=f"{disk.rng.getrandbits(128):032x}"))
    cast("Any", files).uuid = names
    try:
        with using(disk):
            yield
    finally:
        cast("Any", files).uuid = _REAL_NAMES


class Driver(StepDriver):
    """The real one; its batches are tables."""

    rng = random.Random(0)
    random_plans = False
    """Whether a tuner draws any legal plan for each step, also for one that is repeated."""

    def _stages(self, number: int, scratch: Path, watch: Any, df: Any) -> SparkStages:
        stages = super()._stages(number, scratch, watch, None)
        tasks = () if df is None else (df,)
        return Stages(**{**vars(stages), "tasks": tasks, "rng": self.rng})


@dataclass(frozen=True)
class RandomSlots(GivenSlots):
    """Executors that come and go."""

    given: int = 2
    rng: random.Random = field(default_factory=random.Random)

    def ready(self) -> int | None:
        return self.rng.choice([None, 1, 2, 5])


@dataclass(frozen=True)
class Work:
    """A query, its records in batches, and after which batch it finds the stream idle."""

    configuration: Configuration
    batches: Sequence[pa.Table]
    idle_after: int | None = None
    root: Path = Path("/nowhere")

    @cached_property
    def plan(self) -> tuple[Definition, LaunchOptions]:
        sinks: dict[str, Any] = dict.fromkeys(self.configuration.outputs, sp.ConsoleSink())
        run = RunOptions(sp.ConsoleSink(), **sinks)
        return self.configuration.build(NO_SPARK).plan(run, slots=2)

    @cached_property
    def prepared(self) -> list[pa.Table]:
        """The batches with the columns that Spark computes."""
        definition = self.plan[0]
        return [prepared(definition, batch) for batch in self.batches]

    @cached_property
    def planned_outputs(self) -> Outputs:
        definition, options = self.plan
        return outputs_of(Program.of(definition), options, self.batches[0].schema, self.prepared[0].schema)

    @cached_property
    def fingerprint(self) -> Mapping[str, Any]:
        """What the checkpoint remembers of the query."""
        return fingerprint(self.plan[0], self.batches[0].schema)

    def run(self, disk: MemoryDisk, is_enough: OnStep = lambda manifest: False) -> Ledger:
        """One process, from its start to the end of the stream; raises whatever ends it before.

        Before each batch, and before the flush, ``is_enough`` may end it.
        """
        # What a process remembers is lost with it.
        state_files._cache.clear()
        checkpoint = Checkpoint(self.root / "checkpoint")
        try:
            driver = self._open(checkpoint)
            driver.resume()
            self._take_all(driver, disk, checkpoint.spark, is_enough)
            return driver.manifest.state.ledger
        finally:
            checkpoint.close()

    def _open(self, checkpoint: Checkpoint) -> Driver:
        definition, options = self.plan
        tuner = options.parallel.tuner(definition, slots=2, embedded=True, max_degree=8)
        if Driver.random_plans:
            tuner = RandomStepTuner(rng=Driver.rng)
        flow = Flow.of(definition, options.punctuator, tuner)
        manifest = checkpoint.open(self.fingerprint, flow.start())
        outputs = Outputs(**{o.name: replace(o, sink=sp.ParquetSink(self.root / o.name)) for o in self.planned_outputs})
        continuation = Continuation(checkpoint.query_id, manifest.step, definition.keys, checkpoint="checkpoint")
        claim_sinks(NO_SPARK, outputs, checkpoint, continuation)
        driver = Driver(
            spark=NO_SPARK,
            flow=flow,
            tuner=tuner,
            checkpoint=checkpoint,
            manifest=manifest,
            outputs=outputs,
            transfer=Transfer(Sending(), None),
            executors=RandomSlots(rng=Driver.rng),
            engine=EngineFacts(),
        )
        # A source that is behind now and then: degrees that follow it go up and down.
        driver.backlog_us = lambda: driver.rng.choice([None, 0.0, 1e7])
        driver.scale()
        return driver

    def _take_all(self, driver: Driver, disk: MemoryDisk, spark: Path, is_enough: OnStep) -> None:
        done = sum(name.startswith(f"{spark}/commits/") for name in disk.names_now)
        for batch in range(done, len(self.batches)):
            if is_enough(driver.manifest):
                return
            log = spark / "offsets" / str(batch)
            if batch - 1 == self.idle_after == driver.manifest.batch_id and driver.manifest.kind == "batch":
                driver.finish("idle", "idle")
            if str(log) not in disk.names_now:
                cut_ms = 1_700_000_000_000 + batch * 1_000
                disk.put(log, b"v1\n" + json.dumps({"batchTimestampMs": cut_ms}).encode() + b"\n{}")
            driver.batch(cast("Any", self.prepared[batch]), batch)
            disk.put(spark / "commits" / str(batch), b"v1\n{}")
        if not is_enough(driver.manifest):
            driver.finish("flush", "all")
