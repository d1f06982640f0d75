"""Counts: how many records arrive in consecutive intervals, the raw material of all estimators."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skypane.model.groups import Int64Array
from skypane.traffic.arrivals.base import US_PER_S


@dataclass(frozen=True)
class Counts:
    """``per_interval[i]`` records in the ``i``-th interval of ``interval_us``."""

    interval_us: int
    per_interval: Int64Array

    @classmethod
    def of_times(cls, times_us: Int64Array, interval_us: int) -> Counts:
        """From arrival times in any order; the last interval is left out because it may be cut short."""
        if len(times_us) == 0:
            return cls(interval_us, np.zeros(0, dtype=np.int64))
        slots = (times_us - times_us.min()) // interval_us
        return cls(interval_us, np.bincount(slots)[:-1].astype(np.int64))

    @property
    def rate_per_s(self) -> float:
        """Mean rate."""
        if len(self.per_interval) == 0:
            return 0.0
        return float(self.per_interval.mean()) * US_PER_S / self.interval_us

    @property
    def peak_to_mean(self) -> float:
        """The fullest interval over the mean."""
        mean = float(self.per_interval.mean()) if len(self.per_interval) else 0.0
        return float(self.per_interval.max()) / mean if mean else 0.0

    def merged(self, factor: int) -> Counts:
        """Counts of intervals ``factor`` times as long."""
        whole = len(self.per_interval) // factor
        sums = self.per_interval[: whole * factor].reshape(whole, factor).sum(axis=1)
        return Counts(self.interval_us * factor, sums)
