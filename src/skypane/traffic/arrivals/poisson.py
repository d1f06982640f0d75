"""Poisson arrivals: no bursts, index of dispersion 1."""

from __future__ import annotations

from dataclasses import dataclass

from skypane.traffic.arrivals.base import ModulatedArrivals, RateProfile, Stretch, flat_profile
from skypane.traffic.seeds import Seeds


@dataclass(frozen=True)
class PoissonArrivals(ModulatedArrivals):
    """Independent arrivals at one rate."""

    rate_per_s: float

    @property
    def mean_rate_per_s(self) -> float:
        """The rate."""
        return self.rate_per_s

    def profile(self, seeds: Seeds, stretch: Stretch) -> RateProfile:  # noqa: ARG002
        """The same rate always."""
        return flat_profile(self.rate_per_s, stretch)
