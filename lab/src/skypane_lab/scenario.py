"""Scenario: one stream, one machine, one query to simulate; the defaults are those of paper 1's figure 8."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from skypane.model.errors import OptionError
from skypane.model.windows import WindowSpec
from skypane.traffic.spec import TrafficSpec
from skypane.tuning.splitting.splitting_controller import ControlOptions
from skypane_lab.arrivals import ArrivalTable, tabulate
from skypane_lab.cost_model import CostModel, paper_machine
from skypane_lab.elastic_run import Elastic, ElasticRun, run_elastic
from skypane_lab.pane_run import Distributions, PaneRun, run_panes
from skypane_lab.strategies.pane_strategies import pane_strategy
from skypane_lab.strategies.window_strategies import window_strategy
from skypane_lab.window_run import WindowFigures, run_windows

MIXED = ("independent", "correlated", "anticorrelated")


@dataclass(frozen=True)
class Scenario:
    """A stream with MAP(2) bursts (Poisson if ``dispersion`` is 1) and uniform delays."""

    rate: float = 100_000.0
    dispersion: float = 1.0
    window: WindowSpec = field(default_factory=lambda: WindowSpec(1_000_000, 100_000))
    mean_delay_us: int = 200_000
    duration_s: float = 180.0
    warm_up_s: float = 60.0
    points: Distributions = field(default_factory=Distributions)
    cost: CostModel = field(default_factory=paper_machine)
    period_us: int = 1_000_000
    slice_us: int = 10_000
    seed: int = 1
    in_order: bool = False
    fixed_slack_us: int | None = None
    stream: tuple[tuple[str, str], ...] = ()
    """More options of the generated stream, which go before those above."""

    def __post_init__(self) -> None:
        if not self.warm_up_s < self.duration_s:
            raise OptionError(f"warm_up={self.warm_up_s:g} s must be shorter than duration={self.duration_s:g} s.")

    def spec(self) -> TrafficSpec:
        """The generated stream."""
        options: dict[str, Any] = {
            "rate": self.rate,
            "arrivals": "poisson" if self.dispersion <= 1 else "map",
            "dispersion": self.dispersion,
            "disorder": "uniform" if self.mean_delay_us else "none",
            "mean_delay": f"{self.mean_delay_us} us",
            "duration": f"{self.duration_s} s",
            "seed": self.seed,
            "attributes": 0,
            **dict(self.stream),
        }
        if not self.mean_delay_us:
            del options["mean_delay"]
        return TrafficSpec.from_options(options)

    def table(self) -> ArrivalTable:
        """The arrivals; kept, since many strategies and degrees are tried on the same stream."""
        return _tabulated(self.spec(), self.window.pane_us, self.slice_us, self.in_order, self.fixed_slack_us)

    def panes(self, strategy: str, degree: int, control: ControlOptions | None = None) -> PaneRun:
        """The pane stage under a strategy."""
        return run_panes(
            self.table(),
            pane_strategy(strategy, degree, control),
            self.cost,
            self.points,
            period_us=self.period_us,
            warm_up_us=round(self.warm_up_s * 1e6),
        )

    def windows(self, panes: PaneRun, strategy: str, degree: int) -> WindowFigures:
        """The window stage under a strategy, after a pane stage; degrees are fixed, so it need not be at once."""
        return run_windows(panes, self.window, window_strategy(strategy, degree), self.cost, self.points)

    def elastic(self, setup: Elastic) -> ElasticRun:
        """Both stages on one clock, with workers that come and go."""
        return run_elastic(self.table(), self.window, self.cost, self.points, setup, self.warm_up_s * 1e6)

    def bursty(self, dispersion: float) -> Scenario:
        """The same stream with bursts, and with points whose correlation changes, as in paper 1."""
        return replace(self, dispersion=dispersion, points=replace(self.points, names=MIXED))


@lru_cache(maxsize=4)
def _tabulated(
    spec: TrafficSpec, pane_us: int, slice_us: int, in_order: bool, fixed_slack_us: int | None
) -> ArrivalTable:
    return tabulate(spec, pane_us, slice_us, in_order=in_order, fixed_slack_us=fixed_slack_us)
