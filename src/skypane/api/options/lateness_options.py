"""LatenessOptions: how long to wait for late records, and what becomes of those that are later still."""

from __future__ import annotations

from dataclasses import dataclass

from skypane.api.options.declarations import check
from skypane.api.options.partition import Partition
from skypane.api.options.time_guard import TimeGuard
from skypane.lateness.policies.kslack import KSlack
from skypane.lateness.policy import Lateness
from skypane.lateness.punctuator import Punctuator
from skypane.model.durations import Duration, parse_duration_us
from skypane.model.errors import OptionError
from skypane.model.panes import Panes

_HORIZON_WINDOWS = 10


@dataclass(frozen=True)
class LatenessOptions:
    """The options of :meth:`~skypane.api.continuous_query.ContinuousQuery.lateness`, which explains them."""

    policy: Lateness = KSlack()
    allowed: Duration = "0 seconds"
    harm_horizon: Duration | None = "auto"
    guard: TimeGuard = TimeGuard()

    def __post_init__(self) -> None:
        check("lateness", {name: value for name, value in vars(self).items() if name != "guard"})
        if not isinstance(self.guard, TimeGuard):
            raise OptionError(f"guard={self.guard!r} must be an sp.TimeGuard, e.g. sp.TimeGuard(max_future='1 hour').")

    @property
    def allowed_us(self) -> int:
        """How long answers are corrected."""
        return parse_duration_us(self.allowed, "allowed", zero_ok=True)

    def punctuator(self, window: Panes, partition: Partition | None) -> Punctuator:
        """Decides how far the watermark moves."""
        sources = None if partition is None else partition.sources()
        return Punctuator(self.policy, self.guard.guard(window), sources, self.guard.past()).for_panes(window)

    def harm_horizon_us(self, window: Panes, *, has_late_sink: bool) -> int:
        """How long late records are judged; by default only if a sink or the policy needs it."""
        if self.harm_horizon == "auto":
            return _HORIZON_WINDOWS * window.reach_us if has_late_sink or self.policy.needs_harm else 0
        if self.harm_horizon is None:
            if self.policy.needs_harm:
                name = type(self.policy).__name__
                raise OptionError(
                    f"{name} needs to judge late records, and harm_horizon=None turns that off. Leave it out, or give "
                    "a duration."
                )
            return 0
        return parse_duration_us(self.harm_horizon, "harm_horizon", zero_ok=True)
