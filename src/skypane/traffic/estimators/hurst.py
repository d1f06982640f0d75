"""Hurst parameter: whether bursts survive when looked at over longer and longer intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from skypane.model.groups import Float64Array
from skypane.traffic.estimators.counts import Counts

_FEWEST_PAIRS = 16
_OCTAVES, _FEWEST_OCTAVES = 9, 5  # the fewer of the longest ones, the larger the error: only if there is no line
_GOOD_FIT, _POOR_FIT = 2.0, 6.0
_LOWEST, _HIGHEST = 0.5, 0.99


@dataclass(frozen=True)
class Hurst:
    """An estimate of the Hurst parameter: 0.5 without memory, towards 1 the longer it is."""

    value: float
    capped: bool  # the slope asked for a value outside [0.5, 0.99]
    scales: int  # how many interval lengths the line went through

    def __str__(self) -> str:
        if self.scales < 3:
            return "unknown (too short)"
        return f"{self.value:.2f}" + (" (capped)" if self.capped else "")


@dataclass(frozen=True)
class _Diagram:
    """By octave: logarithm of the mean square difference of neighbouring counts, and one over its variance."""

    octaves: Float64Array
    energies: Float64Array
    weights: Float64Array

    def line(self, first: int) -> tuple[float, float]:
        """Slope of the weighted line from octave ``first`` on; squared misfit, about 1 if it is a line."""
        x, y, weights = self.octaves[first:], self.energies[first:], self.weights[first:]
        x, y = x - np.average(x, weights=weights), y - np.average(y, weights=weights)
        slope = float((weights * x * y).sum() / (weights * x * x).sum())
        return slope, float((weights * (y - slope * x) ** 2).sum() / max(1, len(x) - 2))

    def first_straight(self, first: int, last: int) -> int:
        """The octave from which on the diagram is a line, between ``first`` and ``last``."""
        return next((at for at in range(first, last) if self.line(at)[1] < _GOOD_FIT), max(first, last))


def hurst_parameter(counts: Counts) -> Hurst:
    """By wavelets (Abry and Veitch), with the simplest one: differences of neighbouring intervals.

    Their mean square grows with the length of the interval as ``length ** (2 H)``. Unlike the variance of counts
    it asks for no mean, which a stream with a long memory does not show. What is correlated over a moment only
    bends the line at short lengths: these are left out until it is straight, and one more.
    """
    diagram = _diagram(counts)
    scales = len(diagram.octaves)
    if scales < 3:
        return Hurst(0.5, capped=False, scales=scales)
    first = diagram.first_straight(0, scales - _OCTAVES)
    first = max(0, min(first + 1, scales - _OCTAVES))
    if diagram.line(first)[1] > _POOR_FIT:
        first = diagram.first_straight(first, scales - _FEWEST_OCTAVES)
    raw = diagram.line(first)[0] / 2.0
    # Noise around 0.5 is no reason to speak of a cap.
    capped = raw < _LOWEST - 0.05 or raw > _HIGHEST
    return Hurst(float(np.clip(raw, _LOWEST, _HIGHEST)), capped=capped, scales=scales - first)


def _diagram(counts: Counts) -> _Diagram:
    """All octaves with enough pairs of intervals, the shortest first."""
    rows: list[tuple[float, float, float]] = []
    sums, octave = counts.per_interval.astype(float), 0
    while len(sums) // 2 >= _FEWEST_PAIRS:
        pairs = sums[: len(sums) // 2 * 2].reshape(-1, 2)
        squares = (pairs[:, 0] - pairs[:, 1]) ** 2
        mean = float(squares.mean())
        if mean > 0:
            # Normal differences have a relative variance of 2; what comes in few long sessions has more.
            spread = max(2.0, float(squares.var()) / mean**2)
            energy = math.log2(mean) + 1.0 / (len(squares) * math.log(2))  # the logarithm of a mean is low
            rows.append((octave, energy, len(squares) * math.log(2) ** 2 / spread))
        sums, octave = pairs.sum(axis=1), octave + 1
    table = np.array(rows).reshape(-1, 3)
    return _Diagram(table[:, 0], table[:, 1], table[:, 2])
