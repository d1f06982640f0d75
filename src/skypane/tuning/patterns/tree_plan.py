"""TreePlan: what the stages of an engine do for a pattern tree."""

from __future__ import annotations

from dataclasses import dataclass, fields

from skypane.flow.plan import ALL_ROWS, StagePlan
from skypane.tuning.splitting.pane_strategies import StrategyFactory, strategy_name


@dataclass(frozen=True)
class TreePlan(StagePlan):
    """A plan for all steps, and the strategy that routes the records of each batch."""

    key_tasks: int | None = 1
    splitting: str | StrategyFactory | None = None
    """Sends records to the tasks of the pane stage; ``None``: partials are made where records are read."""

    def stages(self) -> StagePlan:
        """The plan alone, which travels to tasks."""
        return StagePlan(**{field.name: getattr(self, field.name) for field in fields(StagePlan)})

    def fused(self) -> str:
        """What does not happen apart, in words."""
        sent = "records stay where they are read" if self.splitting is None else ""
        driver = "windows are answered in the driver" if self.inline_rows >= ALL_ROWS else ""
        return "; ".join(filter(None, (sent, driver))) or "nothing"

    def describe(self) -> str:
        """The options that say the same; of the window stage's rows, what is not the rule."""
        routed = "combine" if self.splitting is None else strategy_name(self.splitting)
        options = [f"splitting={routed!r}", f"pane_degree={self.pane_tasks}", f"degree={self.window_degree(1)}"]
        if self.shares_windows:
            options += [f"partitioning={self.partitioning!r}", f"cut_rows={self.cut_rows}"]
        where = "in the driver" if self.inline_rows >= ALL_ROWS else f"inline_rows={self.inline_rows}"
        return ", ".join([*options, where])
