"""Farm: what the two patterns that replicate others have in common."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TypeVar

from skypane.model.errors import OptionError
from skypane.tuning.patterns.base import Pattern, Work, check_count, check_level
from skypane.tuning.patterns.fusion import replicas_fused
from skypane.tuning.patterns.network import Block, Node, Role, farm, node
from skypane.tuning.patterns.win_seq import WinSeq

F = TypeVar("F", bound="Farm")


@dataclass(frozen=True, init=False)
class Farm(Pattern):
    """``Farm(n)`` replicates WinSeq, ``Farm(inner, n)`` another pattern."""

    replica: Pattern
    degree: int
    level: int = 0

    def __init__(self, of: Pattern | int | None = None, n: int | None = None, *, level: int = 0) -> None:
        if of is None and n is None:
            raise TypeError(f"{self.kind}(n) needs n, the number of replicas.")
        self._check_order(of, n)
        replica, degree = (of, n) if of is not None and n is not None else (WinSeq(), of if n is None else n)
        check_count(self.kind, "n", degree)
        if not isinstance(replica, Pattern):
            raise OptionError(f"{self.kind}({of!r}, {n!r}): what comes before n must be a pattern.")
        if replica.kind not in self.holds:
            allowed = ", ".join(sorted(self.holds))
            raise OptionError(f"{self.kind} cannot hold {replica.kind}; it replicates {allowed}.")
        object.__setattr__(self, "replica", replica)
        object.__setattr__(self, "degree", degree)
        object.__setattr__(self, "level", level)
        check_level(level)

    def _check_order(self, of: object, n: object) -> None:
        """Refuse what is missing or the wrong way round with what to write instead."""
        if isinstance(of, Pattern) and n is None:
            raise OptionError(
                f"{self.kind}({of!r}): n is missing, the number of replicas, as in {self.kind}({of!r}, 4)."
            )
        if isinstance(n, Pattern):
            raise OptionError(f"{self.kind}({of!r}, {n!r}): write it the other way round, {self.kind}({n!r}, {of!r}).")

    def fused(self: F, level: int) -> F:
        """The farm itself; what it replicates has a level of its own."""
        return type(self)(self.replica, self.degree, level=level)

    @property
    def inner(self) -> Pattern | None:
        """What it replicates, unless that is the plain sequence."""
        return None if self.replica == WinSeq() else self.replica

    @property
    def workers(self) -> int:
        """The workers of all replicas."""
        return self.degree * self.replica.workers

    @property
    @abstractmethod
    def sends(self) -> Role:
        """What its emitter does."""

    @abstractmethod
    def collector(self, work: Work) -> Node | None:
        """What puts the replicas' results in order, if anything has to."""

    def network(self, work: Work) -> Block:
        """An emitter, the replicas, perhaps a collector."""
        emitter = node(self.sends, work.windows, self.degree)
        replica, collector = self.replica.network(self.inner_work(work)), self.collector(work)
        if self.inner is None:
            return farm(emitter, replica, self.degree, collector)
        return replicas_fused(emitter, replica, self.degree, collector, self.level)

    def __str__(self) -> str:
        inside = str(self.degree) if self.inner is None else f"{self.inner}, {self.degree}"
        return f"{self.short}({inside}){self._fusion}"

    def __repr__(self) -> str:
        inside = str(self.degree) if self.inner is None else f"{self.inner!r}, {self.degree}"
        return f"{self.kind}({inside}{f', level={self.level}' if self.level else ''})"
