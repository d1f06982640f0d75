"""The pane job: one Spark stage over the batch; partials stay in files, a summary per task comes back."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame

from skypane.flow.definition import Definition
from skypane.flow.panes.admission import Frontier
from skypane.flow.panes.stats import PaneStats
from skypane.flow.panes.worker import PaneWorker
from skypane.model.columns import GROUP
from skypane.scheduling.batch_plan import TaskLoad
from skypane.spark.schemas import map_in_arrow
from skypane.spark.store.files import map_table
from skypane.spark.store.writers import ArrowWriter, RowWriter, Written

_SUMMARY = "task int, summary string"


@dataclass(frozen=True)
class PaneJob:
    """What every task of the pane stage needs to know; travels to the workers."""

    definition: Definition
    frontier: Frontier
    scratch: str
    keep_late: bool
    """Whether late records go on to the window stage, to be judged."""
    quarantine: RowWriter | None

    def run(self, batches: Iterator[pa.RecordBatch]) -> PaneTaskResult:
        """One task: feed all its records to a worker and leave the outputs in files."""
        started = time.perf_counter_ns()
        worker = PaneWorker(
            self.definition,
            self.frontier,
            keep_late=self.keep_late,
            keep_quarantined=self.quarantine is not None,
        )
        for batch in batches:
            worker.feed(with_group(pa.Table.from_batches([batch])))
        output = worker.finish()
        scratch = ArrowWriter(self.scratch)
        return PaneTaskResult(
            stats=output.stats,
            partials=_write(scratch, [output.partials]),
            suspects=_write(scratch, [output.suspects]),
            late=_write(scratch, [output.late]),
            quarantined=_write(self.quarantine, output.quarantined),
            busy_us=(time.perf_counter_ns() - started) // 1_000,
        )


@dataclass(frozen=True)
class PaneTaskResult:
    """One task's statistics and the files it wrote."""

    stats: PaneStats
    partials: Written | None
    suspects: Written | None
    late: Written | None
    quarantined: Written | None
    busy_us: int = 0
    """How long the task held its slot: also while it waited for its records to be read."""

    @property
    def load(self) -> TaskLoad:
        """What it did, for the strategy that plans the next batch."""
        return TaskLoad(self.busy_us, self.stats.records, self.stats.records_by_pane)

    def to_json(self) -> str:
        """One line of text."""
        files = {name: getattr(self, name) for name in ("partials", "suspects", "late", "quarantined")}
        return json.dumps({"stats": self.stats.to_json(), "busy_us": self.busy_us, **files})

    @classmethod
    def from_json(cls, text: str) -> PaneTaskResult:
        """The inverse of :meth:`to_json`."""
        body = json.loads(text)
        files = {
            name: Written(*body[name]) if body[name] else None
            for name in ("partials", "suspects", "late", "quarantined")
        }
        return cls(stats=PaneStats.from_json(body["stats"]), busy_us=body["busy_us"], **files)


def run_pane_job(job: PaneJob, df: DataFrame) -> list[PaneTaskResult]:
    """Run the pane stage on Spark; results in the order of the tasks, so that a replay merges in the same order."""

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        summary = job.run(batches).to_json()
        yield pa.RecordBatch.from_pydict({"task": pa.array([context.partitionId()], pa.int32()), "summary": [summary]})

    rows = map_in_arrow(df, task, _SUMMARY).collect()
    return [PaneTaskResult.from_json(row.summary) for row in sorted(rows, key=lambda row: int(row.task))]


def with_group(rows: pa.Table) -> pa.Table:
    """Without a key there is one key group, which Spark is not asked to send along."""
    if GROUP in rows.column_names:
        return rows
    return rows.append_column(GROUP, pa.array(np.zeros(rows.num_rows, dtype=np.int32)))


def read_all(files: Sequence[Written | None]) -> pa.Table | None:
    """The rows of several files together."""
    tables = [map_table(file.path) for file in files if file is not None]
    return pa.concat_tables(tables) if tables else None


def _write(writer: RowWriter | None, tables: Sequence[Any]) -> Written | None:
    return None if writer is None else writer.write([table for table in tables if table is not None])
