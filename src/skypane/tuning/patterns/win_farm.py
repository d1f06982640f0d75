"""WinFarm: windows of a key to replicas in turn."""

from __future__ import annotations

from dataclasses import dataclass, replace

from skypane.model.errors import OptionError
from skypane.tuning.patterns.base import Work, check_divisible
from skypane.tuning.patterns.farms import Farm
from skypane.tuning.patterns.network import Node, Role, node
from skypane.tuning.patterns.tree_plan import TreePlan


@dataclass(frozen=True, init=False, repr=False)
class WinFarm(Farm):
    """Window i of a key goes to replica (hash + i) mod n, a record to every replica that has a window of it."""

    kind = "WinFarm"
    short = "WF"
    holds = frozenset({"WinSeq", "PaneFarm", "WinMapReduce"})
    sends = Role.SEND_WINDOWS

    def collector(self, work: Work) -> Node | None:
        """It orders by window within a key."""
        return node(Role.ORDER, work.windows)

    def inner_work(self, work: Work) -> Work:
        """Every n-th window: panes of a replica are gcd(w, n s)."""
        return work.every(self.degree)

    def check(self, work: Work) -> None:
        """As what it replicates, for windows that are n times as far apart."""
        check_divisible(self.kind, work)
        inner, (size, slide) = self.inner, work.windows
        if inner is not None and inner.needs_overlap and slide < size <= slide * self.degree:
            raise OptionError(
                f"{self}: each replica takes every {self.degree}th window, and those do not overlap any more "
                f"({self.degree} x {work.shown(slide)} is not less than the window, {work.shown(size)}), so "
                f"{inner.kind} has no panes to share. Use fewer than {-(-size // slide)} replicas."
            )
        self.replica.check(self.inner_work(work))

    def stage_plan(self) -> TreePlan:
        """Every n-th window to a task; replicas that are farms themselves take every so-many-th of those."""
        one = self.replica.stage_plan()
        pane_tasks = None if one.pane_tasks is None else one.pane_tasks * self.degree
        window_tasks = (one.window_tasks or 1) * self.degree
        return replace(one, pane_tasks=pane_tasks, window_tasks=window_tasks, partitioning="window", inline_rows=0)

    def sentence(self, work: Work) -> str:
        """One line for ``explain()``."""
        copies = min(self.degree, max(1, -(-work.windows.size // work.windows.slide)))
        read = "" if copies == 1 else f", a record to {copies} of them"
        return f"the windows of a key go to {self.degree} in turn{read}"
