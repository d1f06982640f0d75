"""Markovian arrivals with two phases, MAP(2): bursts of a chosen index of dispersion."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from skypane.model.groups import Float64Array
from skypane.traffic.arrivals.base import (
    US_PER_S,
    ModulatedArrivals,
    RateProfile,
    Stretch,
    flat_profile,
    stepped_profile,
)
from skypane.traffic.seeds import Purpose, Seeds

BoolArray = npt.NDArray[np.bool_]

# So many redraws per cell of the phase process make an empty cell impossible in practice (e to the -256).
_REDRAWS_PER_CELL = 256.0


@dataclass(frozen=True)
class MarkovArrivals(ModulatedArrivals):
    """Exponential gaps whose rate is that of the phase; the phase may change at an arrival.

    In continuous time the phase is a two-state Markov chain, and every such chain is the same as redrawing
    the phase, independently of the past, at the points of a Poisson process of rate ``redraws_per_s``. That
    makes it addressable: the phase at a time is what the last redraw before it gave. The arrivals are one at
    each change of phase, and a Poisson process for those that leave the phase alone.
    """

    burst_rate_per_s: float
    calm_rate_per_s: float
    burst_share: float  # of the time
    redraws_per_s: float

    @classmethod
    def fit(
        cls, rate_per_s: float, dispersion: float, burst_share: float = 0.2, burst_factor: float = 3.0
    ) -> MarkovArrivals:
        """The process with this mean rate and index of dispersion.

        ``burst_share`` of the time the rate is ``burst_factor`` times the mean. In closed form
        ``I = 1 + 2 f (1 - f) (burst - calm)^2 / (rate * redraws)``, from which the redraws follow. A factor
        too large for a small index is reduced, because a phase cannot change more than once per arrival.
        """
        share = burst_share
        excess = burst_factor - 1.0
        while True:
            burst = rate_per_s * (1.0 + excess)
            calm = rate_per_s * (1.0 - excess * share / (1.0 - share))
            if dispersion <= 1.0:
                return cls(rate_per_s, rate_per_s, share, 0.0)
            redraws = 2.0 * share * (1.0 - share) * (burst - calm) ** 2 / (rate_per_s * (dispersion - 1.0))
            if redraws * (1.0 - share) <= 0.5 * burst and redraws * share <= 0.5 * calm:
                return cls(burst, calm, share, redraws)
            excess *= 0.9

    @classmethod
    def balanced(cls, rate_per_s: float, dispersion: float, scv: float) -> MarkovArrivals:
        """The textbook form: gaps with squared coefficient of variation ``scv``, as long in either phase."""
        lean = math.sqrt((scv - 1.0) / (scv + 1.0))
        return cls.fit(rate_per_s, dispersion, burst_share=0.5, burst_factor=1.0 + lean)

    @property
    def mean_rate_per_s(self) -> float:
        """The mean over both phases."""
        return self.burst_share * self.burst_rate_per_s + (1.0 - self.burst_share) * self.calm_rate_per_s

    def profile(self, seeds: Seeds, stretch: Stretch) -> RateProfile:
        """The rate of arrivals that keep the phase; one more is sure at each change of it."""
        if self.redraws_per_s == 0.0:
            return flat_profile(self.burst_rate_per_s, stretch)
        starts_us, bursting = two_state_path(
            seeds,
            Purpose.PHASES,
            self.redraws_per_s,
            self.burst_share,
            start_us=stretch.start_us,
            stop_us=stretch.stop_us,
        )
        keeping_rates = np.where(
            bursting,
            self.burst_rate_per_s - self.redraws_per_s * (1.0 - self.burst_share),
            self.calm_rate_per_s - self.redraws_per_s * self.burst_share,
        )
        changes_us = starts_us[(starts_us >= stretch.start_us) & (starts_us < stretch.stop_us)].astype(np.int64)
        return replace(stepped_profile(starts_us, keeping_rates, stretch), sure_us=changes_us)


def two_state_path(
    seeds: Seeds, purpose: Purpose, redraws_per_s: float, on_share: float, *, start_us: int, stop_us: int
) -> tuple[Float64Array, BoolArray]:
    """When a two-state chain changes and to what, from before ``start_us`` to past ``stop_us``."""
    cell_us = max(1, round(_REDRAWS_PER_CELL / redraws_per_s * US_PER_S))
    # The cell before gives the state at the start: a chain keeps nothing from before its last redraw.
    cells = range(start_us // cell_us - 1, (stop_us - 1) // cell_us + 1)
    times: list[Float64Array] = []
    draws: list[Float64Array] = []
    for cell in cells:
        random = seeds.generator(purpose, cell)
        count = max(1, int(random.poisson(_REDRAWS_PER_CELL)))
        times.append(np.sort(random.random(count)) * cell_us + cell * cell_us)
        draws.append(random.random(count))
    starts_us, on = np.concatenate(times), np.concatenate(draws) < on_share
    changed = np.ones(len(on), dtype=bool)
    changed[1:] = on[1:] != on[:-1]
    return np.floor(starts_us[changed]), on[changed]
