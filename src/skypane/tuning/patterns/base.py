"""Pattern: a tree that says how the work on windows is shared; immutable, and the same for every engine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

from skypane.model.durations import format_duration_us
from skypane.model.errors import OptionError
from skypane.tuning.patterns.extent import Extent
from skypane.tuning.patterns.network import Block, threads
from skypane.tuning.patterns.tree_plan import TreePlan

P = TypeVar("P", bound="Pattern")
SOURCE_AND_SINK = 2
LEVELS = (0, 1, 2)
"""Of fusion, see :mod:`skypane.tuning.patterns.fusion`."""


@dataclass(frozen=True)
class Work:
    """What a pattern is to do, as far as it has to know."""

    windows: Extent
    decomposable: bool = True
    """Whether partials of parts of a window combine to the window's: else only whole windows can be shared."""
    divisible: bool = True
    """Whether several workers can share the windows of one key at all."""
    counts: str = "us"
    """What windows are counted in, for people."""

    def shown(self, length: int) -> str:
        """A length of windows, for people."""
        return format_duration_us(length) if self.counts == "us" else f"{length:,} {self.counts}"

    def every(self, n: int) -> Work:
        """The work of one of n replicas that take windows in turn."""
        return replace(self, windows=self.windows.every(n))


@dataclass(frozen=True)
class Pattern(ABC):
    """One way to share the work. Implement one in its own file, run :func:`skypane.testing.check_pattern` on it."""

    kind: ClassVar[str]
    """The name in errors and explanations."""
    short: ClassVar[str]
    """The name in the papers' notation."""
    holds: ClassVar[frozenset[str]] = frozenset()
    """The kinds that it may be made of; none if it is a leaf."""
    needs_overlap: ClassVar[bool] = False
    """Whether windows have to overlap."""

    @property
    @abstractmethod
    def workers(self) -> int:
        """How many nodes answer panes or windows: what a machine needs cores for."""

    @abstractmethod
    def check(self, work: Work) -> None:
        """Raise an :class:`OptionError` that says why the pattern cannot do this work, and what can."""

    @abstractmethod
    def network(self, work: Work) -> Block:
        """The nodes and how they are connected, fused as far as the tree says."""

    @abstractmethod
    def stage_plan(self) -> TreePlan:
        """What the stages of an engine do for it."""

    @abstractmethod
    def sentence(self, work: Work) -> str:
        """Who does what, in a sentence; of a nested pattern the outer part only."""

    @property
    def inner(self) -> Pattern | None:
        """The replicated pattern, if there is one."""
        return None

    @property
    def level(self) -> int:
        """How far it is fused."""
        return 0

    @abstractmethod
    def fused(self: P, level: int) -> P:
        """Fuse the network up to this level; replicated patterns stay as they are."""

    def threads(self, work: Work) -> int:
        """With source and sink, as the papers count them."""
        return threads(self.network(work)) + SOURCE_AND_SINK

    def legal(self, work: Work) -> bool:
        """Whether it can do this work."""
        try:
            self.check(work)
        except OptionError:
            return False
        return True

    def inner_work(self, work: Work) -> Work:
        """What its replicas have to do."""
        return work

    def describe(self, work: Work) -> str:
        """The whole tree, a line for each pattern."""
        lines = [f"{self}: {self.sentence(work)}"]
        if self.inner is not None:
            lines += [f"  {line}" for line in self.inner.describe(self.inner_work(work)).splitlines()]
        return "\n".join(lines)

    @property
    def _fusion(self) -> str:
        return f" L{self.level}" if self.level else ""


def check_level(level: int) -> None:
    """Refuse what is no level of fusion."""
    if level not in LEVELS or type(level) is not int:
        raise OptionError(f"level={level!r} is unknown; fusion has the levels 0 (none), 1 and 2.")


def check_count(kind: str, what: str, count: object, low: int = 1) -> None:
    """Refuse a degree that is none."""
    if isinstance(count, bool) or not isinstance(count, int) or count < low:
        raise OptionError(f"{kind}: {what}={count!r} must be a whole number from {low}.")


def check_divisible(kind: str, work: Work) -> None:
    """Refuse windows that one worker has to answer."""
    if not work.divisible:
        raise OptionError(
            f"{kind} splits the windows of a key across workers, and here one worker must see every record of a key. "
            "Use KeyFarm(n), or WinSeq()."
        )


def check_decomposable(kind: str, work: Work) -> None:
    """Refuse functions that need whole windows."""
    if not work.decomposable:
        raise OptionError(
            f"{kind} splits windows into parts, and this function needs all records of a window at once. "
            "Use WinFarm(n), or KeyFarm(n) with many keys."
        )
