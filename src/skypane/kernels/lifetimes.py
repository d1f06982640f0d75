"""Lifetimes: of records that are live for a while from their own time on, when each is in the skyline.

With ``D`` the records that dominate ``r``::

    enter = max(t_r,        max{t_q + life : q in D, t_q <= t_r})
    leave = min(t_r + life, min{t_q        : q in D, t_q >= t_r})

It is in the skyline at the instants ``enter <= x < leave``, and never if that is none; so of two records of one time
the dominated one never is, a dominator that expires at ``t_r`` does not count, and equal records both stay. The two
bounds are those of the sliding skyline, with microseconds as panes and windows that slide by one.

Rows that are never in the skyline of some rows are never in that of more, and whatever they dominate, others dominate
at that instant, too. So tasks may leave them out, in any order of arrival, and all other lifetimes stay as they are.
"""

from __future__ import annotations

import numpy as np

from skypane.kernels.arrays import Floats, Indices, Mask
from skypane.kernels.skylines import skyline_of_groups
from skypane.kernels.sliding import STILL_ALIVE, slide_keys
from skypane.model.panes import NO_PANE


def undominated_at_once(table: Floats, times: Indices, offsets: Indices) -> Mask:
    """Which rows no row of the same key and the same time dominates; each key's rows are in the order of time."""
    starts = np.ones(len(times) + 1, dtype=np.bool_)
    starts[1:-1] = times[1:] != times[:-1]
    starts[offsets] = True
    borders = np.flatnonzero(starts)
    sizes = np.diff(borders)
    kept = np.ones(len(times), dtype=np.bool_)
    several = np.repeat(sizes > 1, sizes)
    if several.any():
        rows = np.flatnonzero(several)
        runs = np.concatenate(([0], np.cumsum(sizes[sizes > 1])))
        kept[rows] = False
        kept[rows[skyline_of_groups(table[rows], runs)]] = True
    return kept


def between(times: Indices, critical: Indices, died: Indices, life: int) -> tuple[Indices, Indices]:
    """When rows enter and leave, from the times of their nearest dominators, which may be none."""
    return np.maximum(times, critical + life), np.minimum(times + life, died)


def lifetimes(
    table: Floats, times: Indices, offsets: Indices, life: int, threads: int = 1
) -> tuple[Indices, Indices, Indices]:
    """The rows of each key that are ever in its skyline (ascending), when they enter and when they leave.

    Each key's rows are in the order of time.
    """
    rows = np.flatnonzero(undominated_at_once(table, times, offsets))
    table, times = table[rows], times[rows]
    critical, died = np.full(len(rows), NO_PANE), np.full(len(rows), STILL_ALIVE)
    fresh = np.ones(len(rows), dtype=np.bool_)
    slide_keys(table, times, fresh, np.searchsorted(rows, offsets), critical, died, (life, 1), threads)
    enter, leave = between(times, critical, died, life)
    some = enter < leave
    return rows[some], enter[some], leave[some]
