"""StepTuner: chooses how each step shares its work - by the options, the planner, the routing strategy, the degrees."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from skypane.flow.measurement import StepMeasurement
from skypane.flow.plan import EngineFacts, StagePlan
from skypane.tuning.density import Density
from skypane.tuning.elastic.degrees import DegreePolicy, Degrees
from skypane.tuning.elastic.elastic_state import ElasticState
from skypane.tuning.planner.cost_model import CostModel
from skypane.tuning.planner.planner import Planner, Planning
from skypane.tuning.splitting.batch_plan import RoutingState
from skypane.tuning.splitting.batch_planner import BatchPlanner
from skypane.tuning.splitting.pane_strategies import StrategyFactory
from skypane.tuning.views import batch_outcome, step_load, step_timing


@dataclass(frozen=True)
class TuningState:
    """What the tuner remembers; what of it cannot be read after a restart is forgotten, and no answer changes."""

    routing: RoutingState | None = None
    """What the next batch's routing is made from, where records are routed."""
    costs: CostModel | None = None
    """What steps take, where they are planned."""
    elastic: ElasticState | None = None
    """What the next degrees are chosen from, where they follow the load."""
    density: Density = field(default_factory=Density)
    """What the last batch was like."""


class TuningReport(NamedTuple):
    """About one step, for metrics."""

    rho: float | None = None
    """Utilization of the pane stage as the papers define it, where records are routed."""
    target: Degrees | None = None
    """The degrees that are decided, where they follow the load."""
    elastic: ElasticState | None = None


@dataclass(frozen=True)
class StepTuner:
    """The tuner of a query on an engine."""

    base: StagePlan = field(default_factory=StagePlan)
    """What the options say, and nothing below changes."""
    splitting: str | StrategyFactory | None = None
    """Routes records to the tasks of the pane stage; ``None``: partials are made where records are read."""
    degrees: DegreePolicy | None = None
    """Decides how many tasks the stages have; ``None``: the plan does."""
    planner: Planner | None = None
    """Plans each step from what the ones before took; ``None``: the options say how."""

    def start(self) -> TuningState:
        """Start without measurements."""
        return TuningState()

    def plan(self, state: TuningState, engine: EngineFacts) -> StagePlan:
        """The options, then the planner, then the degrees, then the routing."""
        plan = self._sized(state)
        if self.splitting is not None:
            return replace(plan, routing=self._router(plan, engine).plan(state.routing).routing)
        if self.degrees is not None:  # its loops learn from what tasks report, and the engine's own report nothing
            return plan
        readers = min(engine.slots, plan.pane_tasks or engine.slots)
        return replace(plan, pre_aggregate=state.density.tasks(readers))

    def learn(self, state: TuningState, plan: StagePlan, seen: StepMeasurement) -> TuningState:
        """What each part has learned; one that is not used any more forgets."""
        routing = costs = elastic = None
        if self.splitting is not None:
            routing = self._router(plan, seen.engine).learn(state.routing, batch_outcome(seen))
        if self.planner is not None:
            costs = (state.costs or CostModel()).after(step_timing(plan, seen))
        if self.degrees is not None:
            elastic = self.degrees.learn(state.elastic, step_load(plan, seen))
        return TuningState(routing, costs, elastic, Density(seen.delivered, sum(seen.rows_by_group.values())))

    def close(self, state: TuningState, engine: EngineFacts, first_open_pane: int | None) -> TuningState:
        """Tell the strategy which panes were sealed."""
        if self.splitting is None or state.routing is None:
            return replace(state, routing=None)
        router = self._router(self._sized(state), engine)
        return replace(state, routing=router.close(state.routing, first_open_pane))

    def target_slots(self, state: TuningState, *, idle: bool = False) -> int | None:
        """How many slots the next steps need, or a stream on which nothing comes; ``None`` if that follows no load."""
        if self.degrees is None:
            return None
        return self.degrees.min_degree if idle else max(self.degrees.target(state.elastic))

    def report(self, before: TuningState, after: TuningState, plan: StagePlan, seen: StepMeasurement) -> TuningReport:
        """What there is to say about a step with a batch."""
        rho = None
        if self.splitting is not None:
            rho = self._router(plan, seen.engine).rho(before.routing, batch_outcome(seen))
        return self.status(after)._replace(rho=rho)

    def status(self, state: TuningState) -> TuningReport:
        """The degrees that are decided."""
        target = None if self.degrees is None else self.degrees.target(state.elastic)
        return TuningReport(None, target, state.elastic)

    def planning(self, state: TuningState) -> Planning | None:
        """The planner with what it knows, where steps are planned."""
        return None if self.planner is None else Planning(self.planner, state.costs)

    def _sized(self, state: TuningState) -> StagePlan:
        """How many tasks there are."""
        plan = self.base if self.planner is None else self.planner.plan(state.costs)
        if self.degrees is None:
            return plan
        panes, windows = self.degrees.choose(state.elastic)
        return replace(plan, pane_tasks=panes, key_tasks=windows, max_threads=windows)

    def _router(self, plan: StagePlan, engine: EngineFacts) -> BatchPlanner:
        assert self.splitting is not None
        return BatchPlanner(self.splitting, plan.pane_tasks or engine.slots)
