"""The slow, obvious oracles: what every kernel must compute, written from the definitions, without numba."""

from __future__ import annotations

import itertools

import numpy as np

from skypane.kernels.arrays import Floats, Indices, Mask
from skypane.model.panes import NO_PANE


def dominators(candidates: Floats, row: Floats) -> Mask:
    """Which candidates are nowhere larger than `row` and somewhere smaller."""
    return np.asarray(np.all(candidates <= row, axis=1) & np.any(candidates < row, axis=1))


def undominated(rows: Floats, candidates: Floats) -> Indices:
    """Rows, ascending, that no candidate dominates."""
    kept = [i for i, row in enumerate(rows) if not dominators(candidates, row).any()]
    return np.array(kept, dtype=np.int64)


def skyline(values: Floats) -> Indices:
    """Rows that no other row dominates, ascending."""
    return undominated(values, values)


def skyline_groups(values: Floats, offsets: Indices) -> Indices:
    """The skyline of every group, as row numbers of the whole table."""
    parts = [skyline(values[a:b]) + a for a, b in itertools.pairwise(offsets)]
    return np.concatenate([np.empty(0, np.int64), *parts])


def merge(left: Floats, right: Floats) -> tuple[Indices, Indices]:
    """Rows of each side that no row of the other side dominates."""
    return undominated(left, right), undominated(right, left)


def kmax(values: Floats, offsets: Indices) -> Indices:
    """For every row the largest k with which a row of its group k-dominates it, 0 where none does."""
    result = np.zeros(len(values), dtype=np.int64)
    for start, stop in itertools.pairwise(offsets):
        group = values[start:stop]
        for i, row in enumerate(group):
            better = np.any(group < row, axis=1)
            no_worse = np.count_nonzero(group <= row, axis=1)
            result[start + i] = np.max(no_worse[better], initial=0)
    return result


def top_k_groups(scores: Floats, ids: Indices, offsets: Indices, k: int) -> Indices:
    """Of every group the k rows of largest score, best first, ties by smaller id, then by row."""
    chosen: list[int] = []
    for start, stop in itertools.pairwise(offsets):
        ranked = sorted(range(start, stop), key=lambda i: (-scores[i], ids[i], i))
        chosen.extend(ranked[:k])
    return np.array(chosen, dtype=np.int64)


def dominance_join(live: Floats, live_pane: Indices, new: Floats) -> tuple[Mask, Indices]:
    """Which live rows no new row dominates, and for every new row the youngest pane that dominates it."""
    kept = np.zeros(len(live), dtype=np.bool_)
    kept[undominated(live, new)] = True
    critical = [np.max(live_pane[dominators(live, row)], initial=NO_PANE) for row in new]
    return kept, np.array(critical, dtype=np.int64)
