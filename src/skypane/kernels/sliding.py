"""The sliding skyline: for every row, the panes between which nothing dominates it.

Rows of one key that are *fresh* (their pane has just been sealed) are compared with all rows of other panes:

* ``critical`` of a fresh row becomes the youngest older pane with a row that dominates it;
* ``died`` of any row becomes the oldest younger pane with a fresh row that dominates it.

Neither depends on the order of comparing, so all fresh panes are joined at once: two trees are built, of the live rows
and of the fresh ones, however many panes there are.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

import numba
import numpy as np

from skypane.kernels.arrays import NONE_PANE, Floats, Indices, Mask
from skypane.kernels.screening import image_of
from skypane.kernels.simd import ALL_LANES, LANES, compare_lanes, lowest_bit, padded_width
from skypane.kernels.trees import (
    MOST_LEVELS,
    SCRATCH,
    Exact,
    Image,
    Tree,
    planted,
    row_dominates,
)

PaneIndex: TypeAlias = tuple[Tree, Exact, Indices, Indices, Indices, Indices]
_WORTH_A_THREAD = 2_048
"""Fewer rows are looked up in less time than threads take to start."""

STILL_ALIVE = np.iinfo(np.int64).max
"""No younger pane dominates the row so far."""


@numba.njit(cache=True, nogil=True)
def slide_groups(
    table: Floats, panes: Indices, fresh: Mask, offsets: Indices, critical: Indices, died: Indices
) -> None:
    """Join every group (key) by itself, in place, by comparing all pairs: for many small groups."""
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


def slide_one(table: Floats, panes: Indices, fresh: Mask, critical: Indices, died: Indices, threads: int = 1) -> None:
    """Join one large group, in place. Fresh panes are younger than all others; dead rows take no part.

    Every row is looked up by itself, so the look-ups are shared out among ``threads``.
    """
    image, exact = image_of(table, padded_width(table.shape[1]))
    new, live = _rows_where(fresh, died, True), _rows_where(fresh, died, False)
    if not len(new):
        return
    index = _index(table, image, exact, panes, new)
    _share(threads, new, lambda rows: _look_older(index, image, table, exact, panes, rows, critical))
    both = np.concatenate((new, live))
    _share(threads, both, lambda rows: _look_younger(index, image, table, exact, panes, rows, died))
    if len(live):
        # A row whose critical pane is younger than any live one is dominated by a fresh row: it need not be looked up.
        asked = new[critical[new] <= int(panes[live].max())]
        index = _index(table, image, exact, panes, live)
        _share(threads, asked, lambda rows: _look_older(index, image, table, exact, panes, rows, critical))


def _share(threads: int, rows: Indices, look_up: Callable[[Indices], None]) -> None:
    """Cut rows into a few parts for each thread, so that none waits long for the others."""
    if threads <= 1 or len(rows) < _WORTH_A_THREAD:
        look_up(rows)
        return
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(look_up, part) for part in np.array_split(rows, 4 * threads)]:
            done.result()


@numba.njit(cache=True, nogil=True)
def _index(table: Floats, image: Image, exact: bool, panes: Indices, rows: Indices) -> PaneIndex:
    """A tree of some rows that knows the panes below each of its blocks; puts ``rows`` in tree order."""
    width = padded_width(table.shape[1])
    tree, originals = planted(table, image, width, exact, rows)
    older, younger = _signed(panes, rows, 1), _signed(panes, rows, -1)
    return tree, originals, older, _ranges(tree, older), younger, _ranges(tree, younger)


@numba.njit(cache=True, nogil=True)
def _look_older(
    index: PaneIndex, image: Image, table: Floats, exact: bool, panes: Indices, rows: Indices, critical: Indices
) -> None:
    tree, originals, older, older_range = index[0], index[1], index[2], index[3]
    scratch = np.empty(SCRATCH, dtype=np.int64)
    for row in rows:
        found = _nearest(tree, originals, older, older_range, image, table, row, exact, panes[row], scratch)
        critical[row] = max(critical[row], found)


@numba.njit(cache=True, nogil=True)
def _look_younger(
    index: PaneIndex, image: Image, table: Floats, exact: bool, panes: Indices, rows: Indices, died: Indices
) -> None:
    tree, originals, younger, younger_range = index[0], index[1], index[4], index[5]
    scratch = np.empty(SCRATCH, dtype=np.int64)
    for row in rows:
        found = _nearest(tree, originals, younger, younger_range, image, table, row, exact, -panes[row], scratch)
        if found != NONE_PANE:
            died[row] = min(died[row], -found)


@numba.njit(cache=True, nogil=True)
def bound_groups(
    table: Floats, panes: Indices, wanted: Mask, offsets: Indices, critical: Indices, died: Indices
) -> None:
    """The bounds of some rows only, by comparing pairs; here a row of the same pane counts as older and younger."""
    for group in range(len(offsets) - 1):
        for i in range(offsets[group], offsets[group + 1]):
            if wanted[i]:
                for j in range(offsets[group], offsets[group + 1]):
                    if critical[i] == panes[i]:
                        break
                    nearer = critical[i] < panes[j] <= panes[i] or panes[i] <= panes[j] < died[i]
                    if nearer and _relation(table, i, j) > 0:
                        if panes[j] <= panes[i]:
                            critical[i] = panes[j]
                        if panes[j] >= panes[i]:
                            died[i] = panes[j]


@numba.njit(cache=True, nogil=True)
def bound_one(table: Floats, panes: Indices, wanted: Mask, critical: Indices, died: Indices) -> None:
    """The same for one large group, by index."""
    width = padded_width(table.shape[1])
    image, exact = image_of(table, width)
    rows = np.arange(len(panes))
    scratch = np.empty(SCRATCH, dtype=np.int64)
    tree, originals = planted(table, image, width, exact, rows)
    older, younger = _signed(panes, rows, 1), _signed(panes, rows, -1)
    older_range, younger_range = _ranges(tree, older), _ranges(tree, younger)
    for row in np.flatnonzero(wanted):  # ``rows`` is in tree order by now
        found = _nearest(tree, originals, older, older_range, image, table, row, exact, panes[row] + 1, scratch)
        critical[row] = max(critical[row], found)
        found = _nearest(tree, originals, younger, younger_range, image, table, row, exact, 1 - panes[row], scratch)
        if found != NONE_PANE:
            died[row] = min(died[row], -found)


@numba.njit(cache=True, nogil=True)
def _rows_where(fresh: Mask, died: Indices, wanted: bool) -> Indices:
    """The fresh rows, or the live ones that are not fresh."""
    rows = np.empty(len(fresh), dtype=np.int64)
    count = 0
    for i in range(len(fresh)):
        if fresh[i] == wanted and (wanted or died[i] == STILL_ALIVE):
            rows[count] = i
            count += 1
    return rows[:count].copy()


@numba.njit(cache=True, nogil=True)
def _signed(panes: Indices, rows: Indices, sign: int) -> Indices:
    """The pane of each leaf place; negative, so that the oldest comes first, on request."""
    signed = np.empty(len(rows), dtype=np.int64)
    for i in range(len(rows)):
        signed[i] = sign * panes[rows[i]]
    return signed


@numba.njit(cache=True, nogil=True)
def _ranges(tree: Tree, signed: Indices) -> Indices:
    """The smallest and the largest signed pane below every block."""
    starts, levels = tree[1], tree[2]
    ranges = np.empty((starts[levels], 2), dtype=np.int64)
    for block in range(starts[levels]):
        ranges[block, 0], ranges[block, 1] = STILL_ALIVE, NONE_PANE
    for i in range(len(signed)):
        ranges[i // LANES, 0] = min(ranges[i // LANES, 0], signed[i])
        ranges[i // LANES, 1] = max(ranges[i // LANES, 1], signed[i])
    for level in range(1, levels):
        for c in range(starts[level] - starts[level - 1]):
            child, parent = starts[level - 1] + c, starts[level] + c // LANES
            ranges[parent, 0] = min(ranges[parent, 0], ranges[child, 0])
            ranges[parent, 1] = max(ranges[parent, 1], ranges[child, 1])
    return ranges


@numba.njit(cache=True, nogil=True)
def _nearest(
    tree: Tree,
    originals: Exact,
    signed: Indices,
    ranges: Indices,
    image: Image,
    table: Floats,
    row: int,
    exact: bool,
    limit: int,
    scratch: Indices,
) -> int:
    """The largest signed pane below ``limit`` of a leaf that dominates the row; ``NONE_PANE`` if there is none."""
    nodes, starts, levels, width = tree
    best = NONE_PANE
    level, current = levels - 1, 0
    while True:
        here = (starts[level] + current) * width * LANES
        compared = compare_lanes(nodes, here, image, row * width, width)
        # In a rounded image even a lane that looks equal may hold a dominator.
        mask = compared >> LANES if exact else compared & ALL_LANES
        if level > 0:
            scratch[level] = mask
            scratch[MOST_LEVELS + level] = current
        else:
            while mask != 0:
                place = current * LANES + lowest_bit(mask)
                mask &= mask - 1
                if best < signed[place] < limit and (
                    exact or row_dominates(originals[0], originals[1][place], table, row)
                ):
                    best = signed[place]
            level = 1
        while True:
            while level < levels and scratch[level] == 0:
                level += 1
            if level >= levels:
                return best
            mask = scratch[level]
            scratch[level] = mask & (mask - 1)
            current = scratch[MOST_LEVELS + level] * LANES + lowest_bit(mask)
            block = starts[level - 1] + current
            # Nothing below can be nearer: all are too old already, or on the wrong side of the limit.
            if ranges[block, 1] > best and ranges[block, 0] < limit:
                break
        level -= 1


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
    panes, fresh, bounds = np.array([0, 1]), np.array([False, True]), np.array([0, 2])
    table, critical, died = np.zeros((2, 1)), np.full(2, NONE_PANE), np.full(2, STILL_ALIVE)
    slide_groups(table, panes, fresh, bounds, critical, died)
    slide_one(table, panes, fresh, critical, died)


def warm_bounds() -> None:
    """Compile what judges late records."""
    panes, wanted, bounds = np.array([0, 1]), np.array([False, True]), np.array([0, 2])
    table, critical, died = np.zeros((2, 1)), np.full(2, NONE_PANE), np.full(2, STILL_ALIVE)
    bound_groups(table, panes, wanted, bounds, critical, died)
    bound_one(table, panes, wanted, critical, died)
