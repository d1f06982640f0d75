"""Arrivals as a trace recorded them: so many in each interval."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from skypane.model.errors import OptionError
from skypane.model.groups import Int64Array
from skypane.traffic.arrivals.base import US_PER_S, Arrivals, Stretch
from skypane.traffic.seeds import Purpose, Seeds


@dataclass(frozen=True)
class Trace:
    """Counts of consecutive intervals of equal length."""

    interval_us: int
    counts: Int64Array

    @property
    def duration_us(self) -> int:
        """From the start of the first interval to the end of the last."""
        return self.interval_us * len(self.counts)


@lru_cache(maxsize=16)
def read_trace(path: str) -> Trace:
    """A text file of ``second count`` lines, seconds in equal steps, ``#`` before comments."""
    try:
        lines = [line.split("#")[0].replace(",", " ").split() for line in Path(path).read_text().splitlines()]
    except OSError as error:
        raise OptionError(f"option trace: cannot read {path!r} ({error.strerror}); name a text file") from error
    try:
        rows = np.array([[float(second), float(count)] for second, count in filter(None, lines)])
    except ValueError as error:
        raise OptionError(f"option trace: each line of {path!r} must be 'second count', two numbers") from error
    gaps = np.diff(rows[:, 0]) if len(rows) else np.empty(0)
    if len(rows) == 0 or rows[:, 1].min() < 0 or rows[:, 1].sum() == 0:
        raise OptionError(f"option trace: {path!r} must hold counts of 0 or more, and one above 0")
    if len(gaps) and (gaps.min() <= 0 or gaps.max() > 1.001 * gaps.min()):
        raise OptionError(f"option trace: the seconds in {path!r} must rise in equal steps; write 0 for a silent one")
    interval_us = round((gaps[0] if len(gaps) else 1.0) * US_PER_S)
    return Trace(interval_us, rows[:, 1].astype(np.int64))


@dataclass(frozen=True)
class TraceArrivals(Arrivals):
    """Exactly the counts of the trace, placed at random inside each interval; the trace repeats."""

    path: str
    speedup: float
    partitions: int

    @property
    def trace(self) -> Trace:
        """The trace as recorded."""
        return read_trace(self.path)

    @property
    def interval_us(self) -> int:
        """Length of an interval after the speed-up."""
        return max(1, round(self.trace.interval_us / self.speedup))

    @property
    def duration_us(self) -> int:
        """How long one pass takes."""
        return self.interval_us * len(self.trace.counts)

    @property
    def mean_rate_per_s(self) -> float:
        """Mean over the trace, of this partition's part."""
        return float(self.trace.counts.sum()) / self.partitions / (self.duration_us / US_PER_S)

    def events_us(self, seeds: Seeds, stretch: Stretch) -> Int64Array:
        """The part inside the stretch of all intervals that it touches."""
        step = self.interval_us
        touched = range(stretch.start_us // step, (stretch.stop_us - 1) // step + 1)
        events = np.concatenate([_interval_events_us(self, seeds, interval) for interval in touched])
        return events[np.searchsorted(events, stretch.start_us) : np.searchsorted(events, stretch.stop_us)]


@lru_cache(maxsize=8)  # an interval longer than a block serves several of them
def _interval_events_us(arrivals: TraceArrivals, seeds: Seeds, interval: int) -> Int64Array:
    """The event times of one interval; the partitions' parts add up to the count of the trace."""
    length_us = arrivals.interval_us
    total = int(arrivals.trace.counts[interval % len(arrivals.trace.counts)])
    count = (total + seeds.partition) // arrivals.partitions
    heights = np.cumsum(seeds.generator(Purpose.EVENTS, interval).standard_exponential(count + 1))
    inside = np.floor(heights[:-1] / heights[-1] * length_us).astype(np.int64)
    events: Int64Array = np.minimum(inside, length_us - 1) + interval * length_us
    return events
