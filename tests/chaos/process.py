"""A process that runs a query without Spark: the real step, checkpoint, jobs and sinks, on whatever disk there is.

Spark's part is played by a log of batches: a batch is logged, then taken, then marked as done, and one that was logged
and not marked is taken again after a crash. Its files are durable, as they are Spark's own concern.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import pyarrow as pa

import skypane as sp
from skypane.api.run_options import RunOptions
from skypane.flow.definition import Definition
from skypane.flow.reports import PaneReport
from skypane.flow.step import Flow
from skypane.local.preparation import prepare
from skypane.model.ledger import Ledger
from skypane.scheduling.batch_plan import BatchPlan
from skypane.scheduling.partitioning import WindowShare
from skypane.spark import launch
from skypane.spark.driver import StepDriver
from skypane.spark.executors.base import GivenSlots
from skypane.spark.jobs import window_job
from skypane.spark.jobs.pane_job import PaneJob
from skypane.spark.jobs.sending import Sending
from skypane.spark.options import LaunchOptions
from skypane.spark.outputs import Outputs
from skypane.spark.ports import SparkStages
from skypane.spark.sinks.base import Continuation
from skypane.spark.store.checkpoint import Checkpoint
from skypane.spark.store.writers import Written
from tests.chaos.configurations import Configuration
from tests.chaos.memory_disk import MemoryDisk

NO_SPARK = cast("Any", None)


@dataclass(frozen=True)
class Stages(SparkStages):
    """The stages as Spark runs them, with every task in this process."""

    tasks: tuple[pa.Table, ...] = ()
    rng: random.Random = field(default_factory=random.Random)

    def _run_panes(self, job: PaneJob, plan: BatchPlan | None, degree: int | None) -> PaneReport[Written]:
        # Any record may be anywhere, also when the batch comes again: that must change nothing.
        count = plan.degree if plan is not None else self.rng.choice([1, 1, degree or 2])
        rows = self.tasks[0]
        if count == 1:
            return PaneReport.merge([job.run(iter(rows.to_batches()))], job.frontier.guard)
        where = [self.rng.randrange(count) for _ in range(rows.num_rows)]
        tasks = [rows.filter(pa.array([w == task for w in where], pa.bool_())) for task in range(count)]
        return PaneReport.merge([job.run(iter(task.to_batches())) for task in tasks], job.frontier.guard)

    def _in_driver(self, rows: int, shares: Sequence[WindowShare]) -> bool:
        return True

    def _threads(self, tasks: int, degree: int, *, in_driver: bool) -> int:
        return 1

    @property
    def _embedded(self) -> bool:
        return True

    def _run_tasks(self, tasks: int, run: Callable[[int], str]) -> list[str]:
        return [run(task) for task in range(tasks)]


class Driver(StepDriver):
    """The real one; its batches are tables."""

    rng = random.Random(0)

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
    on_step: Callable[[], object] = lambda: None
    """Called before each batch."""

    @cached_property
    def plan(self) -> tuple[Definition, LaunchOptions]:
        sinks: dict[str, Any] = dict.fromkeys(self.configuration.outputs, sp.ConsoleSink())
        run = RunOptions(sp.ConsoleSink(), emit=self.configuration.emit, **sinks)
        return self.configuration.build(NO_SPARK).plan(run, slots=2)

    @cached_property
    def prepared(self) -> list[pa.Table]:
        """The batches with the columns that Spark computes."""
        definition = self.plan[0]
        with_id = definition.needs_record_id
        return [prepare(definition.query, definition.keys, batch, with_id=with_id) for batch in self.batches]

    @cached_property
    def planned_outputs(self) -> Outputs:
        definition, options = self.plan
        return launch._outputs(definition, options, self.batches[0].schema, self.prepared[0].schema)

    def run(self, disk: MemoryDisk) -> Ledger:
        """One process, from its start to the end of the stream; raises whatever ends it before."""
        # What a process remembers is lost with it.
        window_job._cache.clear()
        checkpoint = Checkpoint(self.root / "checkpoint")
        try:
            driver = self._open(checkpoint)
            driver.resume()
            self._take_all(driver, disk, checkpoint.spark)
            return driver.manifest.state.ledger
        finally:
            checkpoint.close()

    def _open(self, checkpoint: Checkpoint) -> Driver:
        definition, options = self.plan
        records = self.batches[0].schema
        flow = Flow.of(
            definition, options.punctuator, options.settings.degree_policy(most=8), options.settings.splitting
        )
        manifest = checkpoint.open(launch._fingerprint(definition, records), flow.start())
        outputs = Outputs(**{o.name: replace(o, sink=sp.ParquetSink(self.root / o.name)) for o in self.planned_outputs})
        continuation = Continuation(
            checkpoint.query_id, manifest.step, definition.keys, checkpoint="checkpoint", born=checkpoint.born
        )
        launch._open_sinks(NO_SPARK, outputs, checkpoint, continuation)
        slots, all_sent = RandomSlots(rng=Driver.rng), Sending()
        driver = Driver(NO_SPARK, flow, checkpoint, manifest, outputs, options.settings, all_sent, slots)
        # A source that is behind now and then: degrees that follow it go up and down.
        driver.backlog_us = lambda: driver.rng.choice([None, 0.0, 1e7])
        driver.follow()
        return driver

    def _take_all(self, driver: Driver, disk: MemoryDisk, spark: Path) -> None:
        done = sum(name.startswith(f"{spark}/commits/") for name in disk.names_now)
        for batch in range(done, len(self.batches)):
            self.on_step()
            log = spark / "offsets" / str(batch)
            if batch - 1 == self.idle_after == driver.manifest.batch_id and driver.manifest.kind == "batch":
                driver.finish("idle", "idle")
            if str(log) not in disk.names_now:
                cut_ms = 1_700_000_000_000 + batch * 1_000
                disk.put(log, b"v1\n" + json.dumps({"batchTimestampMs": cut_ms}).encode() + b"\n{}")
            driver.batch(cast("Any", self.prepared[batch]), batch)
            disk.put(spark / "commits" / str(batch), b"v1\n{}")
        self.on_step()
        driver.finish("flush", "all")
