"""TopKSweep: of records that are live for a while from their own time on, when each is among the best k.

Older records that are better expire first, younger ones come later, so a record may be in and out several times: this
walks from instant to instant. *In reach*, and kept in the order of their ranks, are the live rows with fewer than k
better ones that outlive them. All others are out for good; where scores do not depend on time, about
``k * log(n / k)`` of n live rows are in reach.
"""

from __future__ import annotations

import numba
import numpy as np

from skypane.kernels.arrays import Indices, Mask

NOT_IN = np.iinfo(np.int64).min
"""Instead of the time since when a row has been among the best: it is not."""
ALWAYS, FOREVER = np.iinfo(np.int64).min, np.iinfo(np.int64).max
"""Before and after all instants."""


def top_k_sweep(
    times: Indices, ranks: Indices, since: Indices, offsets: Indices, k: int, life: int, first: int, end: int
) -> tuple[Indices, Mask]:
    """What happens at the instants from ``first`` to before ``end``: row, time, +1 or -1, and since when it was in.

    Each key's rows are in the order of time; better rows have smaller ranks, all different. Rows older than ``first``
    are those that were in reach then. ``since`` is brought up to date, in place; the mask says which rows are in
    reach in the end, those from ``end`` on included.
    """
    happened = np.empty((4 * len(times), 4), dtype=np.int64)
    in_reach = np.zeros(len(times), dtype=np.bool_)
    count = _sweep(times, ranks, since, offsets, k, life, first, end, happened, in_reach)
    return happened[:count].copy(), in_reach | (times >= end)


@numba.njit(cache=True, nogil=True)
def _sweep(
    times: Indices,
    ranks: Indices,
    since: Indices,
    offsets: Indices,
    k: int,
    life: int,
    first: int,
    end: int,
    happened: Indices,
    in_reach: Mask,
) -> int:
    count = 0
    most = 0
    for key in range(len(offsets) - 1):
        most = max(most, offsets[key + 1] - offsets[key])
    line, better = np.empty(most + 1, dtype=np.int64), np.empty(most + 1, dtype=np.int64)
    best = np.empty(min(k, most), dtype=np.int64)
    for key in range(len(offsets) - 1):
        expiring = coming = offsets[key]
        high, length = offsets[key + 1], 0
        while coming < high and times[coming] < first:
            length, _ = _insert(line, better, length, coming, times, ranks, k, in_reach)
            coming += 1
        size = min(k, length)
        best[:size] = line[:size]
        while True:
            while expiring < coming and not in_reach[expiring]:
                expiring += 1
            now = times[expiring] + life if expiring < coming else FOREVER
            if coming < high:
                now = min(now, times[coming])
            if now >= end:
                break
            touched = length
            while expiring < coming and times[expiring] + life == now:
                if in_reach[expiring]:
                    length, place = _remove(line, better, length, expiring, ranks, in_reach)
                    touched = min(touched, place)
                expiring += 1
            while coming < high and times[coming] == now:
                length, place = _insert(line, better, length, coming, times, ranks, k, in_reach)
                touched = min(touched, place)
                coming += 1
            if touched < k:
                count = _compare(line, min(k, length), best, size, ranks, since, now, happened, count)
                size = min(k, length)
                best[:size] = line[:size]
    return count


@numba.njit(cache=True, nogil=True)
def _place(line: Indices, length: int, ranks: Indices, rank: int) -> int:
    """Where a row of this rank is, or would be."""
    low, high = 0, length
    while low < high:
        middle = (low + high) // 2
        if ranks[line[middle]] < rank:
            low = middle + 1
        else:
            high = middle
    return low


@numba.njit(cache=True, nogil=True)
def _remove(line: Indices, better: Indices, length: int, row: int, ranks: Indices, in_reach: Mask) -> tuple[int, int]:
    place = _place(line, length, ranks, ranks[row])
    for i in range(place, length - 1):
        line[i], better[i] = line[i + 1], better[i + 1]
    in_reach[row] = False
    return length - 1, place


@numba.njit(cache=True, nogil=True)
def _insert(
    line: Indices, better: Indices, length: int, row: int, times: Indices, ranks: Indices, k: int, in_reach: Mask
) -> tuple[int, int]:
    """Put the row in its place; worse rows, which it outlives, have one better row more, and some are out for good."""
    place = _place(line, length, ranks, ranks[row])
    as_young = 0
    for i in range(place):
        as_young += times[line[i]] == times[row]
    if as_young >= k:
        return length, length
    kept = place
    moving, moving_better = row, as_young
    in_reach[row] = True
    for i in range(place, length):
        other, count = line[i], better[i] + 1
        if count < k:
            line[kept], better[kept] = moving, moving_better
            moving, moving_better = other, count
            kept += 1
        else:
            in_reach[other] = False
    line[kept], better[kept] = moving, moving_better
    return kept + 1, place


@numba.njit(cache=True, nogil=True)
def _compare(
    line: Indices,
    new_size: int,
    best: Indices,
    old_size: int,
    ranks: Indices,
    since: Indices,
    now: int,
    happened: Indices,
    count: int,
) -> int:
    """Tell the best rows from those of the instant before: both are in the order of their ranks."""
    new = 0
    for old in range(old_size):
        while new < new_size and ranks[line[new]] < ranks[best[old]]:
            new += 1
        if new >= new_size or line[new] != best[old]:
            row = best[old]
            happened[count, 0], happened[count, 1], happened[count, 2], happened[count, 3] = row, now, -1, since[row]
            since[row] = NOT_IN
            count += 1
    for new in range(new_size):
        row = line[new]
        if since[row] == NOT_IN:
            since[row] = now
            happened[count, 0], happened[count, 1], happened[count, 2], happened[count, 3] = row, now, 1, now
            count += 1
    return count


def warm_top_k_sweep() -> None:
    """Compile for the types that the stages use."""
    top_k_sweep(np.array([0, 1]), np.array([0, 1]), np.full(2, NOT_IN), np.array([0, 2]), 1, 1, 0, 2)
