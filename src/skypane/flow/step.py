"""The step: one batch, from the state that was committed to the next one. The only place where stages meet.

``step`` is a pure function but for two ports, which an engine brings: run the pane stage for this frontier, run the
window stage for this move. In process they work on tables (``local/``), on Spark they run jobs (``spark/``). What it
returns depends on the state and the batch; measured times change later plans only, never an answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol

import pyarrow as pa

from skypane.flow.capacity import Capacity
from skypane.flow.definition import Definition
from skypane.flow.latency import Latencies, PaneClock
from skypane.flow.measured import measured, not_busy_us
from skypane.flow.panes.admission import Frontier
from skypane.flow.panes.decision import Decision, decide, decide_ending
from skypane.flow.panes.density import Density
from skypane.flow.panes.held import in_doubt
from skypane.flow.reports import Kept, PaneReport, R, S, WindowReport, added
from skypane.lateness.policy import Judgement
from skypane.lateness.progress import Progress
from skypane.lateness.punctuator import Punctuator
from skypane.lateness.suspects import Ending
from skypane.model.ledger import Ledger
from skypane.model.panes import PaneRange, range_of
from skypane.patterns.costs import Learned
from skypane.patterns.lowered import Lowered
from skypane.patterns.planner import Planner
from skypane.scheduling.batch_plan import BatchOutcome, BatchPlan, RoutingState, shards_by_pane
from skypane.scheduling.batch_planner import BatchPlanner
from skypane.scheduling.degrees import DegreePolicy, Degrees, FixedDegrees
from skypane.scheduling.elastic_state import ElasticState, StepLoad
from skypane.scheduling.pane_strategies import StrategyFactory
from skypane.tables.rows import rows_by_group


@dataclass(frozen=True)
class Flow:
    """A continuous query, complete: what is asked, how long to wait, who does which work."""

    definition: Definition
    punctuator: Punctuator
    degrees: DegreePolicy = field(default_factory=FixedDegrees)
    splitting: str | StrategyFactory | None = None
    """Who routes records to the tasks of the pane stage; ``None`` if partials are made where the records are."""
    plan: Lowered | None = None
    """What a tree of patterns says about all this, if there is one; it goes before the two."""
    planner: Planner | None = None
    """Who plans each step from what the ones before took, where nobody has said how."""

    @classmethod
    def of(
        cls,
        definition: Definition,
        punctuator: Punctuator,
        degrees: DegreePolicy | None = None,
        splitting: str | StrategyFactory | None = None,
        plan: Lowered | None = None,
        planner: Planner | None = None,
    ) -> Flow:
        """With everything that the windows decide about waiting filled in."""
        punctuator = punctuator.for_panes(definition.window)
        definition = replace(definition, most_slack_us=punctuator.policy.most_slack_us(definition.window))
        if plan is not None:
            degrees, splitting = FixedDegrees(plan.degrees), plan.splitting
        return cls(definition, punctuator, degrees or FixedDegrees(), splitting, plan, planner)

    def plan_after(self, before: StepState[S]) -> Lowered | None:
        """How the tasks of the next step share the work, if anybody says so."""
        return self.plan if self.planner is None else self.planner.plan(before.learned)

    def learned(self, before: Learned | None, panes: PaneReport[R], windows: WindowReport[R, S]) -> Learned | None:
        """What is known after a step, if steps are planned."""
        return None if self.planner is None else (before or Learned()).after(measured(panes, windows))

    def start(self) -> StepState[S]:
        """Before the first record."""
        return StepState(self.punctuator.start())


@dataclass(frozen=True)
class StepState(Generic[S]):
    """What one step hands to the next; everything it starts from, beside the batch."""

    progress: Progress
    kept: Kept[S] = field(default_factory=Kept)
    ledger: Ledger = field(default_factory=Ledger)
    """All records since the query began."""
    windows: int = 0
    """All (key, window) answers emitted since the query began."""
    failures: int = 0
    """All windows that were set aside since the query began, because a function of the user's failed."""
    judged: Judgement = field(default_factory=Judgement)
    """About the late records of the last step that the policy learns from."""
    judged_so_far: Judgement = field(default_factory=Judgement)
    """About all late records since the query began, as far as they were judged."""
    clock: PaneClock = field(default_factory=PaneClock)
    """When records of the open panes came."""
    degrees: Degrees = field(default_factory=Degrees)
    """How many tasks the stages of the last step were to have."""
    routing: RoutingState | None = None
    """What the next batch's plan is made from, if records are routed."""
    learned: Learned | None = None
    """What the next steps are planned from, if they are."""
    elastic: ElasticState | None = None
    """What the next degrees are chosen from, if they follow the load."""
    density: Density = field(default_factory=Density)
    """What the last batch was like."""
    told: int = 0
    """Where windows are counted in records: how many were accepted when those of open windows were last told."""


