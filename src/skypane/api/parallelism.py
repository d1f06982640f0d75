"""Parallelism: who does which work, and how; none of it changes an answer."""

from __future__ import annotations

from dataclasses import dataclass

from skypane.api.by_name import as_splitting
from skypane.api.options import check
from skypane.scheduling.degrees import Degrees
from skypane.scheduling.ownership import ownership
from skypane.scheduling.pane_strategies import StrategyFactory
from skypane.scheduling.partitioning import partitioning
from skypane.scheduling.ranges import window_scheduling
from skypane.spark.settings import Settings


@dataclass(frozen=True)
class Parallelism:
    """The options of :meth:`~skypane.api.stream.ContinuousQuery.parallel`, which explains them."""

    splitting: str | StrategyFactory = "combine"
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
        )
