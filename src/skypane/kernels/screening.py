"""A first pass over a table that drops most dominated rows cheaply and makes the float32 image of the rest.

Every row is tested against 16 strong rows: those with the smallest score seen so far. The score is a sum
of attributes scaled by a sample, so it is monotone: a row never scores above a row that it dominates.
"""

# ruff: noqa: PLR0917 (compiled functions take arrays, not objects)
from __future__ import annotations

from typing import TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from skypane.kernels.arrays import Floats, Indices
from skypane.kernels.simd import LANES, lanes_not_above, lanes_somewhere_below, lowest_bit
from skypane.kernels.trees import Image, row_dominates

Scale: TypeAlias = npt.NDArray[np.float64]  # per attribute: offset and factor
Screened: TypeAlias = tuple[Image, Indices, Image, int, bool]  # image, rows, scores, count, exact


@numba.njit(cache=True, nogil=True)
def sample_scale(table: Floats, first: int, last: int) -> Scale:
    """Offset and factor that bring each attribute of a sample to 0..1; infinities are left out."""
    step = max(1, (last - first) // 512)
    scale = np.zeros((2, table.shape[1]))
    for j in range(table.shape[1]):
        lowest, highest = np.inf, -np.inf
        for i in range(first, last, step):
            value = np.float64(table[i, j])
            if np.isfinite(value):
                lowest, highest = min(lowest, value), max(highest, value)
        if lowest < highest:
            scale[0, j] = lowest
            scale[1, j] = 1.0 / (highest / 2 - lowest / 2) / 2  # the spread itself may overflow
    return scale


@numba.njit(cache=True, nogil=True, inline="always")
def score(table: Floats, row: int, scale: Scale) -> float:
    """A number that never falls when an attribute grows; between 0 and the number of attributes."""
    total = 0.0
    for j in range(table.shape[1]):
        # NaN (infinity times a factor of 0) fails the first test, which keeps the score monotone
        part = (table[row, j] - scale[0, j]) * scale[1, j]
        part = max(0.0, part)
        total += min(part, 1.0)
    return total


@numba.njit(cache=True, nogil=True)
def _strengthen(
    strong: Image, strong_rows: Indices, strong_scores: Image, image: Image, at: int, row: int, grade: float
) -> None:
    """Put a row in the place of the weakest strong row."""
    lane = np.argmax(strong_scores)
    strong_rows[lane], strong_scores[lane] = row, grade
    for j in range(len(strong) // LANES):
        strong[j * LANES + lane] = image[at + j]


@numba.njit(cache=True, nogil=True)
def screen(table: Floats, first: int, last: int, width: int, single: bool) -> Screened:
    """The rows `first:last` that the strong rows do not dominate, with image and scores.

    `single` says that the table is float32, so that the image is exact.
    """
    attributes = table.shape[1]
    scale = sample_scale(table, first, last)
    image = np.empty((last - first) * width, dtype=np.float32)
    rows = np.empty(last - first, dtype=np.int64)
    scores = np.empty(last - first, dtype=np.float32)
    strong = np.full(width * LANES, np.nan, dtype=np.float32)
    strong_rows = np.zeros(LANES, dtype=np.int64)
    strong_scores = np.full(LANES, np.inf, dtype=np.float32)
    weakest, count, exact = np.float32(np.inf), 0, True
    buffer = np.zeros(width, dtype=np.float32)
    for i in range(first, last, max(1, (last - first) // 256)):
        grade = np.float32(score(table, i, scale))
        if grade < weakest:
            for j in range(attributes):
                buffer[j] = table[i, j]
            _strengthen(strong, strong_rows, strong_scores, buffer, 0, i, grade)
            weakest = strong_scores.max()
    for i in range(first, last):
        at = count * width
        image[at + width - 1] = 0.0
        for j in range(attributes):
            image[at + j] = table[i, j]
        mask = lanes_not_above(strong, 0, image, at, width)
        if mask != 0:
            if single:
                mask &= lanes_somewhere_below(strong, 0, image, at, width)
                if mask != 0:
                    continue
            else:
                while mask != 0 and not row_dominates(table, strong_rows[lowest_bit(mask)], table, i):
                    mask &= mask - 1
                if mask != 0:
                    continue
        grade = np.float32(score(table, i, scale))
        if not single:
            for j in range(attributes):
                exact &= image[at + j] == table[i, j]
        rows[count], scores[count] = i, grade
        count += 1
        if grade < weakest:
            _strengthen(strong, strong_rows, strong_scores, image, at, i, grade)
            weakest = strong_scores.max()
    return image, rows, scores, count, exact


@numba.njit(cache=True, nogil=True)
def order_by_score(scores: Image, count: int, attributes: int, buckets: Indices) -> Indices:
    """Row numbers by rising score, in buckets: `buckets` gets the bucket of every place."""
    many = 1 << 11 if count < 1 << 14 else 1 << 15
    factor = np.float32((many - 1) / attributes)
    ends = np.zeros(many + 1, dtype=np.int64)
    for i in range(count):
        ends[np.int64(scores[i] * factor) + 1] += 1
    for b in range(many):
        ends[b + 1] += ends[b]
    order = np.empty(count, dtype=np.int64)
    for i in range(count):
        bucket = np.int64(scores[i] * factor)
        order[ends[bucket]] = i
        buckets[ends[bucket]] = bucket
        ends[bucket] += 1
    return order
