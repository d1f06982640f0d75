"""LiveSet: what is kept of live records, and who enters and leaves the answer as time moves on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np
import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.flow.joining import LOCAL_JOIN, Joining
from skypane.model.groups import BoolArray, Groups, Int64Array
from skypane.tables.grouping import key_codes, sort_by
from skypane.tables.rows import keep_rows
from skypane.tables.times import times_us

NO_INSTANT = -(2**62)
"""Before all instants."""


class LiveChanges(NamedTuple):
    """What happened to an answer: rows of a table that entered or left it."""

    rows: Int64Array
    at_us: Int64Array
    change: Int64Array
    cause: Int64Array
    since_us: Int64Array
    """When the row entered, also of those that leave."""

    def __len__(self) -> int:
        return len(self.rows)

    def where(self, mask: BoolArray) -> LiveChanges:
        """The changes of the rows in ``mask``."""
        return self._some(mask)

    def in_order(self, key: Int64Array) -> LiveChanges:
        """By time; at one instant what leaves before what enters; key by key. ``key`` has a number for each row."""
        order = np.lexsort((key[self.rows], self.change, self.at_us))
        return self._some(order)

    def _some(self, wanted: BoolArray | Int64Array) -> LiveChanges:
        return LiveChanges(
            rows=self.rows[wanted],
            at_us=self.at_us[wanted],
            change=self.change[wanted],
            cause=self.cause[wanted],
            since_us=self.since_us[wanted],
        )


class LiveStep(NamedTuple):
    """A step of a live set."""

    changes: LiveChanges
    state: pa.Table | None
    """The rows that may matter later, with what is known of them."""
    sealed: BoolArray
    """Which rows were compared for the first time, and are ever in the answer."""


class LiveSet(ABC):
    """Pure: the state is a table, and every step returns a new one.

    A row is *fresh* until the instants up to its own time are final; then it is compared with the others of its key.
    """

    added_columns: ClassVar[tuple[str, ...]]
    """The columns that :meth:`enrich` adds."""
    joins_rows: ClassVar[bool] = False
    """Whether most of its work is to join rows, which tasks can share."""

    def __init__(self, definition: Definition, life_us: int) -> None:
        self._definition = definition
        self._life_us = life_us

    @abstractmethod
    def warm_up(self) -> None:
        """Compile the kernels before the first step."""

    @abstractmethod
    def enrich(self, rows: pa.Table) -> pa.Table:
        """Add the columns for what is known of each row; nothing is, yet."""

    @abstractmethod
    def ever_in(self, rows: pa.Table) -> Int64Array:
        """The rows that are ever in the answer, were there no others; leaving out all others changes no answer."""

    @abstractmethod
    def advance(self, rows: pa.Table, before_us: int, after_us: int, joining: Joining = LOCAL_JOIN) -> LiveStep:
        """Make the instants from ``before_us`` to before ``after_us`` final; rows fresh and known, enriched.

        ``joining`` finds bounds of rows, where the set joins them.
        """

    def answered(self, rows: pa.Table) -> pa.Table:
        """The rows with the columns that answers have."""
        return rows

    def prune(self, rows: pa.Table) -> pa.Table:
        """Without the rows that are never in the answer."""
        if not rows.num_rows:
            return rows
        kept = np.zeros(rows.num_rows, dtype=np.bool_)
        kept[self.ever_in(rows)] = True
        return rows if kept.all() else keep_rows(rows, kept)

    def _times_us(self, rows: pa.Table) -> Int64Array:
        return times_us(rows.column(self._definition.time))

    def _by_key_and_time(self, codes: Int64Array, times: Int64Array, rows: Int64Array) -> tuple[Int64Array, Groups]:
        """Some rows, each key's in the order of time, and the keys' borders."""
        ordered = rows[sort_by(codes[rows], times[rows]).rows]
        borders = np.flatnonzero(np.diff(codes[ordered])) + 1
        return ordered, Groups(np.concatenate(([0], borders, [len(ordered)])).astype(np.int64))

    def _codes(self, rows: pa.Table) -> Int64Array:
        return key_codes(rows, self._definition.keys)


def with_columns(rows: pa.Table, columns: Sequence[tuple[str, Int64Array]]) -> pa.Table:
    """The rows with columns added, or replaced."""
    for name, values in columns:
        index = rows.schema.get_field_index(name)
        column = pa.array(values)
        rows = rows.append_column(name, column) if index < 0 else rows.set_column(index, name, column)
    return rows
