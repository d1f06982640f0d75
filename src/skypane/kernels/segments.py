"""Sums and moments of the groups of a column, in one pass and without a Python loop over groups.

Sums are kept as double-doubles (`hi + lo`, about 32 significant digits), so that an aggregate does not
depend on how its records were cut into shards and panes.
"""

from __future__ import annotations

import math

import numba
import numpy as np
import numpy.typing as npt

from skypane.kernels.arrays import Indices, as_column, as_integers, as_offsets

Column = npt.NDArray[np.float64]


@numba.njit(cache=True, nogil=True, inline="always")
def _add_pairs(hi: float, lo: float, other_hi: float, other_lo: float) -> tuple[float, float]:
    """Add two double-doubles; where the sum is not finite, do what plain addition does."""
    total = hi + other_hi
    if not math.isfinite(total):
        return total, 0.0
    part = total - hi
    error = (hi - (total - part)) + (other_hi - part)
    low_total = lo + other_lo
    low_part = low_total - lo
    low_error = (lo - (low_total - low_part)) + (other_lo - low_part)
    error += low_total
    high = total + error
    error = (error - (high - total)) + low_error
    result = high + error
    if not math.isfinite(result):  # only at the very edge of the range
        return total, 0.0
    return result, error - (result - high)


@numba.njit(cache=True, nogil=True)
def _sum_pairs(hi: Column, lo: Column, offsets: Indices, out_hi: Column, out_lo: Column) -> None:
    for group in range(len(offsets) - 1):
        total_hi, total_lo = 0.0, 0.0
        for row in range(offsets[group], offsets[group + 1]):
            total_hi, total_lo = _add_pairs(total_hi, total_lo, hi[row], lo[row])
        out_hi[group], out_lo[group] = total_hi, total_lo


@numba.njit(cache=True, nogil=True)
def _sum(values: Column, offsets: Indices, out_hi: Column, out_lo: Column) -> None:
    for group in range(len(offsets) - 1):
        total_hi, total_lo = 0.0, 0.0
        for row in range(offsets[group], offsets[group + 1]):
            total_hi, total_lo = _add_pairs(total_hi, total_lo, values[row], 0.0)
        out_hi[group], out_lo[group] = total_hi, total_lo


@numba.njit(cache=True, nogil=True)
def _moments(values: Column, offsets: Indices, count: Indices, mean: Column, m2: Column) -> None:
    for group in range(len(offsets) - 1):
        seen, centre, spread = 0, 0.0, 0.0
        for row in range(offsets[group], offsets[group + 1]):
            seen += 1
            delta = values[row] - centre
            centre += delta / seen
            spread += delta * (values[row] - centre)
        count[group], mean[group], m2[group] = seen, centre, spread


@numba.njit(cache=True, nogil=True)
def _combine(
    count: Indices,
    mean: Column,
    m2: Column,
    offsets: Indices,
    out_count: Indices,
    out_mean: Column,
    out_m2: Column,
) -> None:
    for group in range(len(offsets) - 1):
        seen, centre, spread = 0, 0.0, 0.0
        for row in range(offsets[group], offsets[group + 1]):
            added = count[row]
            if added == 0:
                continue
            if seen == 0:
                seen, centre, spread = added, mean[row], m2[row]
                continue
            together = seen + added
            delta = mean[row] - centre
            centre += delta * (added / together)
            spread += m2[row] + delta * delta * (seen * (added / together))
            seen = together
        out_count[group], out_mean[group], out_m2[group] = seen, centre, spread


def segment_sum(values: npt.ArrayLike, offsets: npt.ArrayLike) -> tuple[Column, Column]:
    """The sum of every group as a double-double; 0 for an empty group."""
    column = as_column(values)
    bounds = as_offsets(offsets, len(column))
    hi, lo = np.empty(len(bounds) - 1), np.empty(len(bounds) - 1)
    _sum(column, bounds, hi, lo)
    return hi, lo


def segment_sum_pairs(hi: npt.ArrayLike, lo: npt.ArrayLike, offsets: npt.ArrayLike) -> tuple[Column, Column]:
    """The sum of every group of double-doubles, as a double-double."""
    high, low = as_column(hi), as_column(lo)
    bounds = as_offsets(offsets, len(high))
    out_hi, out_lo = np.empty(len(bounds) - 1), np.empty(len(bounds) - 1)
    _sum_pairs(high, low, bounds, out_hi, out_lo)
    return out_hi, out_lo


def segment_moments(values: npt.ArrayLike, offsets: npt.ArrayLike) -> tuple[Indices, Column, Column]:
    """Count, mean and sum of squared deviations of every group (Welford)."""
    column = as_column(values)
    bounds = as_offsets(offsets, len(column))
    groups = len(bounds) - 1
    count, mean, m2 = np.empty(groups, np.int64), np.empty(groups), np.empty(groups)
    _moments(column, bounds, count, mean, m2)
    return count, mean, m2


def combine_moments(
    count: npt.ArrayLike, mean: npt.ArrayLike, m2: npt.ArrayLike, offsets: npt.ArrayLike
) -> tuple[Indices, Column, Column]:
    """Count, mean and sum of squared deviations of every group of such triples (Chan)."""
    counts = as_integers(count)
    bounds = as_offsets(offsets, len(counts))
    groups = len(bounds) - 1
    out_count, out_mean, out_m2 = np.empty(groups, np.int64), np.empty(groups), np.empty(groups)
    _combine(counts, as_column(mean), as_column(m2), bounds, out_count, out_mean, out_m2)
    return out_count, out_mean, out_m2


def segment_min(values: npt.ArrayLike, offsets: npt.ArrayLike) -> Column:
    """The smallest value of every group; +inf for an empty group."""
    column = as_column(values)
    return _reduce(np.minimum, column, as_offsets(offsets, len(column)), np.inf)


def segment_max(values: npt.ArrayLike, offsets: npt.ArrayLike) -> Column:
    """The largest value of every group; -inf for an empty group."""
    column = as_column(values)
    return _reduce(np.maximum, column, as_offsets(offsets, len(column)), -np.inf)


def _reduce(operation: np.ufunc, column: Column, bounds: Indices, empty: float) -> Column:
    result = np.full(len(bounds) - 1, empty)
    filled = bounds[1:] > bounds[:-1]
    if filled.any():  # reduceat misreads empty groups, so only the starts of the others are passed
        result[filled] = operation.reduceat(column, bounds[:-1][filled])
    return result
