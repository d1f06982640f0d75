"""A static tree of minimum corners that finds dominators: 16 children per node, tested 16 at a time.

Points are put in k-d order and cut into blocks of 16. Each block has a minimum corner (the smallest value
of every attribute); 16 corners make a block of the level above, up to a single block. A point below or in
a node can dominate p only if the node's corner dominates p, so whole subtrees are skipped. Points with a
corner equal to p hold nothing but p and worse, so duplicates cost nothing.

Comparisons run on a float32 image of the table. Where the image is not exact (`exact` is False), a hit is
confirmed on the float64 originals: rounding is monotone, so the image never misses a dominator.
"""

from __future__ import annotations

from typing import TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from skypane.kernels.arrays import Floats, Indices
from skypane.kernels.simd import ALL_LANES, LANES, compare_lanes, lowest_bit

Image = npt.NDArray[np.float32]
MAX_LEVELS = 12
SCRATCH = 2 * MAX_LEVELS
Tree: TypeAlias = tuple[Image, Indices, int, int]  # blocks, first block of each level, levels, width
Exact: TypeAlias = tuple[Floats, Indices, Floats]  # the table, table row of each leaf place, exact corners


@numba.njit(cache=True, nogil=True)
def _partition(keys: Image, order: Indices, first: int, last: int, pivot: float, with_equal: bool) -> int:
    """Move keys below the pivot (or equal to it, on request) to the front; where the others start.

    Every element is swapped, needed or not: a branch on random keys would cost more than the moves.
    """
    place = first
    if with_equal:
        for i in range(first, last):
            key, row = keys[i], order[i]
            keys[i], order[i] = keys[place], order[place]
            keys[place], order[place] = key, row
            place += key <= pivot
    else:
        for i in range(first, last):
            key, row = keys[i], order[i]
            keys[i], order[i] = keys[place], order[place]
            keys[place], order[place] = key, row
            place += key < pivot
    return place


