"""The step: one batch, from the state that was committed to the next one. The only place where stages meet.

``step`` is a pure function but for the ports that an engine brings (:class:`~skypane.flow.stages.Stages`): in process
they work on tables (``local/``), on Spark they run jobs (``spark/``). The answers depend on the state and the batch;
how the work is shared is up to a tuner, and changes no answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Generic

import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.flow.distinct.memory import known_ids_of, remembered_ids
from skypane.flow.latency import Latencies
from skypane.flow.measurement import StepMeasurement, first_open_pane, measure
from skypane.flow.panes.admission import Frontier
from skypane.flow.panes.decision import Decision, decide, decide_ending, oldest_of_first_us
from skypane.flow.panes.held import in_doubt
from skypane.flow.plan import StagePlan
from skypane.flow.program import Program
from skypane.flow.reports import PaneReport, R, S, WindowReport, added
from skypane.flow.stages import Move, Stages
from skypane.flow.state import StepState, T, Totals
from skypane.flow.tuner import Tuner
from skypane.lateness.punctuator import Punctuator
from skypane.model.ending import Ending
from skypane.model.ledger import Ledger
from skypane.model.panes import range_of
from skypane.tables.rows import rows_by_group


@dataclass(frozen=True)
class Flow(Generic[T]):
    """A continuous query, complete: the question, how long to wait, how steps share their work."""

    program: Program
    punctuator: Punctuator
    tuner: Tuner[T]

    @classmethod
    def of(cls, definition: Definition, punctuator: Punctuator, tuner: Tuner[T]) -> Flow[T]:
        """With everything filled in that the windows decide about waiting."""
        punctuator = punctuator.for_panes(definition.window)
        max_slack_us = punctuator.policy.max_slack_us(definition.window)
        return cls(Program.of(replace(definition, max_slack_us=max_slack_us)), punctuator, tuner)

    @property
    def definition(self) -> Definition:
        """The definition of the query."""
        return self.program.definition

    def start(self) -> StepState[Any, T]:
        """The state before the first record."""
        return StepState.start(self.punctuator.start(), self.tuner.start())


@dataclass(frozen=True)
class Stepped(Generic[R, S, T]):
    """A step that was computed: the next state, and everything to publish or report."""

    state: StepState[S, T]
    plan: StagePlan
    panes: PaneReport[R]
    """Its ledger has all records of the step by fate."""
    windows: WindowReport[R, S]
    refused: pa.Table | None
    """Quarantined by the step itself: suspects that were not trusted."""
    copies: pa.Table | None
    """Duplicates that the step itself found: suspects that are copies of others."""
    latencies: Latencies
    seen: StepMeasurement | None = None
    """What the tuner has learned from; ``None`` of a step without a batch."""


def step(flow: Flow[T], before: StepState[S, T], stages: Stages[R, S], now_us: int) -> Stepped[R, S, T]:
    """One batch of the source, cut at ``now_us``."""
    definition, engine, held = flow.definition, stages.engine, stages.held(before.rows)
    plan = flow.tuner.plan(before.tuning, engine)
    panes, suspects, oldest_us = _pane_stage(flow, before, stages, plan, held, now_us)
    known = known_ids_of(definition, before, stages, panes.ids)
    progress, judged = before.progress, before.judged
    decision = decide(flow.program, flow.punctuator, progress, panes, suspects, held, judged, now_us, known, oldest_us)
    stepped = _move(flow, before, stages, plan, decision, now_us)
    seen = measure(definition, decision.progress, stepped.panes, stepped.windows, now_us, engine)
    tuning = flow.tuner.learn(before.tuning, plan, seen)
    return replace(stepped, state=replace(stepped.state, tuning=tuning), seen=seen)


def finish(
    flow: Flow[T], before: StepState[S, T], stages: Stages[R, S], ending: Ending, now_us: int
) -> Stepped[R, S, T]:
    """A step without a batch, which the clock decided: close and emit what has ended by it."""
    definition, engine = flow.definition, stages.engine
    plan = flow.tuner.plan(before.tuning, engine)
    decision = _ended(flow, before, stages, ending, now_us)
    stepped = _move(flow, before, stages, plan, decision, now_us, ending)
    tuning = flow.tuner.close(before.tuning, engine, first_open_pane(definition, decision.progress))
    return replace(stepped, state=replace(stepped.state, tuning=tuning))


def ends_anything(flow: Flow[T], before: StepState[S, T], stages: Stages[R, S], ending: Ending, now_us: int) -> bool:
    """Whether such a step would close a window that is open, or decide about a record that is held."""
    decision, window = _ended(flow, before, stages, ending, now_us), flow.definition.window
    closes = window.closes_windows(before.progress.punctuation_us, decision.progress.punctuation_us)
    reports = window.emits_partial(ending) and before.emitted_at != before.ledger.accepted
    return closes or reports or decision.report.ledger != Ledger()


def _ended(flow: Flow[T], before: StepState[S, T], stages: Stages[R, S], ending: Ending, now_us: int) -> Decision[R]:
    held = stages.held(before.rows)
    known = known_ids_of(flow.definition, before, stages)
    return decide_ending(flow.program, flow.punctuator, before.progress, held, ending, now_us, known)


def _pane_stage(
    flow: Flow[T], before: StepState[S, T], stages: Stages[R, S], plan: StagePlan, held: pa.Table | None, now_us: int
) -> tuple[PaneReport[R], pa.Table | None, int | None]:
    """What the tasks report, the suspects, and the oldest time that can be true, if the batch has older ones."""
    frontier, known = _frontier(flow, before, held, now_us), known_ids_of(flow.definition, before, stages)
    panes, suspects = stages.panes(frontier, plan, known)
    oldest_us = oldest_of_first_us(flow.program, flow.punctuator, before.progress, panes, suspects, held, now_us)
    if oldest_us is not None and panes.first_times.reach_before(oldest_us):
        # Only a whole batch tells whether its oldest records are strays, and by then they are in partials.
        panes, suspects = stages.panes(replace(frontier, oldest_us=oldest_us), plan, known)
    return panes, suspects, oldest_us


def _frontier(flow: Flow[T], before: StepState[S, T], held: pa.Table | None, now_us: int) -> Frontier:
    """What the tasks of the pane stage need to know."""
    guard, progress = flow.punctuator.guard, before.progress
    limit_us = guard.limit_us(progress.t_max_us, now_us)
    _, doubted = in_doubt(flow.definition, None, held)
    witnesses_us = guard.newest_of(doubted.witnesses_us(limit_us))
    watermark_us, allowed_us = progress.punctuation_us, flow.definition.allowed_lateness_us
    oldest_us = flow.punctuator.past.oldest_us(None if watermark_us is None else watermark_us - allowed_us)
    return Frontier(progress.for_workers(), guard, limit_us, witnesses_us=witnesses_us, oldest_us=oldest_us)


def _move(
    flow: Flow[T],
    before: StepState[S, T],
    stages: Stages[R, S],
    plan: StagePlan,
    decision: Decision[R],
    now_us: int,
    ending: Ending | None = None,
) -> Stepped[R, S, T]:
    """Run the window stage for what was decided, and add everything up."""
    seen, move = decision.report, _move_of(before, decision, ending)
    held = stages.hold(decision.held)
    ids = remembered_ids(flow.definition, before.rows, stages, seen.ids, decision)
    # Decided here for all engines: what one leaves out and another does not would be a second semantics.
    idle = move.changes_nothing(flow.definition, before.rows)
    windows = WindowReport[R, S](before.rows) if idle else stages.windows(move, plan, before.rows)
    clock, latencies = before.clock.advance(
        flow.definition.window, seen.records_by_pane, now_us, before.progress.punctuation_us, move.after_us
    )
    ledger = before.ledger + seen.ledger
    after = StepState(
        progress=decision.progress,
        tuning=before.tuning,
        rows=replace(windows.state, held=held, ids=ids),
        ledger=ledger,
        judged=windows.lessons,
        emitted_at=ledger.accepted if flow.definition.window.emits_partial(ending) else before.emitted_at,
        totals=_totals(before.totals, windows),
        clock=clock,
    )
    return Stepped(
        state=after,
        plan=plan,
        panes=seen,
        windows=windows,
        refused=decision.quarantined,
        copies=decision.duplicates,
        latencies=latencies,
    )


def _move_of(before: StepState[S, T], decision: Decision[R], ending: Ending | None) -> Move[R]:
    """What the window stage is to do."""
    panes = decision.report
    return Move(
        before=before.progress.for_workers(),
        after_us=decision.progress.punctuation_us,
        partials=panes.partials,
        trusted=decision.partials,
        late=panes.late,
        rows_by_group=added([panes.rows_by_group, rows_by_group(decision.partials)]),
        ending=ending,
        filled=range_of([*panes.records_by_pane]),
    )


def _totals(before: Totals, windows: WindowReport[R, S]) -> Totals:
    return Totals(before.windows + windows.windows, before.failures + windows.failures, before.judged + windows.judged)
