"""WinSeq: all windows one after the other."""

from __future__ import annotations

from dataclasses import dataclass

from skypane.flow.plan import ALL_ROWS
from skypane.tuning.patterns.base import Pattern, Work, check_level
from skypane.tuning.patterns.network import Block, Role, node
from skypane.tuning.patterns.tree_plan import TreePlan


@dataclass(frozen=True)
class WinSeq(Pattern):
    """One worker, no parallelism; the pattern that farms replicate by default."""

    kind = "WinSeq"
    short = "WS"

    @property
    def workers(self) -> int:
        """One worker."""
        return 1

    def check(self, work: Work) -> None:
        """Accept any work."""

    def network(self, work: Work) -> Block:
        """A network of one node."""
        return node(Role.WINDOWS, work.windows)

    def fused(self, level: int) -> WinSeq:
        """There is nothing to fuse."""
        check_level(level)
        return self

    def stage_plan(self) -> TreePlan:
        """One task, then the driver."""
        return TreePlan(1, key_tasks=1, window_tasks=1, inline_rows=ALL_ROWS)

    def sentence(self, work: Work) -> str:
        """One line for ``explain()``."""
        del work
        return "one worker answers all windows"

    def __str__(self) -> str:
        return self.short
