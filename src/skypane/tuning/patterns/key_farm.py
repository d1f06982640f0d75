"""KeyFarm: keys to replicas."""

from __future__ import annotations

from dataclasses import dataclass, replace

from skypane.flow.plan import ALL_ROWS
from skypane.tuning.patterns.base import Work
from skypane.tuning.patterns.farms import Farm
from skypane.tuning.patterns.network import Node, Role
from skypane.tuning.patterns.tree_plan import TreePlan


@dataclass(frozen=True, init=False, repr=False)
class KeyFarm(Farm):
    """Each of n replicas has the keys whose hash is its number modulo n."""

    kind = "KeyFarm"
    short = "KF"
    holds = frozenset({"WinSeq", "WinFarm", "PaneFarm", "WinMapReduce"})
    sends = Role.SEND_KEYS

    def collector(self, work: Work) -> Node | None:
        """None: the windows of a key come from one replica, in order."""
        del work
        return None

    def check(self, work: Work) -> None:
        """Check the replicated pattern."""
        self.replica.check(work)

    def stage_plan(self) -> TreePlan:
        """Ranges of key groups, each with the tasks of a replica; fused, plain replicas answer in the driver."""
        one, fused = self.replica.stage_plan(), self.inner is None and self.level >= 1
        pane_tasks = None if one.pane_tasks is None else one.pane_tasks * self.degree
        return replace(one, pane_tasks=pane_tasks, key_tasks=self.degree, inline_rows=ALL_ROWS if fused else 0)

    def sentence(self, work: Work) -> str:
        """One line for ``explain()``."""
        del work
        return f"keys are distributed over {self.degree} by their hash"
