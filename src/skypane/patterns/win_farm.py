"""WinFarm: windows of a key to replicas in turn."""

from __future__ import annotations

from dataclasses import dataclass

from skypane.model.errors import OptionError
from skypane.patterns.base import Work
from skypane.patterns.farms import Farm
from skypane.patterns.network import Node, Role, node


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
        inner, (size, slide) = self.inner, work.windows
        if inner is not None and inner.needs_overlap and slide < size <= slide * self.degree:
            raise OptionError(
                f"{self}: each replica takes every {self.degree}th window, and those do not overlap any more "
                f"({self.degree} x {slide} {work.counts} is not less than the window, {size} {work.counts}), so "
                f"{inner.kind} has no panes to share. Use fewer than {-(-size // slide)} replicas."
            )
        self.replica.check(self.inner_work(work))

    def sentence(self, work: Work) -> str:
        """In words."""
        copies = min(self.degree, max(1, -(-work.windows.size // work.windows.slide)))
        read = "" if copies == 1 else f", a record to {copies} of them"
        return f"the windows of a key go to {self.degree} in turn{read}"
