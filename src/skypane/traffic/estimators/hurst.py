"""Hurst parameter: whether bursts survive when looked at over longer and longer intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skypane.model.groups import Float64Array
from skypane.traffic.estimators.counts import Counts

_FEWEST_INTERVALS = 100
_OCTAVES = 8  # shorter lengths are left out: what is correlated over a moment only shows there
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


def hurst_parameter(counts: Counts) -> Hurst:
    """By aggregated variance: the variance of means over ``m`` intervals falls as ``m ** (2 H - 2)``.

    Only lengths at which the bursts stand out from the noise of counting are used, where there are such.
    With a long memory the variance around the mean *of the sample* is too small, by a share that depends on H
    and on the number of intervals: it is put back, repeatedly, until H is consistent with it.
    """
    lengths, sizes, variances = _variances(counts)
    if len(lengths) < 3:
        return Hurst(0.5, capped=False, scales=len(lengths))
    raw = value = 0.5
    for _ in range(30):
        missing = np.minimum(sizes ** (2.0 * value - 2.0), 0.9)
        raw = 1.0 + _slope(np.log(lengths), np.log(variances / (1.0 - missing)), sizes**0.75) / 2.0
        value = float(np.clip(raw, _LOWEST, _HIGHEST))
    # Noise around 0.5 is no reason to speak of a cap.
    return Hurst(value, capped=raw < _LOWEST - 0.05 or raw > _HIGHEST, scales=len(lengths))


def _variances(counts: Counts) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Lengths, numbers of intervals, variances of the mean count, at lengths that say something."""
    rows: list[tuple[float, float, float, float]] = []
    length = 1
    while len(counts.per_interval) // length >= _FEWEST_INTERVALS:
        sums = counts.merged(length).per_interval.astype(float)
        variance, mean = float(sums.var(ddof=1)), float(sums.mean())
        if variance > 0 and mean > 0:
            rows.append((length, len(sums), variance / length**2, variance / mean))
        length *= 2
    bursty = [row for row in rows[-_OCTAVES:] if row[3] > 10.0]
    table = np.array(bursty if len(bursty) >= 3 else rows[-_OCTAVES:]).reshape(-1, 4)
    return table[:, 0], table[:, 1], table[:, 2]


def _slope(x: Float64Array, y: Float64Array, weights: Float64Array) -> float:
    """Slope of the weighted least squares line."""
    x, y = x - np.average(x, weights=weights), y - np.average(y, weights=weights)
    return float((weights * x * y).sum() / (weights * x * x).sum())
