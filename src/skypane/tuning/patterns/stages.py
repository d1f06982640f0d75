"""TwoStages: what the two patterns that cut windows have in common."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

from skypane.flow.plan import ALL_ROWS
from skypane.tuning.patterns.base import Pattern, Work, check_count, check_level
from skypane.tuning.patterns.extent import Extent
from skypane.tuning.patterns.fusion import fused
from skypane.tuning.patterns.network import Block, Role, farm, node, pipe
from skypane.tuning.patterns.tree_plan import TreePlan

T = TypeVar("T", bound="TwoStages")


@dataclass(frozen=True)
class TwoStages(Pattern):
    """``n`` workers on parts of windows, ``m`` that put the parts together."""

    routing: ClassVar[str]
    """The pane strategy that sends records as its emitter does."""

    n: int
    m: int
    level: int = 0

    def __post_init__(self) -> None:
        check_level(self.level)
        check_count(self.kind, "n", self.n, self.least)
        check_count(self.kind, "m", self.m)

    def fused(self: T, level: int) -> T:
        """Fuse the two stages."""
        return replace(self, level=level)

    @property
    def least(self) -> int:
        """How many workers the first stage has at least."""
        return 1

    @property
    def workers(self) -> int:
        """The workers of both stages."""
        return self.n + self.m

    @abstractmethod
    def second(self, windows: Extent) -> Extent:
        """The windows that the second stage answers, counted in results of the first."""

    @property
    @abstractmethod
    def roles(self) -> tuple[Role, Role]:
        """What the first stage's emitter does, and what its workers do."""

    def network(self, work: Work) -> Block:
        """Two stages, each alone or a farm, fused."""
        over, (sends, answers), second = work.windows, self.roles, self.second(work.windows)
        worker = node(answers, over, self.n)
        first = worker if self.n == 1 else farm(node(sends, over, self.n), worker, self.n, node(Role.ORDER, over))
        last: Block = node(Role.WINDOWS, second.every(self.m))
        if self.m > 1:
            last = farm(node(Role.SEND_WINDOWS, second, self.m), last, self.m, node(Role.ORDER, second))
        return fused(pipe(first, last), self.level)

    def stage_plan(self) -> TreePlan:
        """Two stages; fused, one that is alone runs in the driver, and records are not sent to tasks but stay."""
        return TreePlan(
            self.n,
            splitting=self.routing if self.n > 1 and self.level < 2 else None,
            window_tasks=self.m,
            inline_rows=ALL_ROWS if self.m == 1 and self.level >= 1 else 0,
        )

    def __str__(self) -> str:
        return f"{self.short}({self.n},{self.m}){self._fusion}"

    def __repr__(self) -> str:
        return f"{self.kind}({self.n}, {self.m}{f', level={self.level}' if self.level else ''})"
