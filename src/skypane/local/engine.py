"""Engine: the whole data path in one process - the step with ports that work on tables."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import pyarrow as pa

from skypane.flow import step as path
from skypane.flow.definition import Definition
from skypane.flow.distinct.id_rows import by_hash, forget_ids
from skypane.flow.distinct.known_ids import IdTables, KnownIds
from skypane.flow.joining import LOCAL_JOIN, Bounds, DistributedJoin, JoinWork
from skypane.flow.late.past import Past, forget_panes, forget_revisions, in_range
from skypane.flow.latency import Latencies
from skypane.flow.panes.admission import Frontier
from skypane.flow.panes.worker import PaneWorker
from skypane.flow.plan import EngineFacts, Ownership, Partitioning, StagePlan
from skypane.flow.processing.base import WindowInputs
from skypane.flow.program import Program
from skypane.flow.reports import PaneReport, StateRows, TaskLoad, WindowReport
from skypane.flow.shares import WindowShare, check_cover
from skypane.flow.stages import Move
from skypane.flow.state import StepState
from skypane.flow.step import Flow, Stepped
from skypane.flow.tuner import FixedPlan, Tuner
from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.partitions import SourcePartitions
from skypane.lateness.past_guard import PastGuard
from skypane.lateness.policy import Lateness
from skypane.lateness.punctuator import Punctuator
from skypane.local.preparation import prepared
from skypane.local.spreading import spread
from skypane.model.ending import Ending
from skypane.model.ledger import Ledger
from skypane.model.panes import PaneRange, range_of_all
from skypane.tables.rows import panes_in, present, rows_by_group, sorted_by_group, together
from skypane.tuning.pattern_fit import fitted
from skypane.tuning.patterns.base import Pattern
from skypane.tuning.sharing.joins import JoinSharing
from skypane.tuning.sharing.stage import WindowWork, share_window_stage
from skypane.tuning.tuner import StepTuner

EngineState = StepState[pa.Table, Any]

LONG_AFTER_US = 2**60
"""A clock that is past every time a record may have, as in a replay of old data."""


@dataclass(frozen=True)
class StepOutput:
    """What one step emits."""

    answers: list[pa.Table]
    late: list[pa.Table]
    quarantined: list[pa.Table]
    ledger: Ledger
    latencies: Latencies
    replication: float | None = None
    """How many window-stage tasks read a row, on average."""
    failed: list[pa.Table] = field(default_factory=list)
    """Windows on which a function of the user's failed, where they are set aside."""
    joiners: int = 1
    """How many tasks shared the join of a key, where the most did."""
    duplicates: list[pa.Table] = field(default_factory=list)


@dataclass(frozen=True)
class _Stages:
    """The ports: every task is a call."""

    program: Program
    slots: int = 1
    tasks: Sequence[pa.Table] = ()

    @property
    def definition(self) -> Definition:
        """The definition of the query."""
        return self.program.definition

    @property
    def engine(self) -> EngineFacts:
        """As many slots as there are to be tasks."""
        return EngineFacts(slots=self.slots)

    def held(self, rows: StateRows[pa.Table]) -> pa.Table | None:
        """The held records, from memory."""
        return together(rows.held)

    def hold(self, rows: pa.Table | None) -> tuple[pa.Table, ...]:
        """Keep held records in memory."""
        return present([rows])

    def known_ids(self, rows: StateRows[pa.Table], fresh: Sequence[pa.Table]) -> IdTables:
        """The ids, from memory."""
        return lambda _first, _last: [*rows.ids, *fresh]

    def remember(
        self, rows: StateRows[pa.Table], fresh: Sequence[pa.Table], ids: pa.Table | None, after_us: int | None
    ) -> tuple[pa.Table, ...]:
        """Keep the ids in memory, as one table."""
        known = forget_ids(self.definition, together([*rows.ids, *fresh, ids]), after_us)
        return () if known is None else (by_hash(known),)

    def panes(
        self, frontier: Frontier, plan: StagePlan, known: KnownIds | None
    ) -> tuple[PaneReport[pa.Table], pa.Table | None]:
        """One task for each table, or as the plan says."""
        reports = []
        for rows in spread(self.definition, [prepared(self.definition, rows) for rows in self.tasks], plan):
            started = time.perf_counter_ns()
            worker = PaneWorker(self.program, frontier, known=known)
            worker.feed(rows)
            report = worker.finish()
            busy_us = (time.perf_counter_ns() - started) // 1_000
            reports.append(replace(report, tasks=(TaskLoad(busy_us, report.delivered, report.records_by_pane),)))
        report = PaneReport.merge(reports, frontier.guard)
        return report, together(report.suspects)

    def windows(
        self, move: Move[pa.Table], plan: StagePlan, rows: StateRows[pa.Table]
    ) -> WindowReport[pa.Table, pa.Table]:
        """One task for each share."""
        late = together(move.late)
        late = None if late is None else sorted_by_group(late)
        fresh = present([*move.partials, move.trusted])
        held = StateRows(
            *(present([together(tables)]) for tables in (rows.panes, rows.buffer, rows.sealed, rows.revisions))
        )
        held = replace(held, counters=present([together(rows.counters)]))
        work = self._work(move, held, fresh, late)
        shares = share_window_stage(self.program, plan, work, self.engine).shares
        check_cover(shares)
        joins = JoinSharing(plan.ownership, plan.join_rows)
        report = WindowReport.merge(self._tasks(move, shares, joins, lambda share: _inputs(held, fresh, late, share)))
        return replace(report, state=self._remembered(held, report.state, move.after_us))

    def _work(
        self, move: Move[pa.Table], held: StateRows[pa.Table], fresh: Sequence[pa.Table], late: pa.Table | None
    ) -> WindowWork:
        """What there is to do: where the rows are is known exactly."""
        tables = present([*held.to_answer, *fresh])
        sizes: Counter[int] = Counter()
        for table in present([*tables, late]):
            sizes.update(rows_by_group(table))
        return WindowWork(
            before_us=move.before.punctuation_us,
            after_us=move.after_us,
            rows_by_group=sizes,
            filled=range_of_all(panes_in(table) for table in tables),
            late_rows=0 if late is None else late.num_rows,
        )

    def _tasks(
        self,
        move: Move[pa.Table],
        shares: Sequence[WindowShare],
        joins: JoinSharing,
        inputs_of: Callable[[WindowShare], WindowInputs],
    ) -> list[WindowReport[pa.Table, pa.Table]]:
        """Run the tasks in sequence."""
        reports = []
        for share in shares:
            inputs = replace(inputs_of(share), ending=move.ending)
            joining = LOCAL_JOIN if share.joiners < 2 else DistributedJoin(share.joiners, joins, _joined)
            report = self.program.processing.run(move.before, move.after_us, inputs, joining)
            report = replace(report, rows_read=inputs.rows_read, rows_owned=inputs.rows_owned, joiners=share.joiners)
            reports.append(report)
        return reports

    def _remembered(
        self, before: StateRows[pa.Table], new: StateRows[pa.Table], after_us: int | None
    ) -> StateRows[pa.Table]:
        """The new state with the whole past, as far as it is needed."""
        sealed, log = together([*before.sealed, *new.sealed]), together([*before.revisions, *new.revisions])
        sealed = forget_panes(self.definition, None if sealed is None else sorted_by_group(sealed), after_us)
        log = forget_revisions(self.definition, None if log is None else sorted_by_group(log), after_us)
        return replace(new, sealed=present([sealed]), revisions=present([log]))


