"""Arrivals: when records happen, as an exact function of any interval of virtual time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np

from skypane.model.groups import Float64Array, Int64Array
from skypane.traffic.seeds import Purpose, Seeds

US_PER_S = 1_000_000


@dataclass(frozen=True)
class Stretch:
    """Block ``index`` of virtual time, ``start_us`` inclusive to ``stop_us`` exclusive."""

    index: int
    start_us: int
    stop_us: int


@dataclass(frozen=True)
class RateProfile:
    """A rate constant between edges: ``rates_per_s[i]`` from ``edges_us[i]`` to ``edges_us[i + 1]``."""

    edges_us: Float64Array
    rates_per_s: Float64Array
    sure_us: Int64Array = field(default_factory=lambda: np.empty(0, dtype=np.int64))  # arrivals besides, ascending

    def mass(self) -> Float64Array:
        """Records expected under the rate up to each edge."""
        mass = np.zeros(len(self.edges_us))
        np.cumsum(self.rates_per_s * np.diff(self.edges_us) / US_PER_S, out=mass[1:])
        return mass


class Arrivals(ABC):
    """The event times of one partition.

    Laws: ``events_us(seeds, stretch)`` depends on its arguments only, whatever was asked before; the result is
    ascending and lies inside the stretch; neighbouring stretches together are one stream without a seam.
    """

    @property
    @abstractmethod
    def mean_rate_per_s(self) -> float:
        """Records per second in the long run (the usual rate where there is no long run)."""

    @abstractmethod
    def events_us(self, seeds: Seeds, stretch: Stretch) -> Int64Array:
        """The event times of one block."""


class ModulatedArrivals(Arrivals):
    """A Poisson process whose rate follows a profile: all burstiness is in the profile, which is cheap.

    Given the profile, disjoint stretches of a Poisson process are independent. So a block needs no state of the
    block before it: only the profile has a memory, and each profile says how it is found again at any time.
    """

    @abstractmethod
    def profile(self, seeds: Seeds, stretch: Stretch) -> RateProfile:
        """The rate throughout the stretch, whose edges are the first and the last, and arrivals that are sure."""

    def events_us(self, seeds: Seeds, stretch: Stretch) -> Int64Array:
        """Poisson arrivals under the profile."""
        return poisson_events_us(seeds.generator(Purpose.EVENTS, stretch.index), self.profile(seeds, stretch), stretch)


def poisson_events_us(random: np.random.Generator, profile: RateProfile, stretch: Stretch) -> Int64Array:
    """Event times of a Poisson process with the given rate, and the sure ones among them, ascending."""
    mass = profile.mass()
    count = int(random.poisson(mass[-1]))
    if count == 0:
        return profile.sure_us
    # Normalised sums of exponential gaps are uniform order statistics: ascending without a sort.
    heights = np.cumsum(random.standard_exponential(count + 1))
    heights *= mass[-1] / heights[-1]
    if len(profile.rates_per_s) == 1:
        times = stretch.start_us + heights[:-1] * ((stretch.stop_us - stretch.start_us) / mass[-1])
    else:
        times = np.interp(heights[:-1], mass, profile.edges_us)
    events: Int64Array = np.minimum(times.astype(np.int64), stretch.stop_us - 1)
    if len(profile.sure_us):
        return np.insert(events, np.searchsorted(events, profile.sure_us), profile.sure_us)
    return events


def flat_profile(rate_per_s: float, stretch: Stretch) -> RateProfile:
    """The same rate throughout."""
    return RateProfile(np.array([stretch.start_us, stretch.stop_us], dtype=float), np.array([rate_per_s]))


def stepped_profile(starts_us: Float64Array, rates_per_s: Float64Array, stretch: Stretch) -> RateProfile:
    """The part inside the stretch of a rate that becomes ``rates_per_s[i]`` at ``starts_us[i]``."""
    first = int(np.searchsorted(starts_us, stretch.start_us, side="right")) - 1
    last = int(np.searchsorted(starts_us, stretch.stop_us, side="left"))
    edges = np.concatenate(([stretch.start_us], starts_us[first + 1 : last], [stretch.stop_us])).astype(float)
    return RateProfile(edges, rates_per_s[first:last])