@numba.njit(cache=True, nogil=True)
def _pivot(keys: Image, sample: Image, first: int, last: int, middle: int) -> np.float32:
    """A key that is probably near the one that belongs at `middle`, from a sample of nine."""
    step = (last - first) // 9
    for k in range(9):
        value = keys[first + k * step + step // 2]  # never the very ends: in sorted keys they split nothing
        i = k
        while i > 0 and sample[i - 1] > value:
            sample[i] = sample[i - 1]
            i -= 1
        sample[i] = value
    return sample[(middle - first) * 9 // (last - first)]


@numba.njit(cache=True, nogil=True)
def _sort_few(keys: Image, order: Indices, first: int, last: int) -> None:
    for i in range(first + 1, last):
        key, row = keys[i], order[i]
        j = i
        while j > first and keys[j - 1] > key:
            keys[j], order[j] = keys[j - 1], order[j - 1]
            j -= 1
        keys[j], order[j] = key, row


@numba.njit(cache=True, nogil=True)
def _select(keys: Image, order: Indices, sample: Image, first: int, last: int, middle: int) -> None:
    """Reorder `order[first:last]`, and keys with it, so that everything before `middle` is no larger."""
    while last - first > 12:
        pivot = _pivot(keys, sample, first, last, middle)
        place = _partition(keys, order, first, last, pivot, False)
        if middle < place:
            last = place
        elif place > first:
            first = place
        else:  # the pivot is the smallest key: set all its equals aside at once
            first = _partition(keys, order, first, last, pivot, True)
            if middle < first:
                return
    _sort_few(keys, order, first, last)


@numba.njit(cache=True, nogil=True)
def _split_place(size: int) -> int:
    """About half of `size`, as a multiple of the largest power of 16 that fits: nodes stay whole."""
    unit = LANES
    while unit * LANES < size:
        unit *= LANES
    half = (size // 2 + unit // 2) // unit * unit
    return max(unit, half) if half < size else unit


@numba.njit(cache=True, nogil=True)
def put_in_tree_order(image: Image, width: int, attributes: int, order: Indices) -> None:
    """Reorder row numbers so that close points are neighbours: medians of one attribute after the other."""
    keys, sample = np.empty(len(order), dtype=np.float32), np.empty(9, dtype=np.float32)
    stack = np.empty((128, 3), dtype=np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, len(order), 0
    depth = 1
    while depth > 0:
        depth -= 1
        first, last, attribute = stack[depth, 0], stack[depth, 1], stack[depth, 2]
        if last - first <= LANES:
            continue
        for _ in range(attributes):  # an attribute that is constant here separates nothing
            lowest = highest = image[order[first] * width + attribute]
            for i in range(first, last):
                value = image[order[i] * width + attribute]
                keys[i] = value
                lowest = min(lowest, value)
                highest = max(highest, value)
            if lowest < highest:
                break
            attribute = (attribute + 1) % attributes
        if lowest == highest:
            continue
        middle = first + _split_place(last - first)
        _select(keys, order, sample, first, last, middle)
        following = (attribute + 1) % attributes
        stack[depth, 0], stack[depth, 1], stack[depth, 2] = first, middle, following
        stack[depth + 1, 0], stack[depth + 1, 1], stack[depth + 1, 2] = middle, last, following
        depth += 2


@numba.njit(cache=True, nogil=True)
def tree_levels(count: int, starts: Indices) -> int:
    """Fill in at which block each level starts; the number of levels. `starts` gets one entry more."""
    levels, blocks, at = 0, (count + LANES - 1) // LANES, 0
    while True:
        starts[levels] = at
        at += blocks
        levels += 1
        if blocks <= 1:
            break
        blocks = (blocks + LANES - 1) // LANES
    starts[levels] = at
    return levels


@numba.njit(cache=True, nogil=True)
def fill_tree(image: Image, width: int, order: Indices, starts: Indices, levels: int, nodes: Image) -> None:
    """Write the points and corners of all blocks; `nodes` holds `starts[levels]` blocks."""
    size = width * LANES
    count = len(order)
    for i in range(starts[1] * LANES):
        place = (i // LANES) * size + i % LANES
        if i < count:
            source = order[i] * width
            for j in range(width):
                nodes[place + j * LANES] = image[source + j]
        else:
            for j in range(width):
                nodes[place + j * LANES] = np.nan
    for level in range(1, levels):
        children = starts[level] - starts[level - 1]
        for c in range((starts[level + 1] - starts[level]) * LANES):
            place = (starts[level] + c // LANES) * size + c % LANES
            child = (starts[level - 1] + c) * size
            for j in range(width):
                lowest = np.float32(np.nan)
                if c < children:
                    lowest = nodes[child + j * LANES]
                    for k in range(1, LANES):
                        value = nodes[child + j * LANES + k]
                        lowest = min(lowest, value)
                nodes[place + j * LANES] = lowest


@numba.njit(cache=True, nogil=True)
def lowest_corners(table: Floats, members: Indices, starts: Indices, levels: int) -> Floats:
    """The exact minimum corner of every block, for ties between rounded values. `members` are table rows."""
    attributes = table.shape[1]
    corners = np.full((starts[levels], attributes), np.inf, dtype=table.dtype)
    for i in range(len(members)):
        for j in range(attributes):
            corners[i // LANES, j] = min(corners[i // LANES, j], table[members[i], j])
    for level in range(1, levels):
        for c in range(starts[level] - starts[level - 1]):
            child, parent = starts[level - 1] + c, starts[level] + c // LANES
            for j in range(attributes):
                corners[parent, j] = min(corners[parent, j], corners[child, j])
    return corners


@numba.njit(cache=True, nogil=True)
def row_dominates(left: Floats, a: int, right: Floats, b: int) -> bool:
    """Whether row `a` of one table dominates row `b` of another."""
    better = False
    for i in range(left.shape[1]):
        if left[a, i] > right[b, i]:
            return False
        better |= left[a, i] < right[b, i]
    return better


@numba.njit(cache=True, nogil=True)
def leave_for_later(scratch: Indices, level: int, node: int, children: int) -> None:
    """Note which children of a node are to be looked at."""
    scratch[level] = children
    scratch[MAX_LEVELS + level] = node


@numba.njit(cache=True, nogil=True)
def next_node(scratch: Indices, level: int, levels: int) -> tuple[int, int]:
    """The next node that was left for later, from `level` upwards: its level and number; level -1 if there is none."""
    while level < levels and scratch[level] == 0:
        level += 1
    if level >= levels:
        return -1, 0
    mask = scratch[level]
    scratch[level] = mask & (mask - 1)
    return level - 1, scratch[MAX_LEVELS + level] * LANES + lowest_bit(mask)


@numba.njit(cache=True, nogil=True)
def has_dominator(tree: Tree, image: Image, at: int, scratch: Indices) -> bool:
    """Whether a point of the tree dominates the image row that starts at `at`; images must be exact."""
    nodes, starts, levels, width = tree
    size = width * LANES
    level, current = levels - 1, 0
    while True:
        here = (starts[level] + current) * size
        mask = compare_lanes(nodes, here, image, at, width) >> LANES
        if mask != 0 and level == 0:
            return True
        if level > 0:
            leave_for_later(scratch, level, current, mask)
        level, current = next_node(scratch, max(level, 1), levels)
        if level < 0:
            return False


@numba.njit(cache=True, nogil=True)
def has_confirmed_dominator(
    tree: Tree, exact: Exact, image: Image, at: int, table: Floats, row: int, scratch: Indices
) -> bool:
    """The same where images are rounded: every decision on a tie or a hit is taken on the originals."""
    nodes, starts, levels, width = tree
    originals, members, corners = exact
    size = width * LANES
    level, current = levels - 1, 0
    while True:
        here = (starts[level] + current) * size
        compared = compare_lanes(nodes, here, image, at, width)
        mask = compared & ALL_LANES
        if mask != 0:
            unsure = mask
            if level > 0:
                unsure &= ~(compared >> LANES)
            while unsure != 0:
                lane = lowest_bit(unsure)
                child = current * LANES + lane
                if level == 0:
                    if row_dominates(originals, members[child], table, row):
                        return True
                elif not row_dominates(corners, starts[level - 1] + child, table, row):
                    mask ^= 1 << lane
                unsure &= unsure - 1
        if level > 0:
            leave_for_later(scratch, level, current, mask)
        level, current = next_node(scratch, max(level, 1), levels)
        if level < 0:
            return False


@numba.njit(cache=True, nogil=True)
def take(values: Indices, places: Indices) -> Indices:
    """`values[places]`, which takes numba seconds to compile when written so."""
    taken = np.empty(len(places), dtype=np.int64)
    for i in range(len(places)):
        taken[i] = values[places[i]]
    return taken


@numba.njit(cache=True, nogil=True)
def plant(image: Image, width: int, attributes: int, order: Indices) -> Tree:
    """Build the tree of the image rows in `order`, which is put in tree order; there must be some."""
    put_in_tree_order(image, width, attributes, order)
    starts = np.empty(MAX_LEVELS + 1, dtype=np.int64)
    levels = tree_levels(len(order), starts)
    nodes = np.empty(starts[levels] * width * LANES, dtype=np.float32)
    fill_tree(image, width, order, starts, levels, nodes)
    return nodes, starts, levels, width


@numba.njit(cache=True, nogil=True)
def planted(table: Floats, image: Image, width: int, exact: bool, rows: Indices) -> tuple[Tree, Exact]:
    """A tree of some rows of the table; ``rows`` is put in tree order."""
    tree = plant(image, width, table.shape[1], rows)
    if exact:
        return tree, (table, rows, table[:0])
    return tree, (table, rows, lowest_corners(table, rows, tree[1], tree[2]))
