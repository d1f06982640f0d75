"""TimeGuard: which record times to believe, so that one wrong clock does not move the watermark."""

from __future__ import annotations

from dataclasses import dataclass

from skypane.api.options.declarations import check
from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.past_guard import PastGuard
from skypane.model.durations import Duration, parse_duration_us
from skypane.model.panes import Panes

_MIN_FUTURE_US = 3_600_000_000
_FUTURE_WINDOWS = 10


@dataclass(frozen=True, kw_only=True)
class TimeGuard:
    """Which record times to believe: an argument of ``.lateness(guard=...)``.

    max_future: a record further ahead of the stream than this is held until later records confirm its time.
        ``"auto"``: ten windows, at least an hour. ``None``: believe every time.
    max_past: a record further behind the watermark than this is quarantined; in the first batch, further behind the
        newest record. ``"auto"``: only where it is certain, before 1990 and decades before all others. ``None``:
        believe every time.
    support: so many records that agree are believed however far ahead they are.
    clock_tolerance: a record further ahead of the clock than this is held until the clock reaches it.
    """

    max_future: Duration | None = "auto"
    max_past: Duration | None = "auto"
    support: int = 5
    clock_tolerance: Duration = "1 second"

    def __post_init__(self) -> None:
        check("lateness.guard", vars(self))

    def guard(self, window: Panes) -> FutureGuard:
        """The guard for records of these windows."""
        tolerance_us = parse_duration_us(self.clock_tolerance, "clock_tolerance", zero_ok=True)
        return FutureGuard(self._max_future_us(window), self.support, tolerance_us)

    def past(self) -> PastGuard:
        """The guard against times that are too old."""
        if self.max_past is None or self.max_past == "auto":
            return PastGuard(auto=self.max_past == "auto")
        return PastGuard(parse_duration_us(self.max_past, "max_past"))

    def _max_future_us(self, window: Panes) -> int | None:
        if self.max_future is None:
            return None
        if self.max_future == "auto":
            return max(_MIN_FUTURE_US, _FUTURE_WINDOWS * window.reach_us)
        return parse_duration_us(self.max_future, "max_future")
