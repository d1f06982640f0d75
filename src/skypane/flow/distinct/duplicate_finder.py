"""DuplicateFinder: which records of a task are duplicates, of accepted ones or of one another."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from skypane.flow.distinct.distinct import Distinct
from skypane.flow.distinct.id_rows import id_rows, value_names
from skypane.flow.distinct.known_ids import KnownIds
from skypane.model.columns import DISTINCT, ID, TIME_US
from skypane.model.groups import BoolArray, Int64Array
from skypane.tables.grouping import key_codes
from skypane.tables.rows import keep_rows
from skypane.tables.take import take_rows


class DuplicateFinder:
    """Feed it tables whose records are in the order of (hash of the id, time, record id); all with one hash are here.

    A record is a duplicate if its id is known at a time that is no further away than the span; or if an older one of
    the same batch, which is no duplicate, is that near. A late record is compared with known ids only, and no record
    is compared with it: it will not be accepted.
    """

    def __init__(self, distinct: Distinct, known: KnownIds) -> None:
        self._distinct = distinct
        self._known = known
        self._last: pa.Table | None = None
        """Ids with the last hash of the tables so far: the next table may begin with the same."""

    def find(self, rows: pa.Table, times_us: Int64Array, is_late: BoolArray) -> BoolArray:
        """Which rows are duplicates."""
        found: BoolArray = np.zeros(rows.num_rows, dtype=np.bool_)
        column = rows.column(DISTINCT)
        own = np.flatnonzero(column.is_valid().to_numpy())
        if not len(own):
            return found
        hashes = column.drop_null().to_numpy()
        order = np.argsort(hashes, kind="stable")
        own, hashes = own[order], hashes[order]
        repeats = hashes[1:] == hashes[:-1]
        known = self._known.matching(hashes[np.append(True, ~repeats)])
        before = [] if self._last is None else [self._last]
        asked = np.append(False, repeats) | np.append(repeats, False) | np.isin(hashes, _hashes([*known, *before]))
        if asked.any():
            where = own[asked]
            found[where] = self._judge(take_rows(rows, where), times_us[where], is_late[where], known, before)
        first = own[(hashes == hashes[-1]) & ~is_late[own] & ~found[own]]
        self._note_last(id_rows(self._distinct, take_rows(rows, first), times_us[first]), int(hashes[-1]))
        return found

    def _note_last(self, ids: pa.Table, last: int) -> None:
        parts = [] if self._last is None else [keep_rows(self._last, _hashes([self._last]) == last)]
        self._last = pa.concat_tables([*parts, ids])

    def _judge(
        self, rows: pa.Table, times_us: Int64Array, is_late: BoolArray, known: list[pa.Table], before: list[pa.Table]
    ) -> BoolArray:
        """Compare rows whose hashes are not alone."""
        own = id_rows(self._distinct, rows, times_us)
        codes = key_codes(pa.concat_tables([own, *known, *before]), value_names(self._distinct))
        times = np.concatenate([times_us, *(table.column(TIME_US).to_numpy() for table in (*known, *before))])
        number = np.arange(len(codes))
        is_own, is_known = number < len(is_late), number < len(is_late) + sum(map(len, known))
        near_known = self._near(codes, times, ~is_own & is_known)[is_own]
        near = near_known | self._near(codes, times, ~is_known)[is_own]
        may_be_first = np.flatnonzero(~is_late & ~near)
        ties = rows.column(ID).to_numpy()
        order = np.lexsort((ties[may_be_first], times_us[may_be_first], codes[may_be_first]))
        first: BoolArray = np.zeros(len(is_late), dtype=np.bool_)
        first[self._spaced(may_be_first[order], codes, times)] = True
        return np.where(is_late, near_known, ~first)

    def _near(self, codes: Int64Array, times: Int64Array, anchors: BoolArray) -> BoolArray:
        """Which rows have an anchor of the same code within the span, before or after them."""
        near: BoolArray = np.zeros(len(codes), dtype=np.bool_)
        if not anchors.any():
            return near
        order = np.lexsort((times, codes))
        for one_way in (order, order[::-1]):
            nearest = np.maximum.accumulate(np.where(anchors[one_way], np.arange(len(order)), -1))
            anchor = one_way[np.maximum(nearest, 0)]
            apart = np.abs(times[one_way] - times[anchor]) <= self._distinct.within_us
            near[one_way] |= (nearest >= 0) & (codes[one_way] == codes[anchor]) & apart
        return near

    def _spaced(self, order: Int64Array, codes: Int64Array, times: Int64Array) -> list[int]:
        """Of rows in the order of (code, time), those that no earlier one of these is too near to."""
        first, last_code, last_us = [], None, 0
        for row, code, time_us in zip(order.tolist(), codes[order].tolist(), times[order].tolist(), strict=True):
            if code != last_code or time_us - last_us > self._distinct.within_us:
                first.append(row)
                last_code, last_us = code, time_us
        return first


def _hashes(tables: list[pa.Table]) -> Int64Array:
    return np.concatenate([np.zeros(0, dtype=np.int64), *(table.column(DISTINCT).to_numpy() for table in tables)])
