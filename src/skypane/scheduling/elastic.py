"""Elastic: the user's wish that degrees follow the load, with its limits and its controller."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from skypane.control.damping import Damped
from skypane.control.elastic import Ds2, ElasticController, Fuzzy, Threshold
from skypane.control.loops import Loops
from skypane.model.durations import Duration, format_duration_us, parse_duration_us
from skypane.model.errors import OptionError
from skypane.scheduling.elastic_degrees import ElasticDegrees
from skypane.scheduling.pane_strategy import check_degree

CONTROLLERS: Final[Mapping[str, Callable[[int], ElasticController]]] = {
    # Both stages may have all workers, since they take turns: the controllers' limit on the sum is out of reach.
    "fuzzy": lambda most: Fuzzy(max_workers=2 * most),
    "threshold": lambda most: Threshold(max_workers=2 * most),
    "ds2": lambda most: Ds2(max_workers=2 * most),
}


@dataclass(frozen=True)
class Elastic:
    """Degrees of both stages that follow the load, see docs/elasticity.md.

    min_degree, max_degree: the fewest and the most tasks of a stage; without a ``max_degree``, as many as Spark can run
        at a time on this machine, or may ask a cluster for (``spark.cores.max``, dynamic allocation's maximum).
    controller: who decides: ``"fuzzy"`` (rules about both stages), ``"threshold"`` (a band), ``"ds2"`` (as many as the
        measured work needs), or an object with a ``name`` and ``decide(snapshot)``.
    period: how often it decides; the steps in between are its samples.
    dwell: for how many periods in a row fewer tasks must do before there are fewer.
    """

    min_degree: int = 1
    max_degree: int | None = None
    controller: str | ElasticController = "fuzzy"
    period: Duration = "2.5 seconds"
    dwell: int = 2

    def __post_init__(self) -> None:
        check_degree(self.min_degree, "min_degree")
        check_degree(self.dwell, "dwell")
        if self.max_degree is not None:
            check_degree(self.max_degree, "max_degree")
            if self.max_degree < self.min_degree:
                raise OptionError(f"max_degree={self.max_degree} is less than min_degree={self.min_degree}.")
        controller = self.controller
        if isinstance(controller, str) and controller not in CONTROLLERS:
            raise OptionError(
                f"controller={controller!r} is unknown; it must be one of {', '.join(CONTROLLERS)}, or an object with "
                "a name and decide(snapshot)."
            )
        if not isinstance(controller, str) and not callable(getattr(controller, "decide", None)):
            raise OptionError(f"controller={controller!r} must be a name or an object with a name and decide().")
        _ = self.period_us

    @property
    def period_us(self) -> int:
        """Between two decisions."""
        return parse_duration_us(self.period, "period")

    @property
    def controller_name(self) -> str:
        """Who decides."""
        return self.controller if isinstance(self.controller, str) else self.controller.name

    def degrees(self, most: int) -> ElasticDegrees:
        """The policy, where Spark can give so many slots if the user does not say how many to use."""
        limit = self.max_degree or max(most, self.min_degree)
        controller = CONTROLLERS[self.controller](limit) if isinstance(self.controller, str) else self.controller
        # Work that waits no longer than a period is no lag: the next decision still comes in time.
        damped = Damped(
            controller,
            dwell_periods=self.dwell,
            tolerated_lag_us=self.period_us,
            min_degree=self.min_degree,
            max_degree=limit,
        )
        return ElasticDegrees(Loops(damped, outer_us=float(self.period_us)))

    def explain(self) -> str:
        """In words."""
        most = self.max_degree or "as many as there are"
        period = format_duration_us(self.period_us)
        return f"elastic, {self.min_degree} to {most} tasks, decided by {self.controller_name} every {period}"
