"""Parallelism: who does which work, and how; none of it changes an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from skypane.api.by_name import as_elastic, as_splitting
from skypane.api.options import ELASTIC, check
from skypane.model.durations import Duration, parse_duration_us
from skypane.model.errors import OptionError
from skypane.patterns.base import Pattern
from skypane.patterns.lowered import Lowered
from skypane.patterns.parse import parse_pattern
from skypane.scheduling.elastic import Elastic
from skypane.scheduling.ownership import ownership
from skypane.scheduling.pane_strategies import StrategyFactory
from skypane.scheduling.pane_strategy import check_degree
from skypane.scheduling.partitioning import partitioning
from skypane.scheduling.ranges import window_scheduling
from skypane.spark.settings import Settings

AUTO: Final = "auto"
_BATCH: Final = "batch"
_SAID_BY_TREES: Final = (
    "splitting",
    "elastic",
    "pane_degree",
    "degree",
    "window_scheduling",
    "ownership",
    "cut_rows",
    "inline_rows",
)
"""What a tree says in other words."""


@dataclass(frozen=True)
class Parallelism:
    """The options of :meth:`~skypane.api.stream.ContinuousQuery.parallel`, which explains them."""

    pattern: Pattern | str = AUTO
    max_latency: Duration | None = None
    splitting: str | StrategyFactory = "combine"
    elastic: Elastic | bool = False
    pane_degree: int | None = None
    degree: int | None = None
    window_scheduling: str = "ranges"
    partitioning: str = "batch"
    cut_rows: int = 2_000_000
    ownership: str = "rr"
    inline_rows: int = 100_000
    sliding: str = "auto"
    processing: str = "out_of_order"

    def __post_init__(self) -> None:
        as_elastic(self.elastic)  # in Python there is more to it than yes or no, so its message comes first
        check("parallel", vars(self))
        if self.tree is not None:
            self._check_alone(self.tree)
        if self.elastic and (self.degree is not None or self.pane_degree is not None):
            raise OptionError(
                "elastic decides the degrees itself: leave out degree and pane_degree, or say within which limits: "
                "min_degree and max_degree, in Python sp.Elastic(min_degree=..., max_degree=...)."
            )
        self.settings(slots=1)

    @property
    def tree(self) -> Pattern | None:
        """The tree of patterns that was asked for, if any."""
        if not isinstance(self.pattern, str):
            return self.pattern
        return None if self.pattern == AUTO else parse_pattern(self.pattern)

    @property
    def planned(self) -> bool:
        """Whether nobody has said anything about who does which work."""
        return not self.said()

    def said(self) -> list[str]:
        """What is said about it, as it would be written."""
        tree = [] if self.tree is None else [f"pattern={self.tree}"]
        shared = [] if self.partitioning == _BATCH else [f"partitioning={self.partitioning!r}"]
        return [*tree, *self._said(), *shared]

    def _said(self) -> list[str]:
        """By options that a tree says in other words."""
        given = {**vars(self), "elastic": bool(self.elastic)}  # its limits are not at issue
        return [f"{name}={given[name]!r}" for name in _SAID_BY_TREES if given[name] != getattr(Parallelism, name)]

    def _check_alone(self, tree: Pattern) -> None:
        """A tree says all that these options say."""
        if said := ", ".join(self._said()):
            raise OptionError(f"pattern={tree} says who does which work: leave out {said}, or the pattern.")
        if self.partitioning != _BATCH and not tree.lowered().shares_windows:
            raise OptionError(f"partitioning={self.partitioning!r}: with pattern={tree} no tasks share windows.")
        check_degree(tree.lowered().pane_tasks or 1, f"pattern={tree}: tasks of the pane stage")

    def _plan(self, slots: int) -> Lowered:
        """What a tree says, or else the options."""
        shared = partitioning(self.partitioning)
        if self.tree is not None:
            plan = self.tree.lowered()
            return plan if shared == _BATCH else replace(plan, partitioning=shared)
        return Lowered(
            self.pane_degree,
            as_splitting(self.splitting, self.pane_degree),
            key_tasks=self.degree or slots,
            partitioning=shared,
            cut_rows=self.cut_rows,
            inline_rows=self.inline_rows,
        )

    def settings(self, slots: int) -> Settings:
        """For an engine that runs so many tasks at a time."""
        plan = self._plan(slots)
        return Settings(
            plan.degrees,
            plan.inline_rows,
            slots,
            plan.splitting,
            window_scheduling(self.window_scheduling),
            plan.partitioning,
            plan.cut_rows,
            ownership(self.ownership),
            as_elastic(self.elastic),
            self.planned,
            self.tree,
            None if self.tree is None else plan,
            None if self.max_latency is None else parse_duration_us(self.max_latency, "max_latency"),
        )


def parallel_arguments(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a file as arguments of ``parallel``: those of elastic degrees are one object."""
    names = {option.name for option in ELASTIC}
    own = {name: value for name, value in settings.items() if name not in {*names, "elastic"}}
    of_elastic = {name: value for name, value in settings.items() if name in names}
    elastic = as_elastic(settings.get("elastic", False), **of_elastic)
    return own if elastic is None else {**own, "elastic": elastic}