@dataclass(frozen=True)
class Move(Generic[R]):
    """What the window stage is to do in a step: take in partials, judge late records, move the punctuation."""

    before: Progress
    after_us: int | None
    degree: int
    """How many tasks there are to be at a time."""
    partials: tuple[R, ...] = ()
    trusted: pa.Table | None = None
    """Partials of the suspects that turned out to be trusted."""
    held: pa.Table | None = None
    """The records that are held from now on."""
    late: tuple[R, ...] = ()
    rows_by_group: Mapping[int, int] = field(default_factory=dict)
    """Rows of all these partials."""
    ending: Ending | None = None
    """Of a step that the clock decided: what it ends."""
    plan: Lowered | None = None
    """How the tasks share the work, where a tree of patterns says so."""
    filled: PaneRange | None = None
    """The panes of the step's accepted records, as far as they are known; for planning only."""

    def changes_nothing(self, definition: Definition, kept: Kept[S]) -> bool:
        """Whether there is nothing to take in, and no window to close, or to tell of, that has rows."""
        closes = definition.window.closes_windows(self.before.punctuation_us, self.after_us)
        tells = definition.window.tells_partial(self.ending)
        return not (self.partials or self.late or self.trusted is not None or (kept.to_answer and (closes or tells)))


class Stages(Protocol[R, S]):
    """The two ports, and where records are that are held."""

    def held(self, kept: Kept[S]) -> pa.Table | None:
        """The rows of the records that are held."""
        ...

    def panes(
        self, frontier: Frontier, plan: BatchPlan | None, degree: int | None
    ) -> tuple[PaneReport[R], pa.Table | None]:
        """Run the pane stage over the batch; also the rows of its suspects."""
        ...

    def windows(self, move: Move[R], kept: Kept[S]) -> WindowReport[R, S]:
        """Run the window stage; its report has all that is kept from now on, past and held records included."""
        ...


@dataclass(frozen=True)
class Stepped(Generic[R, S]):
    """A step that was computed: the next state, and everything to publish or tell."""

    state: StepState[S]
    ledger: Ledger
    """This step's records by fate."""
    panes: PaneReport[R]
    windows: WindowReport[R, S]
    refused: pa.Table | None
    """Quarantined by the step itself: suspects that were not trusted."""
    latencies: Latencies
    rho: float | None = None
    """Utilization of the pane stage as the papers define it, where records are routed."""


def step(
    flow: Flow, before: StepState[S], stages: Stages[R, S], now_us: int, capacity: Capacity | None = None
) -> Stepped[R, S]:
    """One batch of the source, cut at ``now_us``."""
    capacity = capacity or Capacity()
    slots = capacity.slots
    degrees = flow.degrees.choose(before.degrees, before.elastic)
    planner = None if flow.splitting is None else BatchPlanner(flow.splitting, degrees.panes or slots)
    plan = None if planner is None else planner.plan(before.routing)
    held = stages.held(before.kept)
    tasks = (flow.plan_after(before) or Lowered()).pane_tasks or degrees.panes
    panes, suspects = stages.panes(_frontier(flow, before, held, now_us), plan, tasks)
    decision = decide(flow.definition, flow.punctuator, before.progress, panes, suspects, held, before.judged, now_us)
    # Whoever routes says below what it has learned; what was learned before others took over would be out of date.
    stepped = _move(flow, before, replace(before, degrees=degrees, routing=None), stages, panes, decision, now_us)
    learned_degrees = flow.degrees.learn(before.elastic, _load(stepped, now_us, capacity, routed=plan is not None))
    known = flow.learned(before.learned, stepped.panes, stepped.windows)
    density = Density(panes.delivered, sum(panes.rows_by_group.values()))
    stepped = replace(stepped, state=replace(stepped.state, elastic=learned_degrees, learned=known, density=density))
    if planner is None or plan is None:
        return stepped
    outcome = _outcome(flow.definition, stepped, now_us, slots)
    learned = replace(stepped.state, routing=planner.learn(before.routing, plan, outcome))
    return replace(stepped, state=learned, rho=planner.rho(before.routing, outcome))


def finish(
    flow: Flow, before: StepState[S], stages: Stages[R, S], ending: Ending, now_us: int, slots: int = 1
) -> Stepped[R, S]:
    """A step without a batch, which the clock decided: close and emit what has ended by it."""
    degrees = flow.degrees.choose(before.degrees, before.elastic)
    decision = _ended(flow, before, stages, ending, now_us)
    base = replace(before, degrees=degrees, routing=None)
    stepped = _move(flow, before, base, stages, PaneReport(), decision, now_us, ending)
    if flow.definition.window.tells_partial(ending):
        stepped = replace(stepped, state=replace(stepped.state, told=stepped.state.ledger.accepted))
    if flow.splitting is None or before.routing is None:
        return stepped
    planner = BatchPlanner(flow.splitting, degrees.panes or slots)
    first_open = _first_open_pane(flow.definition, decision.progress)
    return replace(stepped, state=replace(stepped.state, routing=planner.close(before.routing, first_open)))


