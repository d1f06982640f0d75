"""The sliding skyline of many small keys: for every row, the panes between which nothing dominates it."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from skypane.kernels.arrays import NONE_PANE, Floats, Indices, Mask

STILL_ALIVE = np.iinfo(np.int64).max
"""No younger pane dominates the row so far."""


@numba.njit(cache=True, nogil=True)
def slide_groups(
    table: Floats, panes: Indices, fresh: Mask, offsets: Indices, critical: Indices, died: Indices
) -> None:
    """Compare the fresh rows of every group with all rows of other panes of the group, in place.

    ``critical`` becomes the youngest older pane with a row that dominates the row, ``died`` the oldest younger one.
    """
    for group in range(len(offsets) - 1):
        for i in range(offsets[group], offsets[group + 1]):
            if fresh[i]:
                for j in range(offsets[group], offsets[group + 1]):
                    if panes[j] < panes[i]:
                        relation = _relation(table, i, j)
                        if relation < 0:
                            died[j] = min(died[j], panes[i])
                        elif relation > 0:
                            critical[i] = max(critical[i], panes[j])


@numba.njit(cache=True, nogil=True)
def _relation(table: Floats, i: int, j: int) -> int:
    """-1 if row ``i`` dominates row ``j``, 1 if ``j`` dominates ``i``, else 0."""
    better, worse = False, False
    for a in range(table.shape[1]):
        if table[i, a] < table[j, a]:
            better = True
        elif table[i, a] > table[j, a]:
            worse = True
        if better and worse:
            return 0
    return int(worse) - int(better)


def warm_sliding() -> None:
    """Compile for the types that the stages use."""
    rows = np.zeros((1, 1))
    number: npt.NDArray[np.int64] = np.full(1, NONE_PANE)
    slide_groups(rows, number, np.ones(1, dtype=np.bool_), np.array([0, 1]), number.copy(), number.copy())
