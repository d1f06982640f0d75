"""Arrivals whose rate is a log-normal random walk: trends up and down that nobody can foresee."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from skypane.model.groups import Float64Array
from skypane.traffic.arrivals.base import ModulatedArrivals, RateProfile, Stretch
from skypane.traffic.seeds import Purpose, Seeds

_STEPS_PER_CHUNK = 1024
_MAX_STEPS_OF_HORIZON = 1_000_000  # a longer walk comes close to its mean by itself


@dataclass(frozen=True)
class RandomWalkArrivals(ModulatedArrivals):
    """Poisson arrivals; every ``every_us`` the rate is multiplied by ``exp(N(0, sigma))``, between two bounds.

    At a bound the walk turns back like light in a mirror. With symmetric steps its logarithm is then uniform
    between the bounds in the long run, and it starts like that: so the rate has a mean, in closed form, and
    that is ``rate_per_s``. Over ``horizon_us``, if there is one, the mean is exact.

    The walk is followed from its start, one number per step, and kept: a day of five-second steps is
    17,280 numbers. All partitions of a stream follow the same walk, as records of one world do.
    """

    rate_per_s: float
    sigma: float = 0.4
    every_us: int = 5_000_000
    span_factor: float = 4.33  # the highest rate over the middle one, and the middle one over the lowest
    horizon_us: int = 0

    @property
    def mean_rate_per_s(self) -> float:
        """The mean of the walk in the long run."""
        return self.rate_per_s

    def profile(self, seeds: Seeds, stretch: Stretch) -> RateProfile:
        """The steps of the walk inside the stretch."""
        first, last = stretch.start_us // self.every_us, (stretch.stop_us - 1) // self.every_us
        edges = np.arange(first, last + 2, dtype=float) * self.every_us
        edges[0], edges[-1] = stretch.start_us, stretch.stop_us
        rate_per_s = self.rate_per_s / _mean_over_horizon(self, seeds.seed)
        return RateProfile(edges, rate_per_s * self.relative_rates(seeds.seed, first, last + 1))

    def relative_rates(self, seed: int, first: int, last: int) -> Float64Array:
        """Rate over long-run mean, of the steps from ``first`` to before ``last``."""
        chunks = range(first // _STEPS_PER_CHUNK, (last - 1) // _STEPS_PER_CHUNK + 1)
        for before in range(chunks.start):  # in order, so that no chunk has to recurse to the start
            _walk_chunk(seed, self.sigma, self.span_factor, before)
        logs = np.concatenate([_walk_chunk(seed, self.sigma, self.span_factor, chunk) for chunk in chunks])
        offset = chunks.start * _STEPS_PER_CHUNK
        bound = math.log(self.span_factor)
        # The mean of exp over a uniform logarithm; a walk that stands still has nothing to make up for.
        mean = math.sinh(bound) / bound if bound and self.sigma else 1.0
        relative: Float64Array = np.exp(logs[first - offset : last - offset]) / mean
        return relative


@lru_cache(maxsize=64)
def _mean_over_horizon(arrivals: RandomWalkArrivals, seed: int) -> float:
    """Mean of the relative rate from the start to the horizon; 1 without one."""
    steps = -(-arrivals.horizon_us // arrivals.every_us)
    if not 0 < steps <= _MAX_STEPS_OF_HORIZON:
        return 1.0
    lengths_us = np.full(steps, arrivals.every_us)
    lengths_us[-1] = arrivals.horizon_us - (steps - 1) * arrivals.every_us
    return float(np.average(arrivals.relative_rates(seed, 0, steps), weights=lengths_us))


@cache
def _walk_chunk(seed: int, sigma: float, span_factor: float, chunk: int) -> Float64Array:
    """Logarithm of the rate over the middle one for one chunk of steps; continues the chunk before it."""
    bound = math.log(span_factor)
    if bound == 0.0 or sigma == 0.0:
        return np.zeros(_STEPS_PER_CHUNK)
    random = Seeds(seed, 0).generator(Purpose.WALK, chunk)
    shocks = random.normal(0.0, sigma, _STEPS_PER_CHUNK)
    if chunk == 0:
        shocks[0] = random.uniform(-bound, bound)
    else:
        shocks[0] += _walk_chunk(seed, sigma, span_factor, chunk - 1)[-1]
    # A walk between two mirrors is a free walk folded at them.
    unfolded = np.cumsum(shocks) + bound
    logs: Float64Array = bound - np.abs(np.mod(unfolded, 4.0 * bound) - 2.0 * bound)
    return logs
