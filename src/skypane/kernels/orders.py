"""The order of rows by small numbers, found by counting: time grows with the rows, and not faster."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from skypane.kernels.arrays import Indices, as_integers


@numba.njit(cache=True, nogil=True)
def _counted(codes: Indices, size: int, rows: Indices, offsets: Indices) -> int:
    place = np.zeros(size + 1, dtype=np.int64)
    for row in range(len(codes)):
        place[codes[row] + 1] += 1
    groups = 0
    for code in range(size):
        if place[code + 1]:
            groups += 1
            offsets[groups] = offsets[groups - 1] + place[code + 1]
        place[code + 1] += place[code]
    for row in range(len(codes)):
        rows[place[codes[row]]] = row
        place[codes[row]] += 1
    return groups


@numba.njit(cache=True, nogil=True)
def _extent(low: Indices, high: Indices) -> tuple[int, int, int]:
    first, last, total = 0, -1, 0
    for item in range(len(low)):
        if low[item] <= high[item]:
            first = low[item] if total == 0 else min(first, low[item])
            last = high[item] if total == 0 else max(last, high[item])
            total += high[item] - low[item] + 1
    return first, last, total


@numba.njit(cache=True, nogil=True)
def _members(
    low: Indices,
    high: Indices,
    key: Indices,
    first: int,
    keys: int,
    place: Indices,
    items: Indices,
    offsets: Indices,
    code: Indices,
) -> int:
    for item in range(len(low)):
        for number in range(low[item], high[item] + 1):
            place[(number - first) * keys + key[item] + 1] += 1
    groups = 0
    for at in range(len(place) - 1):
        if place[at + 1]:
            code[groups] = at
            groups += 1
            offsets[groups] = offsets[groups - 1] + place[at + 1]
        place[at + 1] += place[at]
    for item in range(len(low)):
        for number in range(low[item], high[item] + 1):
            at = (number - first) * keys + key[item]
            items[place[at]] = item
            place[at] += 1
    return groups


def window_members(
    low: npt.ArrayLike, high: npt.ArrayLike, key: npt.ArrayLike, sparse: int
) -> tuple[Indices, Indices, Indices] | None:
    """Each item once for every number from its ``low`` to its ``high``, in the order of (number, key, item).

    The items, the offsets of equal number and key, and the number of each of these; ``None`` if there are more than
    ``sparse`` times as many numbers and keys as items, so that sorting takes less than counting. Keys begin at 0.
    """
    starts, ends, codes = as_integers(low), as_integers(high), as_integers(key)
    if not len(starts) == len(ends) == len(codes):
        raise ValueError("there must be as many keys as numbers")
    first, last, total = _extent(starts, ends)
    keys = int(codes.max(initial=0)) + 1
    size = (last - first + 1) * keys
    if size > sparse * total:
        return None
    if len(codes) and int(codes.min()) < 0:
        raise ValueError("keys must not be negative")
    items, offsets, code = (np.zeros(most, np.int64) for most in (total, min(size, total) + 1, min(size, total)))
    groups = _members(starts, ends, codes, first, keys, np.zeros(size + 1, np.int64), items, offsets, code)
    return items, offsets[: groups + 1], code[:groups] // keys + first


def counting_order(codes: npt.ArrayLike, size: int) -> tuple[Indices, Indices]:
    """Rows in the order of their codes, those of one code in their own order, and the offsets of the codes there are.

    Codes are from 0 to ``size - 1``.
    """
    numbers = as_integers(codes)
    if len(numbers) and not 0 <= int(numbers.min()) <= int(numbers.max()) < size:
        raise ValueError(f"codes must be from 0 to {size - 1}")
    rows, offsets = np.empty(len(numbers), np.int64), np.zeros(min(size, len(numbers)) + 1, np.int64)
    groups = _counted(numbers, size, rows, offsets)
    return rows, offsets[: groups + 1]
