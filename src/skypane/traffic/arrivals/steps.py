"""Arrivals whose rate changes in given steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skypane.traffic.arrivals.base import ModulatedArrivals, RateProfile, Stretch, stepped_profile
from skypane.traffic.seeds import Seeds


@dataclass(frozen=True)
class SteppedArrivals(ModulatedArrivals):
    """Poisson arrivals at ``rates_per_s[i]`` from ``starts_us[i]`` on; the last rate stays."""

    starts_us: tuple[int, ...]
    rates_per_s: tuple[float, ...]

    @property
    def mean_rate_per_s(self) -> float:
        """The highest rate: blocks are sized for it."""
        return max(self.rates_per_s)

    def profile(self, seeds: Seeds, stretch: Stretch) -> RateProfile:  # noqa: ARG002
        """The steps inside the stretch."""
        return stepped_profile(np.array(self.starts_us, dtype=float), np.array(self.rates_per_s), stretch)
