"""Condensed: records that are surely accepted, which whoever read them has added up: a row for each key and pane.

What happens to each record, one by one, the pane worker decides. But of nearly all records it is known before a batch
is read what will happen: their pane is open, and their time is no further ahead than one record alone may be. These
need not come one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.flow.panes.admission import Frontier
from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.suspects import USUAL
from skypane.model.columns import PANE
from skypane.model.groups import BoolArray, Int64Array
from skypane.model.windows import FARTHEST_US
from skypane.tables.rows import keep_rows


class SureTimes(NamedTuple):
    """Records from the one time to the other, both included, are accepted whatever else there is."""

    oldest_us: int
    newest_us: int


def sure_times(definition: Definition, frontier: Frontier) -> SureTimes | None:
    """Of which times it is known before the batch is read; ``None`` if of none."""
    t_max, max_future = frontier.progress.t_max_us, frontier.guard.max_future_us
    if t_max is None or guesses_matter(definition, frontier.guard):
        return None
    # Whatever is within max_future of a trusted time can be reached from it in one step.
    bounds = [FARTHEST_US if max_future is None else t_max + max_future, frontier.limit_us, FARTHEST_US]
    late_before = frontier.late_before(definition)
    oldest = -FARTHEST_US if late_before is None else max(-FARTHEST_US, late_before * definition.window.pane_us)
    newest = min(bound for bound in bounds if bound is not None)
    return SureTimes(oldest, newest) if oldest <= newest else None


def guesses_matter(definition: Definition, guard: FutureGuard) -> bool:
    """Whether a guess of how far apart the records of a pane are could make a step to a suspect look usual."""
    return guard.max_future_us is not None and USUAL * definition.window.pane_us > guard.max_future_us


@dataclass(frozen=True)
class CondensedRows:
    """Partials, and what else is to be known of the records in each."""

    partials: pa.Table
    records: Int64Array
    """How many are in a partial."""
    oldest_us: Int64Array
    newest_us: Int64Array

    @property
    def panes(self) -> Int64Array:
        """The pane of each partial."""
        return np.asarray(self.partials.column(PANE).to_numpy())

    def in_some_window(self, definition: Definition) -> pa.Table:
        """The partials that are in any window: those between hopping windows are in none."""
        inside: BoolArray = definition.window.in_some_window(self.panes)
        return self.partials if inside.all() else keep_rows(self.partials, inside)

    def newest_times(self, guard: FutureGuard) -> tuple[int, ...]:
        """The newest times of all records, as if those of a row were evenly apart.

        The first and the last of them are known. The others only tell how far apart the records of the stream usually
        are, so that a time much further ahead is noticed: for that, all distances within a pane are short, see above.
        """
        # No other row has a time that is among the newest.
        rows = np.argsort(self.newest_us, kind="stable")[-guard.remembered :]
        newest, oldest, records = self.newest_us[rows], self.oldest_us[rows], self.records[rows]
        apart = (newest - oldest) // np.maximum(records - 1, 1)
        ranks = np.arange(guard.remembered)
        evenly = newest[:, None] - apart[:, None] * ranks
        times = np.where(ranks == records[:, None] - 1, oldest[:, None], evenly)
        return guard.newest(times[ranks < records[:, None]].tolist())
