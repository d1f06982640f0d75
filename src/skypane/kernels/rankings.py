"""Top-k by score of every group, ties by smaller id: exact, and in rank order."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from skypane.kernels.arrays import Indices, as_column, as_integers, as_offsets


@numba.njit(cache=True, nogil=True, inline="always")
def _ranks_before(scores: npt.NDArray[np.float64], ids: Indices, a: int, b: int) -> bool:
    if scores[a] != scores[b]:
        return bool(scores[a] > scores[b])
    if ids[a] != ids[b]:
        return bool(ids[a] < ids[b])
    return a < b


@numba.njit(cache=True, nogil=True)
def _sink(heap: Indices, size: int, scores: npt.NDArray[np.float64], ids: Indices) -> None:
    """Restore the order of a heap whose root is the worst row kept, after the root was replaced."""
    parent = 0
    while True:
        child = 2 * parent + 1
        if child >= size:
            return
        if child + 1 < size and _ranks_before(scores, ids, heap[child], heap[child + 1]):
            child += 1
        if not _ranks_before(scores, ids, heap[parent], heap[child]):
            return
        heap[parent], heap[child] = heap[child], heap[parent]
        parent = child


@numba.njit(cache=True, nogil=True)
def _rise(heap: Indices, size: int, scores: npt.NDArray[np.float64], ids: Indices) -> None:
    child = size - 1
    while child > 0:
        parent = (child - 1) // 2
        if not _ranks_before(scores, ids, heap[parent], heap[child]):
            return
        heap[parent], heap[child] = heap[child], heap[parent]
        child = parent


@numba.njit(cache=True, nogil=True)
def _top_k(scores: npt.NDArray[np.float64], ids: Indices, offsets: Indices, k: int, out: Indices) -> None:
    written = 0
    for group in range(len(offsets) - 1):
        size = 0
        heap = out[written:]  # the heap grows in its place in the answer, and is sorted there
        for row in range(offsets[group], offsets[group + 1]):
            if size < k:
                heap[size] = row
                size += 1
                _rise(heap, size, scores, ids)
            elif _ranks_before(scores, ids, row, heap[0]):
                heap[0] = row
                _sink(heap, size, scores, ids)
        written += size
        while size > 1:
            size -= 1
            heap[0], heap[size] = heap[size], heap[0]
            _sink(heap, size, scores, ids)


def top_k_groups(scores: npt.ArrayLike, ids: npt.ArrayLike, offsets: npt.ArrayLike, k: int) -> Indices:
    """Of every group the rows of the k largest scores, best first; equal scores by smaller id.

    Scores may be infinite but not NaN. Groups follow each other in order.
    """
    if k < 0:
        raise ValueError(f"k must not be negative, got {k}")
    column = as_column(scores)
    bounds = as_offsets(offsets, len(column))
    out = np.empty(int(np.minimum(np.diff(bounds), k).sum()), dtype=np.int64)
    if len(out):
        _top_k(column, as_integers(ids), bounds, k, out)
    return out
