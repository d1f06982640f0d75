"""Parallelism: who does which work, and how; none of it changes an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from skypane.api.by_name import as_elastic, as_splitting
from skypane.api.options import ELASTIC, check
from skypane.model.errors import OptionError
from skypane.scheduling.degrees import Degrees
from skypane.scheduling.elastic import Elastic
from skypane.scheduling.ownership import ownership
from skypane.scheduling.pane_strategies import StrategyFactory
from skypane.scheduling.partitioning import partitioning
from skypane.scheduling.ranges import window_scheduling
from skypane.spark.settings import Settings


@dataclass(frozen=True)
class Parallelism:
    """The options of :meth:`~skypane.api.stream.ContinuousQuery.parallel`, which explains them."""

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
        check("parallel", vars(self))
        if self.elastic and (self.degree is not None or self.pane_degree is not None):
            raise OptionError(
                "elastic=... decides the degrees itself: leave out degree= and pane_degree=, or give its limits as "
                "sp.Elastic(min_degree=..., max_degree=...)."
            )
        self.settings(slots=1)

    def settings(self, slots: int) -> Settings:
        """For an engine that runs so many tasks at a time."""
        return Settings(
            Degrees(self.pane_degree, self.degree or slots),
            self.inline_rows,
            slots,
            as_splitting(self.splitting, self.pane_degree),
            window_scheduling(self.window_scheduling),
            partitioning(self.partitioning),
            self.cut_rows,
            ownership(self.ownership),
            as_elastic(self.elastic),
        )


def parallel_arguments(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a file as arguments of ``parallel``: those of elastic degrees are one object."""
    names = {option.name for option in ELASTIC}
    own = {name: value for name, value in settings.items() if name not in {*names, "elastic"}}
    of_elastic = {name: value for name, value in settings.items() if name in names}
    elastic = as_elastic(settings.get("elastic", False), **of_elastic)
    return own if elastic is None else {**own, "elastic": elastic}
