"""Dominance between two tables: merging two skylines, and joining a new pane with a sliding skyline."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from skypane.kernels.arrays import Floats, Indices, Mask, as_integers, as_tables
from skypane.kernels.screening import image_of
from skypane.kernels.simd import padded_width
from skypane.kernels.sliding import STILL_ALIVE, slide_one
from skypane.kernels.trees import (
    SCRATCH,
    Exact,
    Image,
    Tree,
    has_confirmed_dominator,
    has_dominator,
    planted,
)
from skypane.model.panes import NO_PANE


@numba.njit(cache=True, nogil=True)
def _keep_undominated(
    tree: Tree, originals: Exact, table: Floats, image: Image, asked: Indices, exact: bool, kept: Mask
) -> None:
    """Mark the rows asked for that no row of the tree dominates; fastest where neighbours follow each other."""
    width = tree[3]
    scratch = np.empty(SCRATCH, dtype=np.int64)
    for row in asked:
        at = row * width
        if exact:
            kept[row] = not has_dominator(tree, image, at, scratch)
        else:
            kept[row] = not has_confirmed_dominator(tree, originals, image, at, table, row, scratch)


@numba.njit(cache=True, nogil=True)
def _merge(left: Floats, right: Floats, left_kept: Mask, right_kept: Mask) -> None:
    width = padded_width(left.shape[1])
    left_image, left_exact = image_of(left, width)
    right_image, right_exact = image_of(right, width)
    exact = left_exact and right_exact
    left_tree, left_rows = planted(left, left_image, width, exact, np.arange(len(left)))
    right_tree, right_rows = planted(right, right_image, width, exact, np.arange(len(right)))
    _keep_undominated(right_tree, right_rows, left, left_image, left_rows[1], exact, left_kept)
    _keep_undominated(left_tree, left_rows, right, right_image, right_rows[1], exact, right_kept)


def merge(left: npt.ArrayLike, right: npt.ArrayLike) -> tuple[Indices, Indices]:
    """Of two tables that already are skylines, the rows of each that are in the skyline of both."""
    first, second = as_tables(left, right)
    first_kept, second_kept = np.ones(len(first), np.bool_), np.ones(len(second), np.bool_)
    if first.size and second.size:
        _merge(first, second, first_kept, second_kept)
    return np.flatnonzero(first_kept), np.flatnonzero(second_kept)


def dominance_join(
    live: npt.ArrayLike, live_pane: npt.ArrayLike, new: npt.ArrayLike, new_pane_id: int
) -> tuple[Mask, Indices]:
    """Join the live rows of a sliding skyline with the skyline of a new, younger pane.

    Returns which live rows no new row dominates (the others will never be in an answer again), and for
    every new row the youngest pane of a live row that dominates it, `NO_PANE` where there is none.
    Equal rows do not dominate each other.
    """
    old, fresh = as_tables(live, new)
    panes = as_integers(live_pane)
    if len(panes) != len(old):
        raise ValueError(f"{len(old)} live rows but {len(panes)} pane numbers")
    if len(panes) and int(panes.max()) >= new_pane_id:
        raise ValueError(f"live rows must be of panes before {new_pane_id}")
    rows, live = len(old) + len(fresh), len(old)
    critical, died = np.full(rows, NO_PANE), np.full(rows, STILL_ALIVE)
    if old.size and fresh.size:
        all_panes = np.concatenate((panes, np.full(len(fresh), new_pane_id, dtype=np.int64)))
        slide_one(np.concatenate((old, fresh)), all_panes, np.arange(rows) >= live, critical, died)
    return died[:live] == STILL_ALIVE, critical[live:]
