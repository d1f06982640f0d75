"""kmax: how strongly each record is dominated, the number that orders top-delta answers."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from skypane.kernels.arrays import Floats, Indices, as_offsets, as_table


@numba.njit(cache=True, nogil=True)
def _kmax(table: Floats, offsets: Indices, result: Indices) -> None:
    width = table.shape[1]
    for group in range(len(offsets) - 1):
        for row in range(offsets[group], offsets[group + 1]):
            best = 0
            for other in range(offsets[group], offsets[group + 1]):
                no_worse, better = 0, False
                for i in range(width):
                    no_worse += table[other, i] <= table[row, i]
                    better |= table[other, i] < table[row, i]
                if better and no_worse > best:
                    best = no_worse
                    if best == width:
                        break
            result[row] = best


def kmax(values: npt.ArrayLike, offsets: npt.ArrayLike) -> Indices:
    """For every row the largest k such that a row of its group k-dominates it, 0 where none does.

    A row k-dominates another if it is no worse on some k attributes and better on one of them. kmax
    equal to the number of attributes means dominated in the ordinary sense.
    """
    table = as_table(values)
    result = np.zeros(len(table), dtype=np.int64)
    _kmax(table, as_offsets(offsets, len(table)), result)
    return result
