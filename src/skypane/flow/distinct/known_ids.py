"""KnownIds: the ids that were accepted, as far as they are remembered; a stage looks up those of its records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from skypane.model.columns import DISTINCT, TIME_US
from skypane.model.groups import Int64Array
from skypane.tables.ranges import ranges
from skypane.tables.rows import keep_rows
from skypane.tables.take import take_rows

IdTables = Callable[[int, int], Iterable[pa.Table]]
"""The tables that may have ids with hashes from the first to the last, each in the order of its hashes."""


@dataclass(frozen=True)
class KnownIds:
    """Tables of ids; those older than ``from_us`` count as forgotten, whether or not they are still there."""

    tables: IdTables
    from_us: int | None = None

    @classmethod
    def of(cls, tables: Sequence[pa.Table], from_us: int | None = None) -> KnownIds:
        """The ids of tables in memory."""
        return cls(lambda _first, _last: tables, from_us)

    def also(self, tables: Sequence[pa.Table]) -> KnownIds:
        """With the ids of these tables."""
        return KnownIds(lambda first, last: [*self.tables(first, last), *tables], self.from_us)

    def matching(self, hashes: Int64Array) -> list[pa.Table]:
        """The ids that have one of these hashes, which are in order and differ."""
        if not len(hashes):
            return []
        found = (self._in(table, hashes) for table in self.tables(int(hashes[0]), int(hashes[-1])))
        return [table for table in found if table.num_rows]

    def _in(self, table: pa.Table, hashes: Int64Array) -> pa.Table:
        own = table.column(DISTINCT).to_numpy()
        low = np.searchsorted(own, hashes)
        inside = low < len(own)
        hit = np.flatnonzero(inside)[own[low[inside]] == hashes[inside]]
        sizes = np.searchsorted(own, hashes[hit], side="right") - low[hit]
        rows = take_rows(table, ranges(low[hit], sizes))
        if self.from_us is None:
            return rows
        return keep_rows(rows, rows.column(TIME_US).to_numpy() >= self.from_us)
