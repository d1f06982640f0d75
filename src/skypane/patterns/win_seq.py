"""WinSeq: all windows one after the other."""

from __future__ import annotations

from dataclasses import dataclass

from skypane.patterns.base import Pattern, Work, check_level
from skypane.patterns.lowered import ALL_ROWS, Lowered
from skypane.patterns.network import Block, Role, node


@dataclass(frozen=True)
class WinSeq(Pattern):
    """One worker, no parallelism; what farms replicate unless they are told otherwise."""

    kind = "WinSeq"
    short = "WS"

    @property
    def workers(self) -> int:
        """Itself."""
        return 1

    def check(self, work: Work) -> None:
        """It can do everything."""

    def network(self, work: Work) -> Block:
        """One node."""
        return node(Role.WINDOWS, work.windows)

    def fused(self, level: int) -> WinSeq:
        """There is nothing to fuse."""
        check_level(level)
        return self

    def lowered(self) -> Lowered:
        """One task, then the driver."""
        return Lowered(1, key_tasks=1, window_tasks=1, inline_rows=ALL_ROWS)

    def sentence(self, work: Work) -> str:
        """In words."""
        del work
        return "one worker answers all windows"

    def __str__(self) -> str:
        return self.short
