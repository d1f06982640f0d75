"""Joins: which task finds the bounds of which rows, where several join the rows of one key (paper 4: RR, LLW+).

In the paper a worker keeps what it owns in memory, so parts drift apart as records are pruned. Here every task can
read every row, so rows are dealt out anew in each step, and no part is ever behind. OD depends on timing, and LLW would
give all new rows of a step to one task: neither makes sense in steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from skypane.flow.plan import OWNERSHIPS, Ownership
from skypane.model.errors import OptionError
from skypane.model.groups import BoolArray, Int64Array

JOIN_VISITS: Final = 8
"""How many looks at a row its part in a join counts as: with 2,000,000 looks, a join is shared from 250,000 rows on.

Measured, 8 attributes, on one and on two executors of one core each (benchmarks/hot_key.py): with 190,000 rows the
window stage took 520 ms alone and 614 ms shared, with 333,000 rows 1,000 ms and 788 ms; in between, even at 234,000.
"""


@dataclass(frozen=True)
class JoinSharing:
    """From when on tasks share the join of a key, and who owns which rows then."""

    ownership: Ownership = "rr"
    join_rows: int = 0
    """Rows of a key, each counted :data:`JOIN_VISITS` times, above which its join is shared."""

    def pays(self, rows: Int64Array | int) -> BoolArray:
        """Whether a key, or a range of key groups, has rows enough."""
        return np.asarray(rows) * JOIN_VISITS > self.join_rows

    def owners(self, fresh: BoolArray, tasks: int) -> Int64Array:
        """The task that owns each row; fresh rows are looked up twice, others once."""
        return in_turn(fresh, tasks) if self.ownership == "rr" else least_work(fresh, tasks)


def in_turn(fresh: BoolArray, tasks: int) -> Int64Array:
    """RR: whatever a row costs."""
    return np.arange(len(fresh), dtype=np.int64) % tasks


def least_work(fresh: BoolArray, tasks: int) -> Int64Array:
    """LLW+: the next row goes to the task with the fewest look-ups queued for it; those that take two go first."""
    owners = np.empty(len(fresh), dtype=np.int64)
    new = np.flatnonzero(fresh)
    owners[new] = in_turn(new > -1, tasks)
    queued = 2 * np.bincount(owners[new], minlength=tasks)
    others = np.flatnonzero(~fresh)
    # The places at each task, lowest first: how many look-ups are queued for it when a row takes that place.
    places = queued[:, None] + np.arange(-(-len(others) // tasks) + 2)
    owners[others] = np.argsort(places.T, axis=None, kind="stable")[: len(others)] % tasks
    return owners


def ownership(name: str) -> Ownership:
    """By name; a name that is none is refused with those that are."""
    for known in OWNERSHIPS:
        if name == known:
            return known
    raise OptionError(
        f"ownership={name!r} is unknown; it must be one of {', '.join(OWNERSHIPS)}. "
        "(OD and LLW are for engines in which records queue: skypane simulate, of skypane-lab.)"
    )
