"""LiveRanking: the best k at every instant. A record may enter several times, and is emitted each time."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from skypane.flow.joining import LOCAL_JOIN, Joining
from skypane.flow.live.base import LiveChanges, LiveSet, LiveStep, with_columns
from skypane.flow.live.causes import ARRIVAL, DOMINATED, EXPIRED, INFLUENCE
from skypane.kernels.top_k_sweep import ALWAYS, FOREVER, NOT_IN, top_k_sweep, warm_top_k_sweep
from skypane.model.columns import PREFIX
from skypane.model.groups import BoolArray, Groups, Int64Array
from skypane.queries.base import Ranking
from skypane.tables.rows import keep_rows

SINCE_US = f"{PREFIX}since_us"


class LiveRanking(LiveSet):
    """For queries whose answer is the best few of a total order."""

    added_columns = (SINCE_US,)

    def warm_up(self) -> None:
        """Compile the sweep before the first step."""
        warm_top_k_sweep()

    def enrich(self, rows: pa.Table) -> pa.Table:
        """Add columns to fresh rows: none of them is in an answer yet."""
        if SINCE_US in rows.column_names:
            return rows
        return with_columns(rows, ((SINCE_US, np.full(rows.num_rows, NOT_IN)),))

    def answered(self, rows: pa.Table) -> pa.Table:
        """Add the score to the answer."""
        return self._ranking.scored(rows)

    def ever_in(self, rows: pa.Table) -> Int64Array:
        """Which rows are ever in the answer."""
        times = self._times_us(rows)
        ordered, groups = self._by_key_and_time(self._codes(rows), times, np.arange(rows.num_rows))
        since = np.full(rows.num_rows, NOT_IN)
        changes, _ = self._sweep(rows, times, since, ordered, groups, (ALWAYS, FOREVER))
        return np.unique(ordered[changes[:, 0]])

    def advance(self, rows: pa.Table, before_us: int, after_us: int, joining: Joining = LOCAL_JOIN) -> LiveStep:
        """Find what enters and leaves in [``before_us``, ``after_us``) by a sweep over the instants."""
        del joining
        times = self._times_us(rows)
        ordered, groups = self._by_key_and_time(self._codes(rows), times, np.flatnonzero(times < after_us))
        since = rows.column(SINCE_US).to_numpy()[ordered]
        found, in_reach = self._sweep(rows, times, since, ordered, groups, (before_us, after_us))
        changes = self._told(found, ordered, times)
        keep = times >= after_us
        keep[ordered] = in_reach
        entered = np.zeros(rows.num_rows, dtype=np.bool_)
        entered[changes.rows[changes.change > 0]] = True
        all_since = np.full(rows.num_rows, NOT_IN)
        all_since[ordered] = since
        kept = keep_rows(with_columns(rows, ((SINCE_US, all_since),)), keep) if keep.any() else None
        return LiveStep(changes, kept, (times >= before_us) & (times < after_us) & (entered | keep))

    def _sweep(
        self,
        rows: pa.Table,
        times: Int64Array,
        since: Int64Array,
        ordered: Int64Array,
        groups: Groups,
        instants: tuple[int, int],
    ) -> tuple[Int64Array, BoolArray]:
        ranking = self._ranking
        ranks = ranking.ranks(rows.select(list(ranking.inputs())))[ordered]
        return top_k_sweep(times[ordered], ranks, since, groups.offsets, ranking.k, self._life_us, *instants)

    def _told(self, found: Int64Array, ordered: Int64Array, times: Int64Array) -> LiveChanges:
        rows, at, change = ordered[found[:, 0]], found[:, 1], found[:, 2]
        comes = np.where(at == times[rows], ARRIVAL, INFLUENCE)
        goes = np.where(at == times[rows] + self._life_us, EXPIRED, DOMINATED)
        cause = np.where(change > 0, comes, goes)
        return LiveChanges(rows=rows, at_us=at, change=change, cause=cause, since_us=found[:, 3])

    @property
    def _ranking(self) -> Ranking:
        ranking = self._definition.query.ranking
        assert ranking is not None
        return ranking
