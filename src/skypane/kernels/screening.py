"""A first pass over a table that drops most dominated rows cheaply and makes the float32 image of the rest.

Every row is tested against 16 strong rows: those with the smallest score seen so far. The score is a sum
of attributes scaled by a sample, so it is monotone: a row never scores above a row that it dominates.
"""

from __future__ import annotations

from typing import TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from skypane.kernels.arrays import Floats, Indices
from skypane.kernels.simd import ALL_LANES, LANES, compare_lanes, compare_point, lanes_above_everywhere, lowest_bit
from skypane.kernels.trees import Image, row_dominates

Scale: TypeAlias = npt.NDArray[np.float64]  # per attribute: offset and factor
Strong: TypeAlias = tuple[Image, Indices, Image, Image]  # block, table rows (the champion last), scores, champion
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


@numba.njit(cache=True, nogil=True)
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
def _strengthen(strong: Strong, table: Floats, row: int, grade: np.float32) -> np.float32:
    """Put a row in the place of the weakest strong row; the score of the weakest one now."""
    block, rows, scores, champion = strong
    lane, best, worst = 0, scores[0], np.float32(0.0)
    for k in range(LANES):
        lane = k if scores[k] > scores[lane] else lane
        best = min(best, scores[k])
    rows[lane], scores[lane] = row, grade
    for k in range(LANES):
        worst = max(worst, scores[k])
    lead = grade <= best
    for j in range(table.shape[1]):
        block[j * LANES + lane] = table[row, j]
        if lead:
            champion[j] = table[row, j]
    if lead:
        rows[LANES] = row
    return worst


@numba.njit(cache=True, nogil=True)
def _first_strong_rows(table: Floats, first: int, last: int, width: int, scale: Scale, single: bool) -> Strong:
    strong = (
        np.full(width * LANES, np.nan, dtype=np.float32),
        np.zeros(LANES + 1, dtype=np.int64),
        np.full(LANES, np.inf, dtype=np.float32),
        np.full(width, 0.0 if single else -1.0, dtype=np.float32),  # -1: padding is above the champion
    )
    weakest = np.float32(np.inf)
    for i in range(first, last, max(1, (last - first) // 128)):
        grade = np.float32(score(table, i, scale))
        if grade < weakest:
            weakest = _strengthen(strong, table, i, grade)
    for place in range(table.shape[1] * LANES, width * LANES):  # padding; unused lanes stay NaN before it
        strong[0][place] = 0.0
    return strong


@numba.njit(cache=True, nogil=True)
def _not_dominated_by_champion(table: Floats, first: int, strong: Strong, block: Image, single: bool) -> int:
    """Which of the 16 rows from `first` on the strongest row leaves, as a mask."""
    champion = strong[3]
    width = len(champion)
    for j in range(table.shape[1]):
        for k in range(LANES):
            block[j * LANES + k] = table[first + k, j]
    if single:
        return ALL_LANES & ~(compare_point(block, 0, champion, 0, width) >> LANES)
    # rounding is monotone: above in the image is above; ties are left to the test that confirms
    return ALL_LANES & ~lanes_above_everywhere(block, 0, champion, 0, width)


@numba.njit(cache=True, nogil=True)
def _dominated_by_strong(table: Floats, row: int, strong: Strong, image: Image, at: int, single: bool) -> bool:
    mask = compare_lanes(strong[0], 0, image, at, len(strong[3]))
    if single:
        return mask > ALL_LANES
    mask &= ALL_LANES
    while mask != 0:
        if row_dominates(table, strong[1][lowest_bit(mask)], table, row):
            return True
        mask &= mask - 1
    return False


@numba.njit(cache=True, nogil=True)
def screen(table: Floats, first: int, last: int, width: int, single: bool) -> Screened:
    """The rows `first:last` that the strong rows do not dominate, with image and scores.

    `single` says that the table is float32, so that the image is exact.
    """
    attributes = table.shape[1]
    scale = sample_scale(table, first, last)
    strong = _first_strong_rows(table, first, last, width, scale, single)
    weakest = strong[2].max()
    image = np.empty((last - first) * width, dtype=np.float32)
    rows = np.empty(last - first, dtype=np.int64)
    scores = np.empty(last - first, dtype=np.float32)
    block = np.zeros(width * LANES, dtype=np.float32)
    count, exact = 0, True
    for start in range(first, last, LANES):
        mask = (1 << min(LANES, last - start)) - 1
        if start + LANES <= last:
            mask = _not_dominated_by_champion(table, start, strong, block, single)
        while mask != 0:
            i, at = start + lowest_bit(mask), count * width
            mask &= mask - 1
            for j in range(attributes):
                image[at + j] = table[i, j]
            for j in range(attributes, width):
                image[at + j] = 0.0
            if _dominated_by_strong(table, i, strong, image, at, single):
                continue
            grade = np.float32(score(table, i, scale))
            if not single:
                for j in range(attributes):
                    exact &= image[at + j] == table[i, j]
            rows[count], scores[count] = i, grade
            count += 1
            if grade < weakest:
                weakest = _strengthen(strong, table, i, grade)
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


@numba.njit(cache=True, nogil=True)
def image_of(table: Floats, width: int) -> tuple[Image, bool]:
    """The float32 image of a whole table, and whether it is exact."""
    image = np.zeros(len(table) * width, dtype=np.float32)
    exact = True
    for i in range(len(table)):
        for j in range(table.shape[1]):
            value = np.float32(table[i, j])
            image[i * width + j] = value
            exact &= value == table[i, j]
    return image, exact
