"""The sliding skyline: for every row, the panes between which nothing dominates it.

Rows of one key that are *fresh* (their pane has just been sealed) are compared with all rows of other panes:

* ``critical`` of a fresh row becomes the youngest older pane with a row that dominates it;
* ``died`` of any row becomes the oldest younger pane with a fresh row that dominates it.

Neither depends on the order of comparing, so all fresh panes are joined at once: two trees are built, of the live rows
and of the fresh ones, however many panes there are.

A window has a row if it spans the row's pane and neither of the two others. Where windows overlap much, most rows have
a dominator on either side so close that no window fits between: any two such are enough; nearer ones are not sought.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

import numba
import numpy as np

from skypane.kernels.arrays import Floats, Indices, Mask
from skypane.kernels.screening import image_of
from skypane.kernels.simd import ALL_LANES, LANES, compare_lanes, lowest_bit, padded_width
from skypane.kernels.trees import (
    SCRATCH,
    Exact,
    Image,
    Tree,
    leave_for_later,
    next_node,
    planted,
    row_dominates,
)
from skypane.model.panes import NO_PANE

PaneIndex: TypeAlias = tuple[Tree, Exact, Indices, Indices]  # of each leaf its pane, of each block its range of panes
Shape: TypeAlias = tuple[int, int]
"""How many panes a window has, and how many panes lie between two windows."""
EXACT: Shape = (1, 1)
"""A window of one pane has all its rows, whatever other panes have: every row is looked up to the end."""
BIG_KEY_ROWS = 4_096
"""Keys with more rows are joined by index, the others all at once with plain loops."""
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


def slide_one(
    table: Floats,
    panes: Indices,
    fresh: Mask,
    critical: Indices,
    died: Indices,
    shape: Shape = EXACT,
    threads: int = 1,
    own: Mask | None = None,
) -> None:
    """Join one large group, in place. Fresh panes are younger than all others; dead rows take no part.

    Of rows that no window of this shape has, both panes are only good enough to show that. Every row is looked up by
    itself, so the look-ups are shared out among ``threads``; and with ``own``, only the bounds of those rows are found,
    while all rows are looked at: others find the rest.
    """
    image, exact = image_of(table, padded_width(table.shape[1]))
    new, live = _rows_where(fresh, died, True), _rows_where(fresh, died, False)
    if not len(new):
        return

    def ask(index: PaneIndex, asking: Indices) -> None:
        _share(
            threads,
            asking if own is None else asking[own[asking]],
            lambda rows: _look_up(index, image, table, exact, panes, rows, critical, died, shape, False),
        )

    index = _index(table, image, exact, panes, new)  # Puts `new` in tree order: neighbours then ask for the same nodes.
    ask(index, np.concatenate((new, live)))
    if len(live):
        # A row whose critical pane is younger than any live one is dominated by a fresh row: it need not be looked up.
        asking = _undecided(panes, critical, died, shape, new, int(panes[live].max()))
        ask(_index(table, image, exact, panes, live), asking)


def slide_keys(
    table: Floats,
    panes: Indices,
    fresh: Mask,
    offsets: Indices,
    critical: Indices,
    died: Indices,
    shape: Shape,
    threads: int = 1,
) -> None:
    """Join every key by itself, in place: large ones by index, the others all together."""
    big = np.diff(offsets) > BIG_KEY_ROWS
    for key in np.flatnonzero(big):
        own = slice(int(offsets[key]), int(offsets[key + 1]))
        slide_one(table[own], panes[own], fresh[own], critical[own], died[own], shape, threads)
    if not big.all():
        slide_groups(table, panes, fresh & np.repeat(~big, np.diff(offsets)), offsets, critical, died)


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
    leaves = panes[rows]
    return tree, originals, leaves, _ranges(tree, leaves)


@numba.njit(cache=True, nogil=True)
def _look_up(
    index: PaneIndex,
    image: Image,
    table: Floats,
    exact: bool,
    panes: Indices,
    rows: Indices,
    critical: Indices,
    died: Indices,
    shape: Shape,
    same_pane: bool,
) -> None:
    """Bring both bounds of some rows nearer, by the rows of the index."""
    scratch = np.empty(SCRATCH, dtype=np.int64)
    for row in rows:
        bounds = (panes[row], critical[row], died[row])
        critical[row], died[row] = _bracket(index, image, table, row, exact, bounds, shape, same_pane, scratch)


@numba.njit(cache=True, nogil=True)
def _in_no_window(pane: int, critical: int, died: int, shape: Shape) -> bool:
    """Whether no window spans the pane and lies between the other two."""
    width, step = shape
    first = max(-((width - 1 - pane) // step), critical // step + 1)
    return first > min(pane // step, (died - width) // step)


@numba.njit(cache=True, nogil=True)
def _undecided(panes: Indices, critical: Indices, died: Indices, shape: Shape, rows: Indices, youngest: int) -> Indices:
    """The rows that some window may have and whose critical pane may be as young as ``youngest``."""
    chosen = np.empty(len(rows), dtype=np.int64)
    count = 0
    for row in rows:
        if critical[row] <= youngest and not _in_no_window(panes[row], critical[row], died[row], shape):
            chosen[count] = row
            count += 1
    return chosen[:count].copy()


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
def bound_one(
    table: Floats, panes: Indices, wanted: Mask, critical: Indices, died: Indices, shape: Shape = EXACT
) -> None:
    """The same for one large group, by index; of rows in no window of the shape, only good enough to show that."""
    image, exact = image_of(table, padded_width(table.shape[1]))
    index = _index(table, image, exact, panes, np.arange(len(panes)))
    _look_up(index, image, table, exact, panes, np.flatnonzero(wanted), critical, died, shape, True)


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
def _ranges(tree: Tree, leaves: Indices) -> Indices:
    """The oldest and the youngest pane below every block."""
    starts, levels = tree[1], tree[2]
    ranges = np.empty((starts[levels], 2), dtype=np.int64)
    for block in range(starts[levels]):
        ranges[block, 0], ranges[block, 1] = STILL_ALIVE, NO_PANE
    for i in range(len(leaves)):
        ranges[i // LANES, 0] = min(ranges[i // LANES, 0], leaves[i])
        ranges[i // LANES, 1] = max(ranges[i // LANES, 1], leaves[i])
    for level in range(1, levels):
        for c in range(starts[level] - starts[level - 1]):
            child, parent = starts[level - 1] + c, starts[level] + c // LANES
            ranges[parent, 0] = min(ranges[parent, 0], ranges[child, 0])
            ranges[parent, 1] = max(ranges[parent, 1], ranges[child, 1])
    return ranges


@numba.njit(cache=True, nogil=True)
def _bracket(
    index: PaneIndex,
    image: Image,
    table: Floats,
    row: int,
    exact: bool,
    bounds: tuple[int, int, int],
    shape: Shape,
    same_pane: bool,
    scratch: Indices,
) -> tuple[int, int]:
    """The row's critical pane and the one it died in, as near as the leaves that dominate it make them.

    ``bounds`` are its own pane and these two so far. With ``same_pane`` a dominator of the same pane counts for both.
    """
    tree, originals, leaves, ranges = index
    nodes, starts, levels, width = tree
    pane, critical, died = bounds
    level, current = levels - 1, 0
    while True:
        here = (starts[level] + current) * width * LANES
        compared = compare_lanes(nodes, here, image, row * width, width)
        # In a rounded image even a lane that looks equal may hold a dominator.
        mask = compared >> LANES if exact else compared & ALL_LANES
        if level > 0:
            leave_for_later(scratch, level, current, mask)
        else:
            while mask != 0:
                place = current * LANES + lowest_bit(mask)
                mask &= mask - 1
                other = leaves[place]
                nearer = critical < other < died and (other != pane or same_pane)
                if nearer and (exact or row_dominates(originals[0], originals[1][place], table, row)):
                    if other <= pane:
                        critical = other
                    if other >= pane:
                        died = other
                    if _in_no_window(pane, critical, died, shape):
                        return critical, died
        while True:
            level, current = next_node(scratch, max(level, 1), levels)
            if level < 0:
                return critical, died
            block = starts[level] + current
            # Nothing below can be nearer if all panes there are too old or too young, or the row's own.
            oldest, youngest = ranges[block, 0], ranges[block, 1]
            if youngest > critical and oldest < died and (oldest < youngest or oldest != pane or same_pane):
                break
            level += 1


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
    table, critical, died = np.zeros((2, 1)), np.full(2, NO_PANE), np.full(2, STILL_ALIVE)
    slide_groups(table, panes, fresh, bounds, critical, died)
    slide_one(table, panes, fresh, critical, died, EXACT)


def warm_bounds() -> None:
    """Compile what judges late records."""
    panes, wanted, bounds = np.array([0, 1]), np.array([False, True]), np.array([0, 2])
    table, critical, died = np.zeros((2, 1)), np.full(2, NO_PANE), np.full(2, STILL_ALIVE)
    bound_groups(table, panes, wanted, bounds, critical, died)
    bound_one(table, panes, wanted, critical, died, EXACT)
