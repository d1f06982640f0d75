"""The slow, obvious oracle of the live skyline: when every record is in it, written from the definition, without numba.

A record lives from its time t until just before t + within. It is in the skyline while no live record dominates it:
one half-open interval. Dominators that are not younger keep it out until the last of them expires; the first one that
is not older ends its membership for good. Times are whole numbers (microseconds) and need not be in order.
"""

from __future__ import annotations

import numpy as np

from skypane.kernels.arrays import Floats, Indices, Mask
from skypane.kernels.reference import dominators, skyline


def live_intervals(times: Indices, values: Floats, within: int) -> tuple[Indices, Indices]:
    """For every record the instants at which it enters and leaves; it never enters where `enter >= leave`.

    A dominator of the very same time does both, so the dominated one of the two never enters; a dominator that expires
    at the record's own time does not count; equal records do not dominate each other, and both stay.
    """
    enter = times.copy()
    leave = times + within
    for i, row in enumerate(values):
        of_dominators = times[dominators(values, row)]
        enter[i] = np.max(of_dominators[of_dominators <= times[i]] + within, initial=times[i])
        leave[i] = np.min(of_dominators[of_dominators >= times[i]], initial=times[i] + within)
    return enter, leave


def skyline_at(times: Indices, values: Floats, within: int, instant: int) -> Indices:
    """Brute force: the rows, ascending, that are live at the instant and that no live row dominates."""
    live = np.flatnonzero((times <= instant) & (instant < times + within))
    return live[skyline(values[live])]


def kept(times: Indices, values: Floats, within: int) -> Mask:
    """The records that enter at some time: leaving out the others changes nobody's interval (the pruning law)."""
    enter, leave = live_intervals(times, values, within)
    return np.asarray(enter < leave)
