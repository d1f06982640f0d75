"""Condensed: partials that come in finished - the engine has made one of all records of a key and pane that it read.

Only of records that are accepted whatever else the batch brings; which these are, the engine knows from the frontier.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.lateness.future_guard import FutureGuard
from skypane.model.columns import PANE
from skypane.model.groups import BoolArray, Int64Array
from skypane.tables.rows import keep_rows


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
