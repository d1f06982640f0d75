"""Dominance between two tables: merging two skylines, and joining a new pane with a sliding skyline."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from skypane.kernels.arrays import NONE_PANE, Floats, Indices, Mask, as_integers, as_tables


@numba.njit(cache=True, nogil=True)
def _dominates(left: Floats, a: int, right: Floats, b: int) -> bool:
    better = False
    for i in range(left.shape[1]):
        if left[a, i] > right[b, i]:
            return False
        better |= left[a, i] < right[b, i]
    return better


@numba.njit(cache=True, nogil=True)
def _keep_undominated(rows: Floats, others: Floats, kept: Mask) -> None:
    for i in range(len(rows)):
        kept[i] = True
        for j in range(len(others)):
            if _dominates(others, j, rows, i):
                kept[i] = False
                break


@numba.njit(cache=True, nogil=True)
def _critical(live: Floats, live_pane: Indices, new: Floats, critical: Indices) -> None:
    for j in range(len(new)):
        for i in range(len(live)):
            if live_pane[i] > critical[j] and _dominates(live, i, new, j):
                critical[j] = live_pane[i]


def merge(left: npt.ArrayLike, right: npt.ArrayLike) -> tuple[Indices, Indices]:
    """Of two tables that already are skylines, the rows of each that are in the skyline of both."""
    first, second = as_tables(left, right)
    first_kept, second_kept = np.empty(len(first), np.bool_), np.empty(len(second), np.bool_)
    _keep_undominated(first, second, first_kept)
    _keep_undominated(second, first, second_kept)
    return np.flatnonzero(first_kept), np.flatnonzero(second_kept)


def dominance_join(
    live: npt.ArrayLike, live_pane: npt.ArrayLike, new: npt.ArrayLike, new_pane_id: int
) -> tuple[Mask, Indices]:
    """Join the live rows of a sliding skyline with the skyline of a new, younger pane.

    Returns which live rows no new row dominates (the others will never be in an answer again), and for
    every new row the youngest pane of a live row that dominates it, `NONE_PANE` where there is none.
    Equal rows do not dominate each other.
    """
    old, fresh = as_tables(live, new)
    panes = as_integers(live_pane)
    if len(panes) != len(old):
        raise ValueError(f"{len(old)} live rows but {len(panes)} pane numbers")
    if len(panes) and int(panes.max()) >= new_pane_id:
        raise ValueError(f"live rows must be of panes before {new_pane_id}")
    kept = np.ones(len(old), dtype=np.bool_)
    critical = np.full(len(fresh), NONE_PANE, dtype=np.int64)
    if len(old) and len(fresh):
        _keep_undominated(old, fresh, kept)
        _critical(old, panes, fresh, critical)
    return kept, critical
