"""Index of dispersion: how bursty arrivals are, 1 for Poisson arrivals, thousands for severe bursts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skypane.model.groups import Float64Array
from skypane.traffic.arrivals.base import US_PER_S
from skypane.traffic.estimators.counts import Counts

TOLERANCE = 0.2
# The variance of n counts is off by a share of sqrt(2 / n): the tolerance is three times that.
_FEWEST_INTERVALS = 500


@dataclass(frozen=True)
class Dispersion:
    """An estimate of the index of dispersion, the limit of variance to mean of counts in long intervals."""

    value: float
    settled: bool  # False: the stream is too short for its bursts, or bursty at all scales; the index is higher
    interval_s: float  # the longest interval looked at
    curve: tuple[tuple[float, float], ...]  # seconds, variance to mean of counts in intervals of that length

    @property
    def level(self) -> str:
        """In words, with the limits of the paper's Table 2."""
        if self.value >= 2500:
            return "severe"
        if self.value >= 300:
            return "moderate" if self.settled else "at least moderate"
        return "no bursts" if self.settled else "unknown"

    def __str__(self) -> str:
        if self.settled:
            return f"{self.value:,.0f}" if self.value >= 10 else f"{self.value:.2f}"
        return f"above {self.value:,.0f} (not settled)" if self.curve else "unknown (too short)"


def index_of_dispersion(counts: Counts, tolerance: float = TOLERANCE) -> Dispersion:
    """Variance to mean of counts, in intervals that are doubled as long as at least 500 of them remain.

    It has settled when from some length on making intervals four times longer changes it by less than
    ``tolerance``. What is still missing there falls with the length of the interval (it is the part of the
    correlation that crosses a border), so the estimate is the intercept of a line over 1 / length.
    """
    curve = _curve(counts)
    seconds = [length * counts.interval_us / US_PER_S for length, _ in curve]
    values = np.array([value for _, value in curve])
    points = tuple(zip(seconds, values.tolist(), strict=True))
    if len(values) == 0:
        return Dispersion(float("nan"), settled=False, interval_s=0.0, curve=())
    first = len(values)
    for index in range(len(values) - 3, -1, -1):
        if abs(values[index + 2] - values[index]) > tolerance * values[index + 2]:
            break
        first = index
    if first == len(values):
        return Dispersion(float(values[-1]), settled=False, interval_s=seconds[-1], curve=points)
    lengths = np.array([length for length, _ in curve[first:]], dtype=float)
    return Dispersion(_intercept(lengths, values[first:]), settled=True, interval_s=seconds[-1], curve=points)


def _curve(counts: Counts) -> list[tuple[int, float]]:
    """Length in base intervals, and variance to mean of the counts."""
    curve: list[tuple[int, float]] = []
    length = 1
    while len(counts.per_interval) // length >= _FEWEST_INTERVALS:
        sums = counts.merged(length).per_interval
        mean = float(sums.mean())
        if mean > 0:
            curve.append((length, float(sums.var(ddof=1)) / mean))
        length *= 2
    return curve


def _intercept(lengths: Float64Array, values: Float64Array) -> float:
    """The value for endless intervals, each point weighted by the number of intervals behind it."""
    if len(lengths) < 3:
        return float(values[-1])
    # The noise of a variance goes with one over the root of the number of intervals.
    weights = np.sqrt(lengths[0] / lengths)
    design = np.stack([np.ones(len(lengths)), lengths[0] / lengths], axis=1)
    solution, *_ = np.linalg.lstsq(design * weights[:, None], values * weights, rcond=None)
    return float(solution[0])
