"""kmax: how strongly each record is dominated, the number that orders top-delta answers.

Only skyline rows have to be counted. A row that is dominated has kmax equal to the number of attributes,
and for every other row the best dominator is found among the skyline rows (the sandwich lemma).
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from skypane.kernels.arrays import Floats, Indices, as_offsets, as_table
from skypane.kernels.simd import LANES, most_not_above
from skypane.kernels.skylines import skyline_of_groups


@numba.njit(cache=True, nogil=True)
def _fill_blocks(table: Floats, rows: Indices, blocks: Floats) -> None:
    """Write the rows into blocks of 16 lanes, column by column; unused lanes hold NaN."""
    attributes = table.shape[1]
    size = attributes * LANES
    for i in range((len(rows) + LANES - 1) // LANES * LANES):
        place = (i // LANES) * size + i % LANES
        for j in range(attributes):
            blocks[place + j * LANES] = table[rows[i], j] if i < len(rows) else np.nan


@numba.njit(cache=True, nogil=True)
def _kmax_of_skyline(table: Floats, rows: Indices, blocks: Floats, result: Indices) -> None:
    attributes = table.shape[1]
    flat = table.reshape(-1)
    _fill_blocks(table, rows, blocks)
    for row in rows:
        best = 0
        for start in range(0, (len(rows) + LANES - 1) // LANES * LANES * attributes, LANES * attributes):
            best = max(best, most_not_above(blocks, start, flat, row * attributes, attributes))
            if best == attributes - 1:  # no more is possible for a row that is not dominated
                break
        result[row] = best


@numba.njit(cache=True, nogil=True)
def _kmax(table: Floats, offsets: Indices, kept: Indices, result: Indices) -> None:
    largest, at = 0, 0
    for group in range(len(offsets) - 1):
        largest = max(largest, offsets[group + 1] - offsets[group])
    blocks = np.empty((largest + LANES) * table.shape[1], dtype=table.dtype)
    for group in range(len(offsets) - 1):
        start = at
        while at < len(kept) and kept[at] < offsets[group + 1]:
            at += 1
        _kmax_of_skyline(table, kept[start:at], blocks, result)


def kmax(values: npt.ArrayLike, offsets: npt.ArrayLike) -> Indices:
    """For every row the largest k such that a row of its group k-dominates it, 0 where none does.

    A row k-dominates another if it is no worse on some k attributes and better on one of them. kmax
    equal to the number of attributes means dominated in the ordinary sense.
    """
    table = as_table(values)
    bounds = as_offsets(offsets, len(table))
    result = np.full(len(table), table.shape[1], dtype=np.int64)
    if table.size:
        _kmax(table, bounds, skyline_of_groups(table, bounds), result)
    return result
