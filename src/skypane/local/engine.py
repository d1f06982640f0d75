"""Engine: the whole data path in one process - the step with ports that work on tables."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from skypane.flow import step as path
from skypane.flow.definition import Definition
from skypane.flow.joining import ALONE, Bounds, Shared, SharedJoin
from skypane.flow.late.past import Past, forget_panes, forget_revisions, in_range
from skypane.flow.latency import Latencies
from skypane.flow.panes.admission import Frontier
from skypane.flow.panes.worker import PaneWorker
from skypane.flow.patterned import fitted
from skypane.flow.processing.base import WindowInputs
from skypane.flow.processing.choice import processing_of
from skypane.flow.reports import Kept, PaneReport, WindowReport
from skypane.flow.step import Flow, Move, Stepped, StepState
from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.partitions import SourcePartitions
from skypane.lateness.policy import Lateness
from skypane.lateness.punctuator import Punctuator
from skypane.lateness.suspects import Ending
from skypane.local.delivery import Delivery, StepDelivery
from skypane.local.preparation import prepare
from skypane.local.spreading import spread
from skypane.model.ledger import Ledger
from skypane.model.panes import PaneRange, range_of_all
from skypane.patterns.base import Pattern
from skypane.patterns.lowered import Lowered
from skypane.scheduling.batch_plan import BatchPlan, TaskLoad
from skypane.scheduling.degrees import Degrees, FixedDegrees
from skypane.scheduling.ownership import JoinSharing, Ownership
from skypane.scheduling.partitioning import (
    Cutting,
    Partitioning,
    WindowShare,
    window_shares,
)
from skypane.tables.rows import panes_in, present, rows_by_group, sorted_by_group, together

EngineState = StepState[pa.Table]

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


@dataclass(frozen=True)
class Engine:
    """A continuous query with its lateness policy, on as many virtual tasks as wanted."""

    definition: Definition
    policy: Lateness
    guard: FutureGuard
    sources: SourcePartitions | None = None
    partitioning: Partitioning = "batch"
    """How the windows of a key are dealt out where there are more tasks than keys."""
    ownership: Ownership = "rr"
    """How the joins of its rows are, where windows are not."""
    pattern: Pattern | None = None
    """Who does which work; it goes before every degree that is given."""

    def start(self) -> EngineState:
        """Before the first record."""
        return self._flow(1).start()

    def step(
        self,
        state: EngineState,
        tasks: Sequence[pa.Table],
        degree: int = 1,
        now_us: int = LONG_AFTER_US,
        delivery: Delivery | None = None,
    ) -> tuple[EngineState, StepOutput]:
        """One batch, cut at ``now_us``: a table for each pane-stage task; ``degree`` window-stage tasks.

        With a ``delivery``, answers are handed on as the window-stage tasks finish.
        """
        flow = self._flow(degree)
        return _output(path.step(flow, state, self._stages(flow, delivery, tasks), now_us))

    def flush(
        self,
        state: EngineState,
        degree: int = 1,
        now_us: int = LONG_AFTER_US,
        ending: Ending = "all",
        delivery: Delivery | None = None,
    ) -> tuple[EngineState, StepOutput]:
        """Close and emit every window that is still open, or those that have ended by the clock."""
        flow = self._flow(degree)
        return _output(path.finish(flow, state, self._stages(flow, delivery), ending, now_us))

    def _stages(self, flow: Flow, delivery: Delivery | None, tasks: Sequence[pa.Table] = ()) -> _Stages:
        return _Stages(flow.definition, self.partitioning, self.ownership, delivery, tasks)

    def _flow(self, degree: int) -> Flow:
        degrees = FixedDegrees(Degrees(windows=degree))
        plan = None if self.pattern is None else self.pattern.lowered()
        definition = self.definition if self.pattern is None else fitted(self.definition, self.pattern)
        return Flow.of(definition, Punctuator(self.policy, self.guard, self.sources), degrees, plan=plan)


def held_rows(state: EngineState) -> int:
    """How many rows are kept for windows to come, buffered or in panes."""
    return sum(table.num_rows for table in state.kept.to_answer)


@dataclass(frozen=True)
class _Stages:
    """The ports: every task is a call."""

    definition: Definition
    partitioning: Partitioning
    ownership: Ownership
    delivery: Delivery | None = None
    tasks: Sequence[pa.Table] = ()

    def held(self, kept: Kept[pa.Table]) -> pa.Table | None:
        """They are in memory."""
        return together(kept.held)

    def panes(
        self, frontier: Frontier, plan: BatchPlan | None, degree: int | None
    ) -> tuple[PaneReport[pa.Table], pa.Table | None]:
        """One task for each table, or as the plan or the degree says."""
        definition, reports = self.definition, []
        for rows in spread(definition, self.tasks, plan, degree):
            started = time.perf_counter_ns()
            worker = PaneWorker(self.definition, frontier)
            worker.feed(prepare(definition.query, definition.keys, rows, with_id=definition.needs_record_id))
            report = worker.finish()
            busy_us = (time.perf_counter_ns() - started) // 1_000
            reports.append(replace(report, tasks=(TaskLoad(busy_us, report.delivered, report.records_by_pane),)))
        report = PaneReport.merge(reports, frontier.guard)
        return report, together(report.suspects)

    def windows(self, move: Move[pa.Table], kept: Kept[pa.Table]) -> WindowReport[pa.Table, pa.Table]:
        """One task for each range of key groups."""
        late = together(move.late)
        late = None if late is None else sorted_by_group(late)
        fresh = present([*move.partials, move.trusted])
        held = Kept(*(present([together(tables)]) for tables in (kept.panes, kept.buffer, kept.sealed, kept.revisions)))
        held = replace(held, counters=present([together(kept.counters)]))
        sizes: Counter[int] = Counter()
        for table in present([*held.to_answer, late, *fresh]):
            sizes.update(rows_by_group(table))
        rows = present([*held.to_answer, *fresh])
        plan = move.plan or Lowered(key_tasks=move.degree, partitioning=self.partitioning)
        cutting = self._cutting(move, rows, late, plan.partitioning)
        joins = self._joins if processing_of(self.definition).shares_joins and plan.window_tasks is None else None
        shares = window_shares(sizes, plan.key_tasks, "ranges", cutting, joins, plan.window_tasks)
        report = WindowReport.merge(self._tasks(move, shares, rows, lambda share: _inputs(held, fresh, late, share)))
        remembered = self._remembered(held, report.kept, move.after_us)
        return replace(report, kept=replace(remembered, held=present([move.held])))

    def _cutting(
        self, move: Move[pa.Table], rows: Sequence[pa.Table], late: pa.Table | None, partitioning: Partitioning
    ) -> Cutting | None:
        """How windows may be cut: where the rows are is known exactly."""
        filled = range_of_all(panes_in(table) for table in rows)
        if move.after_us is None or filled is None:
            return None
        span = self.definition.window.span(move.before.punctuation_us, move.after_us)
        return processing_of(self.definition).cutting(span, filled, partitioning, late=late is not None)

    @property
    def _joins(self) -> JoinSharing:
        """However few rows there are: nothing is gained here, but the same is done."""
        return JoinSharing(self.ownership)

    def _tasks(
        self,
        move: Move[pa.Table],
        shares: Sequence[WindowShare],
        rows: Sequence[pa.Table],
        inputs_of: Callable[[WindowShare], WindowInputs],
    ) -> list[WindowReport[pa.Table, pa.Table]]:
        """One after the other; with a delivery, what each has answered is handed on before the next begins."""
        handing = None
        if self.delivery is not None and move.after_us is not None:
            span = self.definition.window.span(move.before.punctuation_us, move.after_us)
            handing = StepDelivery(self.definition, self.delivery, span, rows)
        reports = []
        for share in shares:
            inputs = replace(inputs_of(share), ending=move.ending)
            joining = ALONE if share.joiners < 2 else Shared(share.joiners, self._joins, _joined)
            report = processing_of(self.definition).run(move.before, move.after_us, inputs, joining)
            report = replace(report, rows_read=inputs.rows_read, rows_owned=inputs.rows_owned, joiners=share.joiners)
            reports.append(report)
            if handing is not None:
                handing.finished(share, report.answers)
        return reports

    def _remembered(self, before: Kept[pa.Table], new: Kept[pa.Table], after_us: int | None) -> Kept[pa.Table]:
        """The new state with the whole past, as far as it is needed."""
        sealed, log = together([*before.sealed, *new.sealed]), together([*before.revisions, *new.revisions])
        sealed = forget_panes(self.definition, None if sealed is None else sorted_by_group(sealed), after_us)
        log = forget_revisions(self.definition, None if log is None else sorted_by_group(log), after_us)
        return replace(new, sealed=present([sealed]), revisions=present([log]))


def _joined(join: SharedJoin, tasks: int) -> list[Bounds]:
    return [join.bounds_of(task) for task in range(tasks)]


def _inputs(held: Kept[pa.Table], fresh: Sequence[pa.Table], late: pa.Table | None, share: WindowShare) -> WindowInputs:
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


def _output(stepped: Stepped[pa.Table, pa.Table]) -> tuple[EngineState, StepOutput]:
    quarantined = present([*stepped.panes.quarantined, stepped.refused])
    windows = stepped.windows
    return stepped.state, StepOutput(
        list(windows.answers),
        list(windows.late),
        list(quarantined),
        stepped.ledger,
        stepped.latencies,
        windows.replication,
        list(windows.failed),
        windows.joiners,
    )
