"""KeyFarm: keys to replicas."""

from __future__ import annotations

from dataclasses import dataclass, replace

from skypane.patterns.base import Work
from skypane.patterns.farms import Farm
from skypane.patterns.lowered import ALL_ROWS, Lowered
from skypane.patterns.network import Node, Role


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
        """As what it replicates."""
        self.replica.check(work)

    def lowered(self) -> Lowered:
        """Ranges of key groups, each with the tasks of a replica; fused, plain replicas answer in the driver."""
        one, fused = self.replica.lowered(), self.inner is None and self.level >= 1
        pane_tasks = None if one.pane_tasks is None else one.pane_tasks * self.degree
        return replace(one, pane_tasks=pane_tasks, key_tasks=self.degree, inline_rows=ALL_ROWS if fused else 0)

    def sentence(self, work: Work) -> str:
        """In words."""
        del work
        return f"keys are dealt out to {self.degree} by their hash"
