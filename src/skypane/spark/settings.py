"""Settings: how a query is run on Spark; none of it changes the answers."""

from __future__ import annotations

from dataclasses import dataclass

from skypane.patterns.base import Pattern
from skypane.patterns.lowered import Lowered
from skypane.scheduling.degrees import Degrees
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

    tree: Pattern | None = None
    """The tree of patterns that was asked for, if any."""
    plan: Lowered | None = None
    """What a tree of patterns says about all this, if there is one; it goes before the rest."""

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

    @property
    def pane_tasks(self) -> str:
        """Which tasks the pane stage has, in words."""
        most = self.degrees.panes
        if self.splitting is None:
            return f"one task per source partition, at most {most or 'as many as Spark can run at a time'}"
        return f"{most or self.slots} tasks, routed by {strategy_name(self.splitting)}"

    @property
    def most_window_tasks(self) -> int:
        """How many tasks the window stage is cut into at most."""
        return most_tasks(self.degrees.windows, self.window_scheduling)
