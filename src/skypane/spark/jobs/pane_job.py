"""The pane job: one Spark stage over the batch; partials stay in files, a report per task comes back."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from skypane.flow.distinct.known_ids import KnownIds
from skypane.flow.panes.admission import Frontier
from skypane.flow.panes.worker import PaneWorker
from skypane.flow.program import Program
from skypane.flow.reports import PaneReport, TaskLoad
from skypane.model.codec import from_text, to_text
from skypane.model.columns import PANE
from skypane.spark.condensing.condensing import Condensing
from skypane.spark.failures import source_failure
from skypane.spark.jobs.sending import Sending
from skypane.spark.schemas import map_in_arrow
from skypane.spark.store.writers import ArrowWriter, RowWriter, Written
from skypane.tables.memory import keep_memory
from skypane.tables.zones import with_arrow_zones

_REPORT = "task int, report string"


@dataclass(frozen=True)
class PaneJob:
    """What every task of the pane stage needs to know; travels to the workers."""

    program: Program
    frontier: Frontier
    sending: Sending
    scratch: str
    keep_late: bool
    """Whether late records go on to the window stage, to be judged."""
    quarantine: RowWriter | None
    duplicates: RowWriter | None = None
    known: KnownIds | None = None
    """The ids that are remembered, where duplicates are found."""
    condensing: Condensing | None = None
    """Who has added up records before they came here, if anybody."""

    def run(self, batches: Iterator[pa.RecordBatch]) -> PaneReport[Written]:
        """One task: feed all its records to a worker and leave the rows in files."""
        keep_memory()
        started = time.perf_counter_ns()
        worker = PaneWorker(
            self.program,
            self.frontier,
            known=self.known,
            keep_late=self.keep_late,
            keep_quarantined=self.quarantine is not None,
            keep_duplicates=self.duplicates is not None,
        )
        for batch in batches:
            self._feed(worker, with_arrow_zones(pa.Table.from_batches([batch])))
        report = worker.finish()
        scratch = ArrowWriter(self.scratch)
        files = report.with_rows(
            partials=written(scratch, report.partials),
            suspects=written(scratch, report.suspects),
            late=written(scratch, report.late),
            quarantined=written(self.quarantine, report.quarantined),
            duplicates=written(self.duplicates, report.duplicates),
            ids=written(scratch, report.ids),
        )
        # How long the task held its slot: also while it waited for its records to be read.
        busy_us = (time.perf_counter_ns() - started) // 1_000
        load = TaskLoad(busy_us, report.delivered, report.records_by_pane)
        return replace(files, tasks=(load,))

    def _feed(self, worker: PaneWorker, rows: pa.Table) -> None:
        if self.condensing is None:
            worker.feed(self.sending.completed(rows))
            return
        worker.feed_condensed(self.condensing.condensed(rows))
        if rows.column(PANE).null_count:
            worker.feed(self.condensing.records(rows))


def run_pane_job(job: PaneJob, df: DataFrame) -> PaneReport[Written]:
    """Run the pane stage on Spark; merged in the order of the tasks, so that a replay merges in the same order."""

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        report = to_text(job.run(batches))
        yield pa.RecordBatch.from_pydict({"task": pa.array([context.partitionId()], pa.int32()), "report": [report]})

    try:
        rows = map_in_arrow(df, task, _REPORT).collect()
    except (PySparkException, Py4JError) as error:
        raise source_failure(error) or error from error
    reports = [from_text(row.report, PaneReport[Written]) for row in sorted(rows, key=lambda row: int(row.task))]
    return PaneReport.merge(reports, job.frontier.guard)


def written(writer: RowWriter | None, tables: Sequence[pa.Table]) -> tuple[Written, ...]:
    """The file that a writer makes of some tables, if any."""
    file = None if writer is None or not tables else writer.write(tables)
    return () if file is None else (file,)
