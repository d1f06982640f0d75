"""Ports: the two stages of one step as Spark jobs, from files to files. What each job does, the plan says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from skypane.flow.definition import Definition
from skypane.flow.distinct.known_ids import IdTables, KnownIds
from skypane.flow.panes.admission import Frontier
from skypane.flow.plan import EngineFacts, StagePlan
from skypane.flow.program import Program
from skypane.flow.reports import PaneReport, StateRows
from skypane.flow.shares import ALL_GROUPS
from skypane.flow.stages import Move
from skypane.spark.condensing.certain_range import certain_range
from skypane.spark.jobs.join_job import JoinChoice
from skypane.spark.jobs.pane_job import PaneJob, run_pane_job
from skypane.spark.jobs.routing import bounded, by_id, routed
from skypane.spark.jobs.tasks import run_tasks
from skypane.spark.jobs.window_job import SparkReport, WindowJob, run_window_job, with_trusted_written
from skypane.spark.outputs import Outputs, writer_of
from skypane.spark.schemas import arrow_schema
from skypane.spark.session_copies import SessionCopies
from skypane.spark.stopwatch import Stopwatch
from skypane.spark.store.failpoints import reach
from skypane.spark.store.files import map_table
from skypane.spark.store.id_files import IdFiles, remember_ids
from skypane.spark.store.manifest import StoredPart
from skypane.spark.store.past import tidy_past
from skypane.spark.store.sealed import SealedFiles
from skypane.spark.store.state_files import load_state, store_state
from skypane.spark.store.writers import Written
from skypane.spark.transfer import Transfer
from skypane.tables.rows import conform, present, together, with_columns_of
from skypane.tuning.sharing.joins import JoinSharing
from skypane.tuning.sharing.stage import StageShares, share_window_stage


@dataclass(frozen=True)
class SparkStages:
    """The ports of one step."""

    spark: SparkSession
    program: Program
    engine: EngineFacts
    transfer: Transfer
    outputs: Outputs
    step: int
    scratch: Path
    """For files of this attempt at the step."""
    state_folder: Path
    watch: Stopwatch
    df: DataFrame | None = None
    """The batch, if there is one."""
    copies: SessionCopies = field(default_factory=SessionCopies)

    @property
    def definition(self) -> Definition:
        """The definition of the query."""
        return self.program.definition

    def held(self, rows: StateRows[StoredPart]) -> pa.Table | None:
        """Read the held records, with columns in the order and with the zone of this session."""
        table = together(load_state(self.state_folder, part.file) for part in rows.held)
        if table is None or self.df is None:
            return table
        schema = self.definition.accepted_schema(self.transfer.sending.schema(arrow_schema(self.df)))
        return conform(with_columns_of(table, schema), schema)

    def hold(self, rows: pa.Table | None) -> tuple[StoredPart, ...]:
        """Write the held records to a file of the state."""
        reach("panes.done")
        return store_state(self.state_folder, f"{self.step:010d}-held", ALL_GROUPS, present([rows]))

    def known_ids(self, rows: StateRows[StoredPart], fresh: Sequence[Written]) -> IdTables:
        """The ids in files."""
        return IdFiles(str(self.state_folder), rows.ids, tuple(fresh))

    def remember(
        self, rows: StateRows[StoredPart], fresh: Sequence[Written], ids: pa.Table | None, after_us: int | None
    ) -> tuple[StoredPart, ...]:
        """Write the ids that were accepted to files of the state."""
        new = [*(map_table(file.path) for file in fresh), ids]
        return remember_ids(self.state_folder, self.step, self.definition, rows.ids, new, after_us)

    def panes(
        self, frontier: Frontier, plan: StagePlan, known: KnownIds | None
    ) -> tuple[PaneReport[Written], pa.Table | None]:
        """Run the pane job over the batch."""
        report = self._run_panes(replace(self._pane_job(frontier, plan), known=known), plan)
        suspects = together(map_table(file.path) for file in report.suspects)
        self.watch.lap("panes")
        return replace(report, took_us=self.watch.us("panes")), suspects

    def _pane_job(self, frontier: Frontier, plan: StagePlan) -> PaneJob:
        condenses = plan.pre_aggregate is not None and certain_range(self.definition, frontier) is not None
        return PaneJob(
            program=self.program,
            frontier=frontier,
            sending=self.transfer.sending,
            scratch=str(self.scratch),
            keep_late=self.outputs.late is not None or self.definition.judges_late,
            quarantine=writer_of(self.outputs.quarantine, self.scratch),
            duplicates=writer_of(self.outputs.duplicates, self.scratch),
            condensing=self.transfer.condensing if condenses else None,
        )

    def _run_panes(self, job: PaneJob, plan: StagePlan) -> PaneReport[Written]:
        """Where the records are, or where the plan sends them; pre-aggregated where that pays."""
        assert self.df is not None
        df, routing = self.df, plan.routing
        if self.definition.distinct is not None:  # equal ids must meet, whatever the plan says
            return run_pane_job(job, by_id(df, self.definition, plan.pane_tasks if routing is None else routing.degree))
        rows = bounded(df, plan.pane_tasks) if routing is None else routed(df, self.definition, routing)
        if job.condensing is not None and plan.pre_aggregate is not None:
            rows = job.condensing.select(rows, job.frontier, plan.pre_aggregate, self.copies)
        return run_pane_job(job, rows)

    def windows(self, move: Move[Written], plan: StagePlan, rows: StateRows[StoredPart]) -> SparkReport:
        """Run the window job, in the driver or on Spark, as the plan shares it out."""
        move = with_trusted_written(move, str(self.scratch))
        sealed_files = SealedFiles.of(self.program, rows, move.before.punctuation_us, move.after_us)
        shared = share_window_stage(self.program, plan, sealed_files.work(move, rows), self.engine)
        if any(share.cut is not None for share in shared.shares):
            sealed_files = SealedFiles(self.program)  # tasks that share a key each write the panes that they own
        report = run_window_job(
            self._window_job(move, rows, shared, sealed_files),
            self._run_tasks,
            in_driver=shared.in_driver,
            joining=JoinChoice(
                sharing=JoinSharing(plan.ownership, plan.join_rows),
                threads=shared.join_threads,
                scratch=str(self.scratch),
                run_tasks=self._run_tasks,
            ),
            at_once=shared.driver_threads,
        )
        state = sealed_files.with_past(rows, report.state)
        state = tidy_past(self.state_folder, self.step, self.definition, state, move.after_us)
        self.watch.lap("windows")
        return replace(report, state=state, visits=shared.visits, took_us=self.watch.us("windows"))

    def _window_job(
        self, move: Move[Written], rows: StateRows[StoredPart], shared: StageShares, sealed_files: SealedFiles
    ) -> WindowJob:
        return WindowJob(
            program=self.program,
            step=self.step,
            move=move,
            state=rows,
            shares=shared.shares,
            state_folder=str(self.state_folder),
            answers=self.outputs.results.sink.writer(self.scratch),
            answer_schema=self.outputs.results.schema,
            late=writer_of(self.outputs.late, self.scratch),
            failed=writer_of(self.outputs.failed, self.scratch),
            sealed_files=sealed_files.names,
            threads=shared.task_threads,
        )

    def _run_tasks(self, tasks: int, run: Callable[[int], str]) -> list[str]:
        return run_tasks(self.spark, tasks, run)
