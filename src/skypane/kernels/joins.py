"""Dominance between two tables: merging two skylines, and joining a new pane with a sliding skyline."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from skypane.kernels.arrays import NONE_PANE, Floats, Indices, Mask, as_integers, as_tables
from skypane.kernels.screening import image_of
from skypane.kernels.simd import ALL_LANES, LANES, compare_lanes, lowest_bit, padded_width
from skypane.kernels.trees import (
    MOST_LEVELS,
    SCRATCH,
    Exact,
    Image,
    Tree,
    has_confirmed_dominator,
    has_dominator,
    lowest_corners,
    plant,
    row_dominates,
    take,
)


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
def _youngest_panes(tree: Tree, panes: Indices) -> Indices:
    """The youngest pane below every block of a tree whose leaf places have the given panes."""
    starts, levels = tree[1], tree[2]
    youngest = np.full(starts[levels], NONE_PANE, dtype=np.int64)
    for i in range(len(panes)):
        youngest[i // LANES] = max(youngest[i // LANES], panes[i])
    for level in range(1, levels):
        for c in range(starts[level] - starts[level - 1]):
            parent = starts[level] + c // LANES
            youngest[parent] = max(youngest[parent], youngest[starts[level - 1] + c])
    return youngest


@numba.njit(cache=True, nogil=True)
def _critical_pane(
    tree: Tree,
    originals: Exact,
    panes: Indices,
    youngest: Indices,
    image: Image,
    table: Floats,
    row: int,
    exact: bool,
    scratch: Indices,
) -> int:
    """The youngest pane of a leaf that dominates the row; nodes without a younger one are passed over."""
    nodes, starts, levels, width = tree
    best = NONE_PANE
    level, current = levels - 1, 0
    while True:
        here = (starts[level] + current) * width * LANES
        compared = compare_lanes(nodes, here, image, row * width, width)
        # in a rounded image even a lane that looks equal may hold a dominator
        mask = compared >> LANES if exact else compared & ALL_LANES
        if level > 0:
            scratch[level] = mask
            scratch[MOST_LEVELS + level] = current
        else:
            while mask != 0:
                place = current * LANES + lowest_bit(mask)
                mask &= mask - 1
                if panes[place] > best and (exact or row_dominates(originals[0], originals[1][place], table, row)):
                    best = panes[place]
            level = 1
        while True:
            while level < levels and scratch[level] == 0:
                level += 1
            if level >= levels:
                return best
            mask = scratch[level]
            scratch[level] = mask & (mask - 1)
            current = scratch[MOST_LEVELS + level] * LANES + lowest_bit(mask)
            if youngest[starts[level - 1] + current] > best:
                break
        level -= 1


@numba.njit(cache=True, nogil=True)
def _planted(table: Floats, image: Image, width: int, exact: bool) -> tuple[Tree, Exact]:
    order = np.arange(len(table))
    tree = plant(image, width, table.shape[1], order)
    if exact:
        return tree, (table, order, table[:0])
    return tree, (table, order, lowest_corners(table, order, tree[1], tree[2]))


@numba.njit(cache=True, nogil=True)
def _merge(left: Floats, right: Floats, left_kept: Mask, right_kept: Mask) -> None:
    width = padded_width(left.shape[1])
    left_image, left_exact = image_of(left, width)
    right_image, right_exact = image_of(right, width)
    exact = left_exact and right_exact
    left_tree, left_rows = _planted(left, left_image, width, exact)
    right_tree, right_rows = _planted(right, right_image, width, exact)
    _keep_undominated(right_tree, right_rows, left, left_image, left_rows[1], exact, left_kept)
    _keep_undominated(left_tree, left_rows, right, right_image, right_rows[1], exact, right_kept)


@numba.njit(cache=True, nogil=True)
def _join(live: Floats, live_pane: Indices, new: Floats, kept: Mask, critical: Indices) -> None:
    width = padded_width(live.shape[1])
    live_image, live_exact = image_of(live, width)
    new_image, new_exact = image_of(new, width)
    exact = live_exact and new_exact
    tree, live_rows = _planted(live, live_image, width, exact)
    new_tree, new_rows = _planted(new, new_image, width, exact)
    _keep_undominated(new_tree, new_rows, live, live_image, live_rows[1], exact, kept)
    panes = take(live_pane, live_rows[1])
    youngest = _youngest_panes(tree, panes)
    scratch = np.empty(SCRATCH, dtype=np.int64)
    for row in new_rows[1]:
        critical[row] = _critical_pane(tree, live_rows, panes, youngest, new_image, new, row, exact, scratch)


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
    if old.size and fresh.size:
        _join(old, panes, fresh, kept, critical)
    return kept, critical
