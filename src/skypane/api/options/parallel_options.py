"""ParallelOptions: how many tasks share the work, and how; no answer changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from skypane.api.by_name import as_elastic, as_splitting
from skypane.api.options.declarations import ELASTIC, check
from skypane.api.options.tuning import Tuning
from skypane.model.durations import Duration, parse_duration_us
from skypane.model.errors import OptionError
from skypane.tuning.elastic.elastic import Elastic
from skypane.tuning.parallel_plan import ParallelPlan
from skypane.tuning.patterns.base import Pattern
from skypane.tuning.patterns.parse import parse_pattern
from skypane.tuning.patterns.tree_plan import TreePlan
from skypane.tuning.sharing.joins import ownership
from skypane.tuning.sharing.ranges import window_scheduling
from skypane.tuning.sharing.windows import partitioning
from skypane.tuning.splitting.pane_strategy import check_degree

AUTO: Final = "auto"
_BATCH: Final = "batch"
_SET_BY_TREES: Final = (
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
class ParallelOptions:
    """The options of :meth:`~skypane.api.continuous_query.ContinuousQuery.parallel`, which explains them."""

    degree: int | None = None
    elastic: Elastic | bool = False
    max_latency: Duration | None = None
    pattern: Pattern | str = AUTO
    tuning: Tuning = Tuning()

    def __post_init__(self) -> None:
        as_elastic(self.elastic)  # in Python there is more to it than yes or no, so its message comes first
        if not isinstance(self.tuning, Tuning):
            raise OptionError(f"tuning={self.tuning!r} must be an sp.Tuning, e.g. sp.Tuning(splitting='adaptive').")
        check("parallel", {name: value for name, value in vars(self).items() if name != "tuning"})
        if self.tree is not None:
            self._check_alone(self.tree)
        if self.elastic and (self.degree is not None or self.tuning.pane_degree is not None):
            raise OptionError(
                "elastic decides the degrees itself: leave out degree and pane_degree, or set limits instead with "
                "min_degree and max_degree, in Python sp.Elastic(min_degree=..., max_degree=...)."
            )
        self.plan()

    @property
    def tree(self) -> Pattern | None:
        """The tree of patterns, if one is chosen."""
        if not isinstance(self.pattern, str):
            return self.pattern
        return None if self.pattern == AUTO else parse_pattern(self.pattern)

    @property
    def planned(self) -> bool:
        """Whether the planner decides how tasks share the work: no option does."""
        return not self.explicit()

    def explicit(self) -> list[str]:
        """The options that decide how tasks share the work, as they are written."""
        tree = [] if self.tree is None else [f"pattern={self.tree}"]
        shared = [] if self.tuning.partitioning == _BATCH else [f"partitioning={self.tuning.partitioning!r}"]
        return [*tree, *self._set_by_trees(), *shared]

    def _set_by_trees(self) -> list[str]:
        """Options with a value of their own that a pattern tree would set, too."""
        given = {**vars(self), **vars(self.tuning), "elastic": bool(self.elastic)}  # its limits are not at issue
        defaults = {**vars(ParallelOptions), **vars(Tuning)}
        return [f"{name}={given[name]!r}" for name in _SET_BY_TREES if given[name] != defaults[name]]

    def _check_alone(self, tree: Pattern) -> None:
        """A tree decides all that these options decide."""
        if given := ", ".join(self._set_by_trees()):
            raise OptionError(f"pattern={tree} decides how tasks share the work: leave out {given}, or the pattern.")
        if self.tuning.partitioning != _BATCH and not tree.stage_plan().shares_windows:
            given = f"partitioning={self.tuning.partitioning!r}"
            raise OptionError(f"{given}: with pattern={tree} tasks do not share windows. Leave one of them out.")
        check_degree(tree.stage_plan().pane_tasks or 1, f"pattern={tree}: tasks of the pane stage")

    def _stages(self) -> TreePlan:
        """What a tree says, or else the options."""
        shared = partitioning(self.tuning.partitioning)
        if self.tree is not None:
            plan = self.tree.stage_plan()
            return plan if shared == _BATCH else replace(plan, partitioning=shared)
        return TreePlan(
            pane_tasks=self.tuning.pane_degree,
            splitting=as_splitting(self.tuning.splitting, self.tuning.pane_degree),
            key_tasks=self.degree,
            scheduling=window_scheduling(self.tuning.window_scheduling),
            partitioning=shared,
            ownership=ownership(self.tuning.ownership),
            cut_rows=self.tuning.cut_rows,
            join_rows=self.tuning.cut_rows,
            inline_rows=self.tuning.inline_rows,
        )

    def plan(self) -> ParallelPlan:
        """What a query's tuner is made from."""
        stages = self._stages()
        return ParallelPlan(
            base=stages.stages(),
            splitting=stages.splitting,
            elastic=as_elastic(self.elastic),
            planned=self.planned,
            tree=self.tree,
            max_latency_us=None if self.max_latency is None else parse_duration_us(self.max_latency, "max_latency"),
        )


def parallel_arguments(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a file as arguments of ``parallel``: those of elastic degrees are one object."""
    names = {option.name for option in ELASTIC}
    own = {name: value for name, value in settings.items() if name not in {*names, "elastic"}}
    of_elastic = {name: value for name, value in settings.items() if name in names}
    elastic = as_elastic(settings.get("elastic", False), **of_elastic)
    return own if elastic is None else {**own, "elastic": elastic}