@dataclass(frozen=True)
class Engine:
    """A continuous query with its lateness policy, on as many virtual tasks as a plan says."""

    definition: Definition
    policy: Lateness
    guard: FutureGuard
    sources: SourcePartitions | None = None
    partitioning: Partitioning = "batch"
    """How the windows of a key are split where there are more tasks than keys."""
    ownership: Ownership = "rr"
    """How the joins of its rows are, where windows are not."""
    pattern: Pattern | None = None
    """A tree that says how the work is shared; every degree that is given counts for nothing then."""
    tuner: Tuner[Any] | None = None
    """Chooses the plan of each step; ``None``: the pattern or the degree does."""
    past: PastGuard = field(default_factory=PastGuard)

    stages: ClassVar[type[_Stages]] = _Stages

    def start(self) -> EngineState:
        """The state before the first record."""
        return self._flow(1).start()

    def step(
        self,
        state: EngineState,
        tasks: Sequence[pa.Table],
        degree: int = 1,
        now_us: int = LONG_AFTER_US,
    ) -> tuple[EngineState, StepOutput]:
        """One batch, cut at ``now_us``: a table for each pane-stage task; ``degree`` window-stage tasks."""
        flow = self._flow(degree)
        return _output(path.step(flow, state, self.stages(flow.program, degree, tasks), now_us))

    def flush(
        self,
        state: EngineState,
        degree: int = 1,
        now_us: int = LONG_AFTER_US,
        ending: Ending = "all",
    ) -> tuple[EngineState, StepOutput]:
        """Close and emit every window that is still open, or those that have ended by the clock."""
        flow = self._flow(degree)
        return _output(path.finish(flow, state, self.stages(flow.program, degree), ending, now_us))

    def _flow(self, degree: int) -> Flow[Any]:
        definition = self.definition if self.pattern is None else fitted(self.definition, self.pattern)
        return Flow.of(definition, Punctuator(self.policy, self.guard, self.sources, self.past), self._tuner(degree))

    def _tuner(self, degree: int) -> Tuner[Any]:
        if self.tuner is not None:
            return self.tuner
        if self.pattern is not None:
            plan = self.pattern.stage_plan()
            return StepTuner(plan.stages(), plan.splitting)
        return FixedPlan(StagePlan(key_tasks=degree, partitioning=self.partitioning, ownership=self.ownership))


def held_rows(state: EngineState) -> int:
    """How many rows are kept for windows to come, buffered or in panes."""
    return sum(table.num_rows for table in state.rows.to_answer)


def _joined(join: JoinWork, tasks: int) -> list[Bounds]:
    return [join.bounds_of(task) for task in range(tasks)]


def _inputs(
    held: StateRows[pa.Table], fresh: Sequence[pa.Table], late: pa.Table | None, share: WindowShare
) -> WindowInputs:
    """One task's share of everything."""

    def own(tables: Sequence[pa.Table]) -> pa.Table | None:
        return together(share.groups.slice_of(table) for table in tables)

    def past(panes: PaneRange) -> Past:
        sealed = own(held.sealed)
        return Past(None if sealed is None else in_range(sealed, panes), own(held.revisions))

    panes, buffer = (together(share.read(table) for table in tables) for tables in (held.panes, held.buffer))
    judged = own(present([late])) if share.first_of_groups else None
    fresh = [share.read(part) for part in fresh]
    return WindowInputs(panes, buffer, fresh, judged, past, share, own(held.counters))


def _output(stepped: Stepped[pa.Table, pa.Table, Any]) -> tuple[EngineState, StepOutput]:
    quarantined = present([*stepped.panes.quarantined, stepped.refused])
    windows = stepped.windows
    return stepped.state, StepOutput(
        list(windows.answers),
        list(windows.late),
        list(quarantined),
        stepped.panes.ledger,
        stepped.latencies,
        windows.replication,
        list(windows.failed),
        windows.joiners,
        list(present([*stepped.panes.duplicates, stepped.copies])),
    )
