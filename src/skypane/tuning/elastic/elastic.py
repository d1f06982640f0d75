"""Elastic: the user's wish that degrees follow the load, with its limits and its controller."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from skypane.model.durations import Duration, format_duration_us, parse_duration_us
from skypane.model.errors import OptionError
from skypane.tuning.elastic.controllers import Ds2, ElasticController, Fuzzy, Threshold
from skypane.tuning.elastic.damping import Damped
from skypane.tuning.elastic.elastic_degrees import ElasticDegrees
from skypane.tuning.elastic.loops import Loops
from skypane.tuning.splitting.pane_strategy import check_degree

CONTROLLERS: Final[Mapping[str, Callable[[int], ElasticController]]] = {
    # Both stages may have all workers, since they take turns: the controllers' limit on the sum is out of reach.
    "fuzzy": lambda max_degree: Fuzzy(max_workers=2 * max_degree),
    "threshold": lambda max_degree: Threshold(max_workers=2 * max_degree),
    "ds2": lambda max_degree: Ds2(max_workers=2 * max_degree),
}
DEFAULT_CONTROLLER: Final = "ds2"
"""On five of six recorded traces it needs fewer core-seconds than fuzzy (``python -m benchmarks --only elastic``)."""


@dataclass(frozen=True)
class Elastic:
    """Degrees of both stages that follow the load, see docs/elasticity.md.

    min_degree, max_degree: the fewest and the most tasks of a stage; without a ``max_degree``, as many as Spark can run
        at a time on this machine, or may ask a cluster for (``spark.cores.max``, dynamic allocation's maximum).
    controller: who decides: ``"ds2"`` (as many as the measured work needs), ``"fuzzy"`` (rules about both stages),
        ``"threshold"`` (a band), or an object with a ``name`` and ``decide(snapshot)``.
    period: how often it decides; the steps in between are its samples.
    dwell: for how many periods in a row fewer tasks must do before there are fewer.
    """

    min_degree: int = 1
    max_degree: int | None = None
    controller: str | ElasticController = DEFAULT_CONTROLLER
    period: Duration = "2.5 seconds"
    dwell: int = 2

    def __post_init__(self) -> None:
        check_degree(self.min_degree, "min_degree")
        check_degree(self.dwell, "dwell")
        if self.max_degree is not None:
            check_degree(self.max_degree, "max_degree")
            if self.max_degree < self.min_degree:
                raise OptionError(f"max_degree={self.max_degree} is less than min_degree={self.min_degree}.")
        _check_controller(self.controller)
        _ = self.period_us

    @property
    def period_us(self) -> int:
        """The time between two decisions."""
        return parse_duration_us(self.period, "period")

    @property
    def controller_name(self) -> str:
        """The controller's name."""
        return self.controller if isinstance(self.controller, str) else self.controller.name

    def degrees(self, max_degree: int) -> ElasticDegrees:
        """The policy, where Spark can give so many slots at most."""
        limit = max(self.min_degree, min(max_degree, self.max_degree or max_degree))
        controller = CONTROLLERS[self.controller](limit) if isinstance(self.controller, str) else self.controller
        # Work that waits no longer than a period is no lag: the next decision still comes in time.
        damped = Damped(
            controller,
            dwell_periods=self.dwell,
            tolerated_lag_us=self.period_us,
            min_degree=self.min_degree,
            max_degree=limit,
        )
        by_spark = self.max_degree is None or max_degree < self.max_degree
        return ElasticDegrees(Loops(damped, outer_us=float(self.period_us)), spark_limits=by_spark)

    def explain(self, max_degree: int) -> str:
        """One line for ``explain()``; Spark can run at most ``max_degree`` tasks."""
        limit = min(max_degree, self.max_degree or max_degree)
        decided = f"decided by {self.controller_name} every {format_duration_us(self.period_us)}"
        why = "as many as Spark can run here" if self.max_degree is None else f"max_degree={self.max_degree}"
        if self.max_degree is not None and max_degree < self.max_degree:
            why = f"max_degree={self.max_degree}, but Spark can run no more here"
        if limit <= self.min_degree:
            tasks = "one task" if limit == 1 else f"{limit} tasks"
            return f"elastic, but always {tasks} ({why}): there is nothing to decide"
        return f"elastic, {self.min_degree} to {limit} tasks ({why}), {decided}"


def _check_controller(controller: object) -> None:
    """A name that is known, or an object that can be asked."""
    if isinstance(controller, str):
        if controller not in CONTROLLERS:
            raise OptionError(
                f"controller={controller!r} is unknown; it must be one of {', '.join(CONTROLLERS)}, or an object with "
                "a name and decide(snapshot)."
            )
        return
    if isinstance(controller, type):
        raise OptionError(f"controller={controller.__name__} is a class; give an object: {controller.__name__}().")
    if not callable(getattr(controller, "decide", None)) or not isinstance(getattr(controller, "name", None), str):
        raise OptionError(
            f"controller={controller!r} must be one of {', '.join(CONTROLLERS)}, or an object with a name, which is "
            "text, and decide(snapshot)."
        )
