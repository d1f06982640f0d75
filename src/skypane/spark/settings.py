"""Settings: how a query is run on Spark; none of it changes the answers."""

from __future__ import annotations

from dataclasses import dataclass

from skypane.scheduling.degrees import Degrees
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