def ends_anything(flow: Flow, before: StepState[S], stages: Stages[R, S], ending: Ending, now_us: int) -> bool:
    """Whether such a step would close a window that is open, or decide about a record that is held."""
    decision, window = _ended(flow, before, stages, ending, now_us), flow.definition.window
    closes = window.closes_windows(before.progress.punctuation_us, decision.progress.punctuation_us)
    tells = window.tells_partial(ending) and before.told != before.ledger.accepted
    return closes or tells or decision.ledger != Ledger()


def _ended(flow: Flow, before: StepState[S], stages: Stages[R, S], ending: Ending, now_us: int) -> Decision:
    held = stages.held(before.kept)
    return decide_ending(flow.definition, flow.punctuator, before.progress, held, ending, now_us)


def _frontier(flow: Flow, before: StepState[S], held: pa.Table | None, now_us: int) -> Frontier:
    """What the tasks of the pane stage need to know."""
    guard, progress = flow.punctuator.guard, before.progress
    limit_us = guard.limit_us(progress.t_max_us, now_us)
    _, doubted = in_doubt(flow.definition, None, held)
    witnesses_us = guard.newest_of(doubted.witnesses_us(limit_us))
    return Frontier(progress.for_workers(), guard, limit_us, witnesses_us, before.density)


def _move(
    flow: Flow,
    before: StepState[S],
    base: StepState[S],
    stages: Stages[R, S],
    panes: PaneReport[R],
    decision: Decision,
    now_us: int,
    ending: Ending | None = None,
) -> Stepped[R, S]:
    """Run the window stage for what was decided, and add everything up."""
    after_us = decision.progress.punctuation_us
    windows = stages.windows(_move_of(flow, before, base, panes, decision, ending), before.kept)
    clock, latencies = before.clock.advance(
        flow.definition.window, decision.records_by_pane, now_us, before.progress.punctuation_us, after_us
    )
    after = replace(
        base,
        progress=decision.progress,
        kept=windows.kept,
        ledger=before.ledger + decision.ledger,
        windows=before.windows + windows.windows,
        failures=before.failures + windows.failures,
        judged=windows.lessons,
        judged_so_far=before.judged_so_far + windows.judged,
        clock=clock,
    )
    seen = replace(panes, records_by_pane=decision.records_by_pane)
    return Stepped(after, decision.ledger, seen, windows, decision.quarantined, latencies)


def _move_of(
    flow: Flow,
    before: StepState[S],
    base: StepState[S],
    panes: PaneReport[R],
    decision: Decision,
    ending: Ending | None,
) -> Move[R]:
    """What the window stage is told."""
    return Move(
        before=before.progress.for_workers(),
        after_us=decision.progress.punctuation_us,
        degree=base.degrees.windows,
        partials=panes.partials,
        trusted=decision.partials,
        held=decision.held,
        late=panes.late,
        rows_by_group=added([panes.rows_by_group, rows_by_group(decision.partials)]),
        ending=ending,
        plan=flow.plan_after(before),
        filled=range_of([*decision.records_by_pane]),
    )


def _outcome(definition: Definition, stepped: Stepped[R, S], now_us: int, slots: int) -> BatchOutcome:
    """The batch as the next plan will see it."""
    return BatchOutcome(
        tasks=stepped.panes.tasks,
        records_by_pane=stepped.panes.records_by_pane,
        first_open_pane=_first_open_pane(definition, stepped.state.progress),
        cut_us=now_us,
        pane_stage_us=stepped.panes.took_us,
        elsewhere_us=stepped.windows.took_us,
        slots=slots,
    )


def _load(stepped: Stepped[R, S], now_us: int, capacity: Capacity, *, routed: bool) -> StepLoad:
    """The batch as those see it who decide degrees."""
    panes, windows = stepped.panes, stepped.windows
    busy_us = [task.busy_us for task in panes.tasks]
    waited_us = not_busy_us(panes.took_us, busy_us, capacity.slots)
    if not windows.in_driver:
        waited_us += not_busy_us(windows.took_us, windows.busy_us, capacity.slots)
    # Tasks that make partials of what they read have a shard of every pane, which says nothing about the load.
    shards = shards_by_pane(panes.tasks) if routed else {}
    return StepLoad(
        cut_us=now_us,
        t_max_us=stepped.state.progress.t_max_us,
        pane_work_us=sum(busy_us),
        window_work_us=sum(windows.busy_us),
        window_in_driver=windows.in_driver,
        took_us=panes.took_us + windows.took_us,
        waited_us=waited_us,
        panes=len(shards),
        shards=sum(shards.values()),
        ready=capacity.ready,
        backlog_us=capacity.backlog_us,
        first=capacity.first,
    )


def _first_open_pane(definition: Definition, progress: Progress) -> int | None:
    after_us = progress.punctuation_us
    return None if after_us is None else definition.window.sealed_before(after_us)
