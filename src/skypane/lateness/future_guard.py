"""FutureGuard: what a time must be like to be believed, as far as one task can tell from its own records.

The newest trusted time ``t_max`` may move

* in steps of at most ``max_future`` from one record to the next, or
* anywhere, where at least ``support`` records are,

but not past the **clock** of the batch: a time ahead of it cannot be true, whoever says so. What is beyond is suspect,
and :mod:`skypane.lateness.suspects` judges it, knowing all tasks. All of it is a function of the committed state, of
the records as a multiset and of the batch's clock, so that a replay, or another distribution of records over tasks,
decides the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from skypane.model.durations import format_duration_us
from skypane.model.errors import OptionError
from skypane.model.groups import Int64Array

FUTURE_REASON = "time beyond the future guard"
CLOCK_REASON = "time ahead of the clock"

_REMEMBERED = 16
"""How many of the newest times are known: enough to tell how far apart the records of a stream usually are."""
_RANGE_US = 2**61
"""Times are compared within 73,000 years of the epoch, so that no difference overflows."""
_CONTRADICTIONS = 20
"""A suspect is contradicted by this many times the records that would support it."""


@dataclass(frozen=True)
class FutureGuard:
    """How far ahead a record may be dated; ``max_future_us=None`` lets any time through."""

    max_future_us: int | None
    support: int = 5
    tolerance_us: int = 1_000_000
    """How far ahead of the clock a time may be: clocks differ a little."""
    max_held: int = 100_000
    """The most records to hold until it is known what to make of them."""

    def __post_init__(self) -> None:
        if self.support < 1:
            raise OptionError(f"future_support={self.support} must be 1 or more.")

    def describe(self) -> str:
        """Settings and values for ``explain()``."""
        if self.max_future_us is None:
            return "every one is believed"
        ahead, future = format_duration_us(self.tolerance_us), format_duration_us(self.max_future_us)
        return (
            f"held, until others or the clock confirm them, if more than {ahead} ahead of the clock, or {future} ahead "
            f"of the stream and fewer than {self.support}"
        )

    @property
    def contradictions(self) -> int:
        """So many records that come after a suspect, and far behind it, say that its time is wrong."""
        return _CONTRADICTIONS * self.support

    def limit_us(self, t_max_us: int | None, now_us: int) -> int | None:
        """The newest time that can be true; ``None`` where the clock cannot tell, as the stream itself is ahead."""
        limit = now_us + self.tolerance_us
        ahead = t_max_us is not None and t_max_us > limit
        return None if self.max_future_us is None or ahead else limit

    def live_from_us(self, t_max_us: int | None, advanced_us: int, now_us: int) -> int | None:
        """From when on times are what a live stream sends: it was live if ``t_max`` was near the clock when it came."""
        if self.max_future_us is None or t_max_us is None or abs(advanced_us - t_max_us) > self.max_future_us:
            return None
        return now_us - self.max_future_us

    @property
    def remembered(self) -> int:
        """How many of the newest times are known."""
        return max(self.support, _REMEMBERED)

    def newest(self, times: Iterable[int]) -> tuple[int, ...]:
        """The newest times, newest first: all that needs to be known of many records."""
        return tuple(sorted(times, reverse=True)[: self.remembered])

    def newest_of(self, times: Int64Array) -> tuple[int, ...]:
        """The same for an array, without sorting all of it."""
        limit = self.remembered
        if len(times) > limit:
            times = np.partition(times, len(times) - limit)[-limit:]
        return self.newest(times.tolist())

    def anchor(self, t_max_us: int | None, newest: Sequence[int]) -> int | None:
        """The newest time that is beyond doubt: ``t_max`` so far, or one that enough records reach."""
        supported = newest[self.support - 1] if len(newest) >= self.support else None
        known = [t for t in (t_max_us, supported) if t is not None]
        return max(known) if known else None

    def trusted_until(self, anchor_us: int | None, times: Int64Array) -> int | None:
        """The newest trusted time once these records are seen; records beyond it are not trusted."""
        if self.max_future_us is None:
            newest = int(times.max()) if len(times) else anchor_us
            return newest if anchor_us is None else max(anchor_us, newest if newest is not None else anchor_us)
        if anchor_us is None:
            return None
        ahead = times[times > anchor_us]
        if not len(ahead):
            return anchor_us
        newest = int(ahead.max())
        if newest - anchor_us <= self.max_future_us:
            return newest  # no step to it can be too long
        ahead = np.sort(ahead)
        jumps = np.diff(within_range(ahead), prepend=min(max(anchor_us, -_RANGE_US), _RANGE_US)) > self.max_future_us
        reached = int(np.argmax(jumps)) if jumps.any() else len(ahead)
        return int(ahead[reached - 1]) if reached else anchor_us


def within_range(times_us: Int64Array) -> Int64Array:
    """The times, those beyond what can be subtracted brought to its ends."""
    clipped: Int64Array = np.clip(times_us, -_RANGE_US, _RANGE_US)
    return clipped
