"""Ports: the two stages of one step as Spark jobs, from files to files."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from skypane.flow.definition import Definition
from skypane.flow.joining import Alone, Joining, Shared
from skypane.flow.panes.admission import Frontier
from skypane.flow.panes.condensed import sure_times
from skypane.flow.processing.choice import processing_of
from skypane.flow.reports import Kept, PaneReport, WindowReport, added
from skypane.flow.step import Move
from skypane.model.panes import range_of_all
from skypane.patterns.lowered import Lowered
from skypane.scheduling.batch_plan import BatchPlan, TaskLoad
from skypane.scheduling.ownership import JoinSharing
from skypane.scheduling.partitioning import Cutting, WindowShare, window_shares
from skypane.scheduling.ranges import ALL_GROUPS
from skypane.spark.jobs.condensing import Condensing
from skypane.spark.jobs.join_job import run_join_job
from skypane.spark.jobs.pane_job import PaneJob, run_pane_job, written
from skypane.spark.jobs.routing import bounded, routed
from skypane.spark.jobs.sending import Sending
from skypane.spark.jobs.tasks import run_tasks
from skypane.spark.jobs.window_job import SparkReport, WindowJob, load_state, run_window_job, store_state
from skypane.spark.outputs import Outputs
from skypane.spark.schemas import arrow_schema
from skypane.spark.session import is_embedded
from skypane.spark.session_copies import SessionCopies
from skypane.spark.settings import Settings
from skypane.spark.stopwatch import Stopwatch
from skypane.spark.store.failpoints import reach
from skypane.spark.store.files import map_table
from skypane.spark.store.manifest import StoredPart
from skypane.spark.store.past import tidy_past
from skypane.spark.store.settled import settled_parts, still_needed
from skypane.spark.store.writers import ArrowWriter, Written
from skypane.tables.rows import conform, present, together, with_columns_of

_THREADED_ROWS: Final = 20_000
"""So many rows take the driver some 4 ms (0.19 us each of 830,000), many times what it takes to start threads."""


@dataclass(frozen=True)
class SparkStages:
    """The ports of one step."""

    spark: SparkSession
    definition: Definition
    settings: Settings
    sending: Sending
    outputs: Outputs
    step: int
    scratch: Path
    """For files of this attempt at the step."""
    state_folder: Path
    watch: Stopwatch
    df: DataFrame | None = None
    """The batch, if there is one."""
    copies: SessionCopies = field(default_factory=SessionCopies)

    def held(self, kept: Kept[StoredPart]) -> pa.Table | None:
        """Read the held records, with columns in the order and with the zone of this session."""
        table = together(load_state(self.state_folder, part.file) for part in kept.held)
        if table is None or self.df is None:
            return table
        schema = self.sending.schema(arrow_schema(self.df))
        return conform(with_columns_of(table, schema), schema)

    def panes(
        self, frontier: Frontier, plan: BatchPlan | None, degree: int | None
    ) -> tuple[PaneReport[Written], pa.Table | None]:
        """Run the pane job over the batch."""
        quarantine, condensing = self.outputs.quarantine, self._condensing(frontier, plan)
        job = PaneJob(
            self.definition,
            frontier,
            self.sending,
            str(self.scratch),
            self.outputs.late is not None or self.definition.judges_late,
            None if quarantine is None else quarantine.sink.writer(self.scratch),
            condensing,
        )
        report = self._run_panes(job, plan, degree)
        suspects = together(map_table(file.path) for file in report.suspects)
        self.watch.lap("panes")
        report = replace(report, took_us=self.watch.us("panes"))
        return report if condensing is None else _as_if_read_by(self._readers(degree), report), suspects

    def _run_panes(self, job: PaneJob, plan: BatchPlan | None, degree: int | None) -> PaneReport[Written]:
        """Where the records are, or where the plan sends them; what Spark can add up comes as sums."""
        assert self.df is not None
        rows = bounded(self.df, degree) if plan is None else routed(self.df, self.definition, plan)
        if job.condensing is not None:
            rows = job.condensing.select(rows, job.frontier, self._readers(degree), self.copies)
        return run_pane_job(job, rows)

    def _readers(self, degree: int | None) -> int:
        """How many tasks read at a time."""
        return min(self.settings.slots, degree or self.settings.slots)

    def _condensing(self, frontier: Frontier, plan: BatchPlan | None) -> Condensing | None:
        """Who adds up records before they are sent, if that is possible and pays; not if tasks must tell."""
        if self.sending.aggregates is None or plan is not None or self.settings.elastic is not None:
            return None
        pays = frontier.density.pays and sure_times(self.definition, frontier) is not None
        return Condensing(self.definition, self.sending) if pays else None

    def windows(self, move: Move[Written], kept: Kept[StoredPart]) -> SparkReport:
        """Run the window job where it is cheapest, or not at all if it would change nothing."""
        reach("panes.done")
        report = WindowReport(kept) if move.changes_nothing(self.definition, kept) else self._run(move, kept)
        report = replace(report, kept=replace(report.kept, held=self._hold(move.held)))
        reach("windows.done")
        self.watch.lap("windows")
        return replace(report, took_us=self.watch.us("windows"))

    def _hold(self, rows: pa.Table | None) -> tuple[StoredPart, ...]:
        return store_state(self.state_folder, f"{self.step:010d}-held", ALL_GROUPS, present([rows]))

    def _run(self, move: Move[Written], kept: Kept[StoredPart]) -> SparkReport:
        move = self._with_trusted(move)
        settled = settled_parts(self.definition, kept.panes, move.before.punctuation_us)
        closes = self.definition.window.closes_windows(move.before.punctuation_us, move.after_us)
        names = frozenset(part.file.name for part in settled)
        read = [part for part in kept.to_answer if closes or part.file.name not in names]
        rows = added([move.rows_by_group, *(part.rows_by_group for part in read)])
        plan = move.plan or self.settings.lowered(move.degree)
        scheduling, cutting = self.settings.window_scheduling, self._cutting(move, kept, plan)
        shares = window_shares(rows, plan.key_tasks, scheduling, cutting, self._joins(move, plan), plan.window_tasks)
        if any(share.cut is not None for share in shares):
            settled, names = (), frozenset()  # tasks that share a key each write the panes that they own
        in_driver = _in_driver(sum(rows.values()) + sum(file.rows for file in move.late), shares, plan)
        at_once = self._at_once(sum(rows.values()), move.degree)
        if in_driver and at_once == 1 and all(share.joiners < 2 for share in shares):
            shares = window_shares(rows, 1, scheduling, None)  # one after the other they would take longer
        job = self._job(move, kept, shares, names, in_driver=in_driver)
        report = run_window_job(
            job,
            self._run_tasks,
            in_driver=in_driver,
            joining=partial(self._joining, move.degree),
            at_once=at_once,
        )
        report = replace(report, visits=1 if cutting is None else cutting.visits)
        past = replace(
            report.kept,
            panes=(*self._still_needed(settled, move), *report.kept.panes),
            sealed=(*kept.sealed, *report.kept.sealed),
            revisions=(*kept.revisions, *report.kept.revisions),
        )
        return replace(report, kept=tidy_past(self.state_folder, self.step, self.definition, past, move.after_us))

    def _with_trusted(self, move: Move[Written]) -> Move[Written]:
        """Partials of records that were held until now go with the others."""
        if move.trusted is None:
            return move
        # Nothing, if they are all in the gaps between hopping windows.
        trusted = written(ArrowWriter(str(self.scratch)), [move.trusted])
        return replace(move, partials=(*move.partials, *trusted), trusted=None)

    def _job(
        self,
        move: Move[Written],
        kept: Kept[StoredPart],
        shares: Sequence[WindowShare],
        settled: frozenset[str],
        *,
        in_driver: bool,
    ) -> WindowJob:
        late, failed = self.outputs.late, self.outputs.failed
        return WindowJob(
            definition=self.definition,
            step=self.step,
            move=move,
            kept=kept,
            shares=shares,
            state_folder=str(self.state_folder),
            answers=self.outputs.results.sink.writer(self.scratch),
            answer_schema=self.outputs.results.schema,
            late=None if late is None else late.sink.writer(self.scratch),
            failed=None if failed is None else failed.sink.writer(self.scratch),
            settled=settled,
            threads=self._threads(len(shares), move.degree, in_driver=in_driver),
        )

    def _still_needed(self, settled: tuple[StoredPart, ...], move: Move[Written]) -> tuple[StoredPart, ...]:
        if not settled or move.after_us is None:
            return settled
        span = self.definition.window.span(move.before.punctuation_us, move.after_us)
        return still_needed(self.definition, settled, span)

    def _cutting(self, move: Move[Written], kept: Kept[StoredPart], plan: Lowered) -> Cutting | None:
        """How the windows of a heavy key may be dealt out to several tasks."""
        filled = range_of_all([move.filled, *(part.numbers for part in kept.to_answer)])
        if move.after_us is None or filled is None or move.degree < 2:
            return None
        span = self.definition.window.span(move.before.punctuation_us, move.after_us)
        late = bool(move.late)
        cutting = processing_of(self.definition).cutting(span, filled, plan.partitioning, late=late)
        return None if cutting is None else replace(cutting, least_rows=plan.cut_rows)

    def _joins(self, move: Move[Written], plan: Lowered) -> JoinSharing | None:
        """Whether tasks may share the join of a heavy key; where all slots are in this process, threads are cheaper."""
        sharing = self._sharing
        worth_it = plan.window_tasks is None and (sharing.cut_rows == 0 or not self._embedded)
        moves = move.after_us is not None and move.degree > 1
        return sharing if moves and worth_it and processing_of(self.definition).shares_joins else None

    def _joining(self, degree: int, share: WindowShare) -> Joining:
        """Who joins the rows of a share that is answered here."""
        threads = self._threads(1, degree, in_driver=True)
        if share.joiners < 2:
            return Alone(threads)
        ask = partial(run_join_job, scratch=str(self.scratch), run_tasks=self._run_tasks)
        return Shared(share.joiners, self._sharing, ask, threads)

    def _at_once(self, rows: int, degree: int) -> int:
        """How many threads answer windows here; of few rows one does, so that files are written in the same order."""
        worth_it = rows >= _THREADED_ROWS and self.definition.query.in_threads
        return self._threads(1, degree, in_driver=True) if worth_it else 1

    def _run_tasks(self, tasks: int, run: Callable[[int], str]) -> list[str]:
        return run_tasks(self.spark, tasks, run)

    @property
    def _sharing(self) -> JoinSharing:
        return JoinSharing(self.settings.ownership, self.settings.cut_rows)

    @property
    def _embedded(self) -> bool:
        return is_embedded(self.spark)

    def _threads(self, tasks: int, degree: int, *, in_driver: bool) -> int:
        """Slots that would be idle are used by threads: with one key there is only one task, however many cores.

        Not on a cluster, where the cores of a worker may belong to others; nor more than the load needs, if degrees
        follow it.
        """
        slots = self.settings.slots if self.settings.elastic is None else min(self.settings.slots, degree)
        return max(1, min(slots // tasks, os.cpu_count() or 1)) if self._embedded or in_driver else 1


def _as_if_read_by(slots: int, report: PaneReport[Written]) -> PaneReport[Written]:
    """Tasks of Spark's own, which say nothing, have read the records and added them up; that is most of the work."""
    load = TaskLoad(report.took_us, report.delivered // slots)
    return replace(report, tasks=(replace(load, records_by_pane=report.records_by_pane), *[load] * (slots - 1)))


def _in_driver(rows: int, shares: Sequence[WindowShare], plan: Lowered) -> bool:
    """Whether a job would cost more than it saves: few rows, and no key whose windows are worth cutting."""
    return rows <= plan.inline_rows and all(share.cut is None for share in shares)
