"""Settings: how a query is run on Spark; none of it changes the answers."""

from __future__ import annotations

from dataclasses import dataclass

from skypane.flow.definition import Definition
from skypane.flow.patterned import planner_of
from skypane.patterns.base import Pattern
from skypane.patterns.lowered import Lowered
from skypane.patterns.planner import Planner
from skypane.scheduling.degrees import DegreePolicy, Degrees, FixedDegrees
from skypane.scheduling.elastic import Elastic
from skypane.scheduling.ownership import Ownership
from skypane.scheduling.pane_strategies import StrategyFactory, strategy_name
from skypane.scheduling.partitioning import Partitioning
from skypane.scheduling.ranges import WindowScheduling, most_tasks


@dataclass(frozen=True)
class Settings:
    """Tasks, and where they run."""

    degrees: Degrees
    inline_rows: int
    """A window stage with no more rows than this runs in the driver: a Spark job would cost more than it saves."""
    slots: int
    """How many tasks Spark runs at a time."""
    splitting: str | StrategyFactory | None = None
    """Who routes records to the tasks of the pane stage; nobody if partials are made where the records are."""
    window_scheduling: WindowScheduling = "ranges"
    partitioning: Partitioning = "batch"
    """How the windows of a key with too many rows for one task are dealt out."""
    cut_rows: int = 0
    """That is done from so many rows on, each counted once for each window that looks at it."""
    ownership: Ownership = "rr"
    """How the rows of such a key are dealt out where its windows are not: tasks then share the join of its rows."""
    elastic: Elastic | None = None
    """Whether degrees follow the load; those above are not looked at then."""
    planned: bool = False
    """Whether steps are planned from what the ones before took: nobody has said how to share the work."""
    tree: Pattern | None = None
    """The tree of patterns that was asked for, if any."""
    plan: Lowered | None = None
    """What a tree of patterns says about all this, if there is one; it goes before the rest."""
    max_latency_us: int | None = None
    """How long an answer may take; it says when steps are taken, then."""

    def degree_policy(self, most: int) -> DegreePolicy:
        """Who decides the degrees, where there can be so many tasks at a time."""
        return FixedDegrees(self.degrees) if self.elastic is None else self.elastic.degrees(most)

    def lowered(self, degree: int) -> Lowered:
        """The same in the words of trees, for so many tasks of the window stage."""
        return self.plan or Lowered(
            self.degrees.panes,
            self.splitting,
            key_tasks=degree,
            partitioning=self.partitioning,
            cut_rows=self.cut_rows,
            inline_rows=self.inline_rows,
        )

    def planner(self, definition: Definition, *, embedded: bool) -> Planner | None:
        """Who plans the steps, if nobody has said how to share the work."""
        if not self.planned:
            return None
        return planner_of(definition, self.lowered(self.degrees.windows), self.slots, embedded=embedded)

    @property
    def pane_tasks(self) -> str:
        """Which tasks the pane stage has, in words."""
        if self.elastic is not None:
            how = "where records are" if self.splitting is None else f"routed by {strategy_name(self.splitting)}"
            return f"as many tasks as are decided, {how}"
        most = self.degrees.panes
        if self.splitting is None:
            return f"one task per source partition, at most {most or 'as many as Spark can run at a time'}"
        return f"{most or self.slots} tasks, routed by {strategy_name(self.splitting)}"

    @property
    def window_tasks(self) -> str:
        """Which tasks the window stage has, in words."""
        return "as many tasks as are decided" if self.elastic is not None else f"up to {self.most_window_tasks} tasks"

    @property
    def most_window_tasks(self) -> int:
        """How many tasks the window stage is cut into at most; of changing degrees, at least."""
        return most_tasks(self.degrees.windows, self.window_scheduling)

    @property
    def one_window_task(self) -> bool:
        """Whether there is never more than one task of the window stage."""
        return self.most_window_tasks < 2 and self.elastic is None
