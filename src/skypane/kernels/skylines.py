"""The skyline of a table, and of every group of a table: rows that no other row dominates.

Small groups are tested pair by pair or block by block. Others are screened, ordered by score and taken in
growing batches: each batch is tested against the tree of the skyline so far, then against itself. A row
never scores above a row that it dominates and batches never part equal scores, so an earlier batch is
never revised.

The kernel with trees takes many seconds to compile, or a quarter of one to load. A process that asks for a few small
skylines does not wait for it: until that would have paid, groups of any size are tested block by block.
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from skypane.kernels.arrays import Floats, Indices, Mask, as_offsets, as_table
from skypane.kernels.cache import one_process_at_a_time
from skypane.kernels.screening import order_by_score, screen
from skypane.kernels.simd import ALL_LANES, LANES, compare_lanes, lowest_bit, padded_width
from skypane.kernels.trees import (
    SCRATCH,
    Image,
    Tree,
    has_confirmed_dominator,
    has_dominator,
    lowest_corners,
    plant,
    row_dominates,
    take,
)

PAIRWISE = 6  # up to this many rows, comparing pairs beats filling a block
FLAT = 400  # up to this many rows, comparing with all blocks beats screening and planting
FIRST_BATCH = 4096  # rows
GROWTH = 32  # a batch has at most this many rows per skyline row found so far
PATIENCE = 1 << 25  # comparisons of a row with a block, some 0.2 s, that a process makes before it loads the trees

_without_trees: dict[str, int] = {}  # by type of table, the comparisons made so far that trees would have saved
_with_trees: set[str] = set()  # the types of tables for which the kernel with trees is loaded


@numba.njit(cache=True, nogil=True)
def _keep_by_pairs(table: Floats, first: int, last: int, kept: Mask) -> None:
    for row in range(first, last):
        alive = True
        for other in range(first, last):
            # a dominated row need not be asked: whatever dominates it dominates `row` too
            if (other > row or kept[other]) and row_dominates(table, other, table, row):
                alive = False
                break
        kept[row] = alive


@numba.njit(cache=True, nogil=True)
def _keep_by_blocks(
    table: Floats, first: int, last: int, single: bool, blocks: Image, image: Image, kept: Mask
) -> None:
    """Test every row against all blocks of 16; `blocks` and `image` have room for the rows, in whole blocks."""
    attributes = table.shape[1]
    width = padded_width(attributes)
    size = width * LANES
    places = (last - first + LANES - 1) // LANES * LANES
    for i in range(places):
        at = (i // LANES) * size + i % LANES
        for j in range(attributes):
            value = np.float32(table[first + i, j]) if first + i < last else np.float32(np.nan)
            blocks[at + j * LANES] = value
            image[i * width + j] = value
    for i in range(last - first):
        alive = True
        for b in range(places // LANES):
            mask = compare_lanes(blocks, b * size, image, i * width, width)
            if single:
                alive = mask <= ALL_LANES
            else:
                mask &= ALL_LANES
                while mask != 0 and alive:
                    alive = not row_dominates(table, first + b * LANES + lowest_bit(mask), table, first + i)
                    mask &= mask - 1
            if not alive:
                break
        kept[first + i] = alive


@numba.njit(cache=True, nogil=True)
def _drop_dominated(
    tree: Tree, members: Indices, asked: Indices, image: Image, table: Floats, rows: Indices, exact: bool
) -> int:
    """Move the rows asked for that no row of the tree dominates to the front; how many these are."""
    width = tree[3]
    scratch = np.empty(SCRATCH, dtype=np.int64)
    count = 0
    if exact:
        for i in range(len(asked)):
            if not has_dominator(tree, image, asked[i] * width, scratch):
                asked[count] = asked[i]
                count += 1
        return count
    confirm = (table, members, lowest_corners(table, members, tree[1], tree[2]))
    for i in range(len(asked)):
        at, row = asked[i] * width, rows[asked[i]]
        if not has_confirmed_dominator(tree, confirm, image, at, table, row, scratch):
            asked[count] = asked[i]
            count += 1
    return count


@numba.njit(cache=True, nogil=True)
def _keep_by_trees(table: Floats, first: int, last: int, single: bool, kept: Mask) -> None:
    attributes = table.shape[1]
    width = padded_width(attributes)
    image, rows, scores, count, exact = screen(table, first, last, width, single)
    if count <= FIRST_BATCH:
        buckets, order = np.zeros(count, dtype=np.int64), np.arange(count)
    else:
        buckets = np.empty(count, dtype=np.int64)
        order = order_by_score(scores, count, attributes, buckets)
    best = np.empty(count, dtype=np.int64)
    found = 0
    start = 0
    while start < count:
        stop = min(count, start + max(FIRST_BATCH, GROWTH * found))
        while stop < count and buckets[stop] == buckets[stop - 1]:
            stop += 1
        batch = order[start:stop]
        if found:
            tree = plant(image, width, attributes, best[:found])
            members = take(rows, best[:found])
            batch = batch[: _drop_dominated(tree, members, batch, image, table, rows, exact)]
        if len(batch):
            # planting puts the batch in tree order: neighbours ask the same nodes one after the other
            tree = plant(image, width, attributes, batch)
            members = take(rows, batch)
            batch = batch[: _drop_dominated(tree, members, batch, image, table, rows, exact)]
        for row in batch:
            best[found] = row
            found += 1
        start = stop
    for i in range(found):
        kept[rows[best[i]]] = True


@numba.njit(cache=True, nogil=True)
def _keep_groups(table: Floats, offsets: Indices, single: bool, kept: Mask) -> None:
    width = padded_width(table.shape[1])
    room = width * min(FLAT, len(table) + LANES)
    blocks, image = np.zeros(room, dtype=np.float32), np.zeros(room, dtype=np.float32)
    for group in range(len(offsets) - 1):
        first, last = offsets[group], offsets[group + 1]
        if last - first <= PAIRWISE:
            _keep_by_pairs(table, first, last, kept)
        elif last - first <= FLAT:
            _keep_by_blocks(table, first, last, single, blocks, image, kept)
        else:
            _keep_by_trees(table, first, last, single, kept)


@numba.njit(cache=True, nogil=True)
def _keep_groups_without_trees(table: Floats, offsets: Indices, single: bool, kept: Mask) -> None:
    width, largest = padded_width(table.shape[1]), 0
    for group in range(len(offsets) - 1):
        largest = max(largest, offsets[group + 1] - offsets[group])
    room = width * (largest + LANES)
    blocks, image = np.zeros(room, dtype=np.float32), np.zeros(room, dtype=np.float32)
    for group in range(len(offsets) - 1):
        first, last = offsets[group], offsets[group + 1]
        if last - first <= PAIRWISE:
            _keep_by_pairs(table, first, last, kept)
        else:
            _keep_by_blocks(table, first, last, single, blocks, image, kept)


def load_trees(dtype: npt.DTypeLike = np.float64) -> None:
    """Compile the kernel with trees, or load it, for tables of this type; from now on it is used."""
    kind = np.dtype(dtype)
    with one_process_at_a_time():  # the others then find it in the cache
        _keep_groups(np.zeros((1, 1), kind), np.array([0, 1]), kind == np.float32, np.zeros(1, np.bool_))
    _with_trees.add(kind.name)


def _worth_trees(table: Floats, offsets: Indices) -> bool:
    """Whether the kernel with trees is there; loads it once more was spent on waiting than loading takes."""
    kind = table.dtype.name
    if kind not in _with_trees:
        sizes = np.diff(offsets).astype(np.float64)
        spent = _without_trees.get(kind, 0) + int((sizes[sizes > FLAT] ** 2).sum()) // LANES
        if spent <= PATIENCE:
            _without_trees[kind] = spent
            return False
        load_trees(table.dtype)
    return True


def skyline(values: npt.ArrayLike) -> Indices:
    """Indices, ascending, of the rows that no other row dominates; smaller is better everywhere.

    Equal rows all stay. Infinities are values like any other; NaN is not allowed.
    """
    table = as_table(values)
    return skyline_of_groups(table, np.array([0, len(table)], dtype=np.int64))


def skyline_groups(values: npt.ArrayLike, offsets: npt.ArrayLike) -> Indices:
    """The skyline of every group of rows by itself, as ascending row indices of the whole table."""
    table = as_table(values)
    return skyline_of_groups(table, as_offsets(offsets, len(table)))


def skyline_of_groups(table: Floats, offsets: Indices) -> Indices:
    """The same for a table and offsets that are known to be in order."""
    if not table.size:  # without attributes all rows are equal
        return np.arange(len(table), dtype=np.int64)
    kept = np.zeros(len(table), dtype=np.bool_)
    keep = _keep_groups if _worth_trees(table, offsets) else _keep_groups_without_trees
    keep(table, offsets, table.dtype == np.float32, kept)
    return np.flatnonzero(kept)
