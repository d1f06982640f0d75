"""Lowered: what the stages of an engine do for a tree, in the words of the options that they have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from skypane.model.numbers import MOST
from skypane.scheduling.degrees import Degrees
from skypane.scheduling.pane_strategies import StrategyFactory, strategy_name
from skypane.scheduling.partitioning import Partitioning

ALL_ROWS: Final = MOST
"""More rows than any step has."""


@dataclass(frozen=True)
class Lowered:
    """The tasks of one step."""

    pane_tasks: int | None = None
    """``pane_degree``."""
    splitting: str | StrategyFactory | None = None
    """Who sends records to the tasks of the pane stage; nobody if partials are made where the records are."""
    key_tasks: int = 1
    """Into how many ranges the key groups are cut."""
    window_tasks: int | None = None
    """How many tasks share the windows of each range; ``None``: as many as its share of the rows is worth."""
    partitioning: Partitioning = "batch"
    cut_rows: int = 0
    inline_rows: int = 0

    @property
    def degrees(self) -> Degrees:
        """The tasks of both stages."""
        return Degrees(self.pane_tasks, self.key_tasks * (self.window_tasks or 1))

    @property
    def shares_windows(self) -> bool:
        """Whether tasks are to share the windows of one key in any case."""
        return (self.window_tasks or 1) > 1

    def fused(self) -> str:
        """What does not happen apart, in words."""
        sent = "records stay where they are read" if self.splitting is None else ""
        driver = "windows are answered in the driver" if self.inline_rows >= ALL_ROWS else ""
        return "; ".join(filter(None, (sent, driver))) or "nothing"

    def describe(self) -> str:
        """The options that say the same; of the window stage's rows, what is not the rule."""
        routed = "combine" if self.splitting is None else strategy_name(self.splitting)
        options = [f"splitting={routed!r}", f"pane_degree={self.pane_tasks}", f"degree={self.degrees.windows}"]
        if self.shares_windows:
            options += [f"partitioning={self.partitioning!r}", f"cut_rows={self.cut_rows}"]
        where = "in the driver" if self.inline_rows >= ALL_ROWS else f"inline_rows={self.inline_rows}"
        return ", ".join([*options, where])
