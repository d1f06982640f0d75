"""ParallelPlan: what the options say about sharing the work. A query's tuner is made from it."""

from __future__ import annotations

from dataclasses import dataclass, field

from skypane.flow.definition import Definition
from skypane.flow.plan import StagePlan
from skypane.tuning.elastic.elastic import Elastic
from skypane.tuning.pattern_fit import planner_of
from skypane.tuning.patterns.base import Pattern
from skypane.tuning.splitting.pane_strategies import StrategyFactory
from skypane.tuning.tuner import StepTuner


@dataclass(frozen=True)
class ParallelPlan:
    """None of it changes an answer."""

    base: StagePlan = field(default_factory=StagePlan)
    splitting: str | StrategyFactory | None = None
    """Routes records to the tasks of the pane stage; ``None``: partials are made where records are read."""
    elastic: Elastic | None = None
    """Whether degrees follow the load; those of the base do not count then."""
    planned: bool = False
    """Whether steps are planned from what the ones before took: no option says how to share the work."""
    tree: Pattern | None = None
    """The pattern tree that says all this, if there is one."""
    max_latency_us: int | None = None
    """How long an answer may take: decides when steps are taken, not how."""

    def tuner(self, definition: Definition, *, slots: int, embedded: bool, max_degree: int = 0) -> StepTuner:
        """For a query on an engine with so many slots, of which elastic degrees may use ``max_degree``."""
        planner = planner_of(definition, self.base, slots, embedded=embedded) if self.planned else None
        degrees = None if self.elastic is None else self.elastic.degrees(max_degree)
        return StepTuner(self.base, self.splitting, degrees, planner)
