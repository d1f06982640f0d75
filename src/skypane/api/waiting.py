"""Waiting: how long to wait for late records, and what becomes of those that are later still."""

from __future__ import annotations

from dataclasses import dataclass, field

from skypane.api.options import check
from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.partitions import Across, SourcePartitions
from skypane.lateness.policies.kslack import KSlack
from skypane.lateness.policy import Lateness
from skypane.lateness.punctuator import Punctuator
from skypane.model.durations import Duration, parse_duration_us
from skypane.model.errors import OptionError
from skypane.model.panes import Panes

_MIN_FUTURE_US = 3_600_000_000
_FUTURE_WINDOWS = 10
_HORIZON_WINDOWS = 10


@dataclass(frozen=True)
class Waiting:
    """The options of :meth:`~skypane.api.stream.ContinuousQuery.lateness`, which explains them."""

    policy: Lateness = field(default_factory=KSlack)
    across: Across = "min"
    max_lag: Duration | None = None
    partition_timeout: Duration = "30 seconds"
    allowed: Duration = "0 seconds"
    max_future: Duration | None = "auto"
    future_support: int = 5
    clock_tolerance: Duration = "1 second"
    harm_horizon: Duration | None = "auto"

    def __post_init__(self) -> None:
        check("lateness", vars(self))

    @property
    def allowed_us(self) -> int:
        """How long answers are corrected."""
        return parse_duration_us(self.allowed, "allowed", zero_ok=True)

    def punctuator(self, window: Panes, partition: str | None) -> Punctuator:
        """Who decides how far the punctuation moves."""
        tolerance_us = parse_duration_us(self.clock_tolerance, "clock_tolerance", zero_ok=True)
        guard = FutureGuard(self._max_future_us(window), self.future_support, tolerance_us)
        return Punctuator(self.policy, guard, self._sources(partition)).for_panes(window)

    def harm_horizon_us(self, window: Panes, *, asked: bool) -> int:
        """How long late records are judged; by default only if somebody asks for it."""
        if self.harm_horizon == "auto":
            return _HORIZON_WINDOWS * window.reach_us if asked or self.policy.needs_harm else 0
        if self.harm_horizon is None and self.policy.needs_harm:
            name = type(self.policy).__name__
            raise OptionError(f"{name} has to judge late records: harm_horizon=None is not enough.")
        return _us_or_none(self.harm_horizon, "harm_horizon") or 0

    def _max_future_us(self, window: Panes) -> int | None:
        if self.max_future == "auto":
            return max(_MIN_FUTURE_US, _FUTURE_WINDOWS * window.reach_us)
        return _us_or_none(self.max_future, "max_future")

    def _sources(self, partition: str | None) -> SourcePartitions | None:
        if partition is None:
            return None
        timeout_us = parse_duration_us(self.partition_timeout, "partition_timeout")
        return SourcePartitions(partition, self.across, _us_or_none(self.max_lag, "max_lag"), timeout_us)


def _us_or_none(value: Duration | None, name: str) -> int | None:
    return None if value is None else parse_duration_us(value, name, zero_ok=True)
