"""Arrivals whose rate is a log-normal random walk: trends up and down that nobody can foresee."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from skypane.model.groups import Float64Array
from skypane.traffic.arrivals.base import ModulatedArrivals, RateProfile, Span
from skypane.traffic.seeds import Purpose, Seeds

_STEPS_PER_CHUNK = 1024


@dataclass(frozen=True)
class RandomWalkArrivals(ModulatedArrivals):
    """Poisson arrivals; every ``every_us`` the rate is multiplied by ``exp(N(0, sigma))``, within bounds.

    The walk itself is followed from its start, one number per step, and kept: a day of five-second steps is
    17,280 numbers. All partitions of a stream follow the same walk, as records of one world do.
    """

    rate_per_s: float
    sigma: float = 0.4
    every_us: int = 5_000_000
    span_factor: float = 4.33  # the rate stays between rate / factor and rate * factor

    @property
    def mean_rate_per_s(self) -> float:
        """The rate at the start, in the middle of the bounds."""
        return self.rate_per_s

    def profile(self, seeds: Seeds, span: Span) -> RateProfile:
        """The steps of the walk inside the span."""
        first, last = span.start_us // self.every_us, (span.stop_us - 1) // self.every_us
        chunks = range(first // _STEPS_PER_CHUNK, last // _STEPS_PER_CHUNK + 1)
        for before in range(chunks.start):  # in order, so that no chunk has to recurse to the start
            _walk_chunk(seeds.seed, self.sigma, self.span_factor, before)
        logs = np.concatenate([_walk_chunk(seeds.seed, self.sigma, self.span_factor, chunk) for chunk in chunks])
        offset = chunks.start * _STEPS_PER_CHUNK
        edges = np.arange(first, last + 2, dtype=float) * self.every_us
        edges[0], edges[-1] = span.start_us, span.stop_us
        return RateProfile(edges, self.rate_per_s * np.exp(logs[first - offset : last - offset + 1]))


@cache
def _walk_chunk(seed: int, sigma: float, span_factor: float, chunk: int) -> Float64Array:
    """Logarithm of the rate, relative to the start, for one chunk of steps; continues the chunk before it."""
    level = float(_walk_chunk(seed, sigma, span_factor, chunk - 1)[-1]) if chunk else 0.0
    bound = math.log(span_factor)
    shocks = Seeds(seed, 0).generator(Purpose.WALK, chunk).normal(0.0, sigma, _STEPS_PER_CHUNK)
    if chunk == 0:
        shocks[0] = 0.0
    logs = np.empty(_STEPS_PER_CHUNK)
    for step, shock in enumerate(shocks.tolist()):
        level = min(bound, max(-bound, level + shock))
        logs[step] = level
    return logs
