"""The skyline of a table, and of every group of a table: rows that no other row dominates."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from skypane.kernels.arrays import Floats, Indices, Mask, as_offsets, as_table


@numba.njit(cache=True, nogil=True)
def _dominates(table: Floats, a: int, b: int) -> bool:
    better = False
    for i in range(table.shape[1]):
        if table[a, i] > table[b, i]:
            return False
        better |= table[a, i] < table[b, i]
    return better


@numba.njit(cache=True, nogil=True)
def _scan_groups(table: Floats, offsets: Indices, kept: Mask) -> None:
    window = np.empty(len(table), dtype=np.int64)
    for group in range(len(offsets) - 1):
        size = 0
        for row in range(offsets[group], offsets[group + 1]):
            alive = True
            survivors = 0
            for i in range(size):
                other = window[i]
                if alive and _dominates(table, other, row):
                    alive = False
                if alive and _dominates(table, row, other):
                    kept[other] = False
                    continue
                window[survivors] = other
                survivors += 1
            size = survivors
            if alive:
                kept[row] = True
                window[size] = row
                size += 1


def skyline(values: npt.ArrayLike) -> Indices:
    """Indices, ascending, of the rows that no other row dominates; smaller is better everywhere.

    Equal rows all stay. Infinities are values like any other; NaN is not allowed.
    """
    table = as_table(values)
    return skyline_groups(table, np.array([0, len(table)]))


def skyline_groups(values: npt.ArrayLike, offsets: npt.ArrayLike) -> Indices:
    """The skyline of every group of rows by itself, as ascending row indices of the whole table."""
    table = as_table(values)
    kept = np.zeros(len(table), dtype=np.bool_)
    _scan_groups(table, as_offsets(offsets, len(table)), kept)
    return np.flatnonzero(kept)
