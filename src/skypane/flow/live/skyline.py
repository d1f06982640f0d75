"""LiveSkyline: a record is in the skyline from one instant to another, or never, whatever order records come in.

Its bounds are known from the times of two records: the youngest older one that dominates it (its *critical* dominator)
and the oldest younger one (from then on it is *dead*), see :mod:`skypane.kernels.lifetimes`. Newly sealed rows are
younger than all that were joined before, so one join with the rows that are not dead brings all bounds up to date.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from skypane import kernels
from skypane.flow.joining import LOCAL_JOIN, Joining, JoinRows
from skypane.flow.live.base import LiveChanges, LiveSet, LiveStep, with_columns
from skypane.flow.live.causes import ARRIVAL, DOMINATED, EXPIRED, INFLUENCE
from skypane.kernels.lifetimes import between, lifetimes, undominated_at_once
from skypane.kernels.sliding import STILL_ALIVE, warm_sliding
from skypane.model.columns import PREFIX
from skypane.model.groups import BoolArray, Float64Array, Int64Array
from skypane.model.panes import NO_PANE
from skypane.tables.rows import keep_rows
from skypane.tables.take import take_rows

CRITICAL_US = f"{PREFIX}critical_us"
DIED_US = f"{PREFIX}died_us"
NOT_JOINED = np.iinfo(np.int64).min
"""Instead of the time of a critical dominator: the row is fresh."""


class LiveSkyline(LiveSet):
    """For queries whose answer is the skyline."""

    added_columns = (CRITICAL_US, DIED_US)
    joins_rows = True

    def warm_up(self) -> None:
        """Compile the joins before the first step."""
        kernels.load_trees()
        warm_sliding()

    def enrich(self, rows: pa.Table) -> pa.Table:
        """Fresh rows have been compared with nothing."""
        if CRITICAL_US in rows.column_names:
            return rows
        nothing, alive = np.full(rows.num_rows, NOT_JOINED), np.full(rows.num_rows, STILL_ALIVE)
        return with_columns(rows, ((CRITICAL_US, nothing), (DIED_US, alive)))

    def ever_in(self, rows: pa.Table) -> Int64Array:
        """Which rows are ever in the answer: their lifetime is not empty."""
        times, everything = self._times_us(rows), np.arange(rows.num_rows)
        ordered, groups = self._by_key_and_time(self._codes(rows), times, everything)
        kept, _, _ = lifetimes(self._values(rows, ordered), times[ordered], groups.offsets, self._life_us)
        return ordered[kept]

    def advance(self, rows: pa.Table, before_us: int, after_us: int, joining: Joining = LOCAL_JOIN) -> LiveStep:
        """Join what is newly sealed, then read off who enters and who leaves."""
        state = _State.of(rows, self._times_us(rows))
        fresh = state.fresh & (state.times < after_us)
        if fresh.any():
            self._join(rows, state, fresh, joining)
        enter, leave = between(state.times, state.critical, state.died, self._life_us)
        known = ~state.fresh & (enter < leave)
        changes = _happened(state.times, known, enter, leave, self._life_us, (before_us, after_us))
        keep = state.fresh | (known & (leave >= after_us))
        kept = None
        if keep.any():
            columns = ((CRITICAL_US, state.critical), (DIED_US, state.died))
            kept = keep_rows(with_columns(rows, columns), keep)
        return LiveStep(changes, kept, fresh & known)

    def _join(self, rows: pa.Table, state: _State, fresh: BoolArray, joining: Joining) -> None:
        """Set the bounds of fresh rows, and the deaths of those that they dominate."""
        taking_part = np.flatnonzero((~state.fresh & (state.died == STILL_ALIVE)) | fresh)
        codes = self._codes(rows)
        ordered, groups = self._by_key_and_time(codes, state.times, taking_part)
        values = self._values(rows, ordered)
        undominated = undominated_at_once(values, state.times[ordered], groups.offsets)
        state.critical[fresh] = NO_PANE
        if not undominated.all():
            # Of rows of one time the dominated ones are never in: dead at once, they take no part.
            state.died[ordered[~undominated]] = NO_PANE
            places = np.flatnonzero(undominated)
            offsets = np.searchsorted(places, groups.offsets)
            ordered, values = ordered[places], values[places]
        else:
            offsets = groups.offsets
        critical, died = state.critical[ordered], state.died[ordered]
        asked = JoinRows(
            values=values,
            panes=state.times[ordered],
            fresh=fresh[ordered],
            offsets=offsets,
            critical=critical,
            died=died,
        )
        joining.join(asked, (self._life_us, 1))
        state.critical[ordered], state.died[ordered] = critical, died
        state.fresh[fresh] = False

    def _values(self, rows: pa.Table, ordered: Int64Array) -> Float64Array:
        query = self._definition.query.dominance
        assert query is not None
        return query.matrix(take_rows(rows.select(list(query.inputs())), ordered))


class _State(NamedTuple):
    """Arrays to be changed in place."""

    times: Int64Array
    critical: Int64Array
    died: Int64Array
    fresh: BoolArray

    @classmethod
    def of(cls, rows: pa.Table, times: Int64Array) -> _State:
        critical = rows.column(CRITICAL_US).to_numpy().copy()
        died = rows.column(DIED_US).to_numpy().copy()
        return cls(times=times, critical=critical, died=died, fresh=critical == NOT_JOINED)


def _happened(
    times: Int64Array, known: BoolArray, enter: Int64Array, leave: Int64Array, life_us: int, instants: tuple[int, int]
) -> LiveChanges:
    """Every row at most twice: when it enters, and when it leaves."""
    before_us, after_us = instants
    comes = np.flatnonzero(known & (enter >= before_us) & (enter < after_us))
    goes = np.flatnonzero(known & (leave >= before_us) & (leave < after_us))
    cause = (
        np.where(leave[goes] < times[goes] + life_us, DOMINATED, EXPIRED),
        np.where(enter[comes] == times[comes], ARRIVAL, INFLUENCE),
    )
    return LiveChanges(
        rows=np.concatenate((goes, comes)),
        at_us=np.concatenate((leave[goes], enter[comes])),
        change=np.repeat(np.array([-1, 1]), [len(goes), len(comes)]),
        cause=np.concatenate(cause),
        since_us=np.concatenate((enter[goes], enter[comes])),
    )
