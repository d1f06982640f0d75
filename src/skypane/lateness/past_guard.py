"""PastGuard: which times are too far in the past to be true, so that a clock that was never set opens no windows.

Once there is a watermark, records from before it are late, and the guard only gives those that are absurdly late
another name. It matters in the **first** batch, which nothing is late for: one record of 1970 would open windows of
1970, and take the first rank of windows that count records.

``auto`` refuses a time only where it is certain. Before 1990 no stream of events was recorded that would be mixed with
one of today, but there are histories that begin there. So the records before 1990 of a first batch are refused if

* those after it are at least ten times as many,
* nothing lies within 20 years after them, and
* this gap is a hundred times the usual distance between the others.

A history from 1985 on has no such gap, and a stream of the 1970s has no others. All of it is a function of the records
as a multiset, so that a replay, or another distribution of records over tasks, decides the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from skypane.model.durations import format_duration_us
from skypane.model.groups import Int64Array

PAST_REASON = "time too far in the past"

_RECENT_FROM_US = 631_152_000_000_000
"""1990, when clocks that were never set say 1970 or 1980."""
_GAP_US = 20 * 365 * 86_400_000_000
_MAJORITY = 10
_UNUSUAL = 100


@dataclass(frozen=True)
class TimeRange:
    """How many records there are, from which time to which."""

    records: int = 0
    oldest_us: int | None = None
    newest_us: int | None = None

    @classmethod
    def of(cls, times_us: Int64Array) -> TimeRange:
        """The range of some times."""
        return cls(len(times_us), int(times_us.min()), int(times_us.max())) if len(times_us) else cls()

    @classmethod
    def merge(cls, parts: Iterable[TimeRange]) -> TimeRange:
        """All together."""
        some = [part for part in parts if part.records]
        oldest = min((part.oldest_us for part in some if part.oldest_us is not None), default=None)
        newest = max((part.newest_us for part in some if part.newest_us is not None), default=None)
        return cls(sum(part.records for part in some), oldest, newest)


@dataclass(frozen=True)
class FirstTimes:
    """The times of the records that come before there is a watermark."""

    old: TimeRange = field(default_factory=TimeRange)
    """Before 1990."""
    recent: TimeRange = field(default_factory=TimeRange)
    """From 1990 up to the clock."""

    @classmethod
    def of(cls, times_us: Int64Array, limit_us: int | None) -> FirstTimes:
        """The ranges of some times; those beyond the limit prove nothing."""
        recent = times_us >= _RECENT_FROM_US
        possible = recent if limit_us is None else recent & (times_us <= limit_us)
        return cls(TimeRange.of(times_us[~recent]), TimeRange.of(times_us[possible]))

    @classmethod
    def merge(cls, parts: Iterable[FirstTimes]) -> FirstTimes:
        """All together."""
        several = list(parts)
        return cls(TimeRange.merge(p.old for p in several), TimeRange.merge(p.recent for p in several))

    def reach_before(self, time_us: int) -> bool:
        """Whether any record is older."""
        oldest = TimeRange.merge([self.old, self.recent]).oldest_us
        return oldest is not None and oldest < time_us

    @property
    def old_are_strays(self) -> bool:
        """Whether the records before 1990 are surely not of this stream."""
        old, recent = self.old, self.recent
        if old.newest_us is None or recent.oldest_us is None or recent.newest_us is None:
            return False
        gap_us, span_us = recent.oldest_us - old.newest_us, recent.newest_us - recent.oldest_us
        majority = recent.records >= _MAJORITY * old.records
        return majority and gap_us >= max(_GAP_US, _UNUSUAL * span_us // recent.records)


@dataclass(frozen=True)
class PastGuard:
    """How far in the past a record may be dated; without ``auto``, ``max_past_us=None`` lets any time through."""

    max_past_us: int | None = None
    auto: bool = False
    """Whether to refuse only what is certain: times before 1990 in a stream that is decades later."""

    def describe(self) -> str | None:
        """Settings and values for ``explain()``; ``None`` if every time is let through."""
        if self.auto:
            return "quarantined if before 1990, decades before all others"
        if self.max_past_us is None:
            return None
        return f"quarantined if more than {format_duration_us(self.max_past_us)} before the watermark"

    def oldest_us(self, reached_us: int | None) -> int | None:
        """The oldest time that can be true, once all records before ``reached_us`` are late; ``None`` for any."""
        if reached_us is None:
            return None
        if self.auto:
            return _RECENT_FROM_US if reached_us >= _RECENT_FROM_US + _GAP_US else None
        return None if self.max_past_us is None else reached_us - self.max_past_us

    def oldest_of_first_us(self, times: FirstTimes, reached_us: int | None) -> int | None:
        """The same where nothing is late yet: by the records that have come, and the newest one that is believed."""
        if self.auto:
            return _RECENT_FROM_US if times.old_are_strays else None
        return self.oldest_us(reached_us)
