"""Partial changes: what the rows of open windows have changed since the last complete window of their key.

With ``.emit("changes")`` rows add up to the answer of the newest window that was sent. Slides find changes from one
complete window to the next, and from the last complete one on to those that are open. So what was sent of open windows
is kept with the counter of the key, and taken back before later windows of the key are sent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from skypane.flow.windows.emit.differences import row_codes
from skypane.model.columns import CHANGE, COUNTER, PREFIX, WINDOW
from skypane.model.groups import BoolArray, Groups, Int64Array
from skypane.tables.grouping import sort_by
from skypane.tables.take import take_rows

PARTIAL = f"{PREFIX}partial"


class SentRows(NamedTuple):
    """Rows as they are sent, each with the numbers of its counter and its window."""

    table: pa.Table
    counter: Int64Array
    window: Int64Array

    def where(self, mask: BoolArray) -> SentRows:
        """Some of them."""
        return self.take(np.flatnonzero(mask))

    def take(self, rows: Int64Array) -> SentRows:
        """Some of them, in this order."""
        return SentRows(take_rows(self.table, rows), self.counter[rows], self.window[rows])

    def followed_by(self, *others: SentRows) -> SentRows:
        """These and others, with the columns of these."""
        names, schema = self.table.column_names, self.table.schema
        return SentRows(
            pa.concat_tables([self.table, *(other.table.select(names).cast(schema) for other in others)]),
            np.concatenate([self.counter, *(other.counter for other in others)]),
            np.concatenate([self.window, *(other.window for other in others)]),
        )

    def labelled(self, windows: pa.Array) -> SentRows:
        """With other windows to be seen."""
        index = self.table.column_names.index(WINDOW)
        return self._replace(table=self.table.set_column(index, self.table.schema.field(index), windows))

    def negated(self) -> SentRows:
        """What takes them back."""
        change = -self.table.column(CHANGE).to_numpy()
        index = self.table.column_names.index(CHANGE)
        return self._replace(table=self.table.set_column(index, CHANGE, pa.array(change, pa.int8())))

    def netted(self, key: Int64Array) -> SentRows:
        """Those that are left, for each key, when rows that cancel out are left out."""
        if not len(key):
            return self
        change = self.table.column(CHANGE).to_numpy().astype(np.int64)
        code = np.unique(row_codes(_plain(self.table.drop_columns([CHANGE, WINDOW])), key), return_inverse=True)[1]
        total = np.bincount(code, weights=change).astype(np.int64)[code]
        left = np.flatnonzero(np.sign(total) == change)
        order = sort_by(code[left], np.zeros(len(left), dtype=np.int64))
        nth = np.arange(len(left)) - np.repeat(order.groups.offsets[:-1], order.groups.sizes)
        return self.take(np.sort(left[order.rows[nth < np.abs(total[left[order.rows]])]]))


def replaced(before: SentRows, now: SentRows) -> SentRows:
    """The changes of open windows, from what was sent of such windows before instead of from the last complete one.

    ``before`` takes that back in the first of the windows: what cancels out there is not sent.
    """
    rows = before.followed_by(now)
    order = sort_by(rows.window, rows.counter)
    key = np.empty(len(rows.window), dtype=np.int64)
    key[order.rows] = order.groups.row_ids()
    rows = rows._replace(window=key).netted(key)
    return rows.take(np.lexsort((rows.table.column(CHANGE).to_numpy(), rows.window)))


def stored_partial(stored: pa.Table | None) -> pa.Table | None:
    """The changes that are stored with counters, by the number of the counter's row."""
    if stored is None or PARTIAL not in stored.column_names:
        return None
    lists = stored.column(PARTIAL).combine_chunks()
    numbers = np.repeat(np.arange(len(lists)), np.diff(lists.offsets.to_numpy()))
    return pa.Table.from_struct_array(lists.flatten()).append_column(COUNTER, pa.array(numbers, pa.int64()))


def partial_column(partial: pa.Table, counters: Int64Array) -> pa.Array:
    """The changes of some counters, a list for each."""
    counter = partial.column(COUNTER).to_numpy()
    place = np.full(max(counters.max(initial=-1), counter.max(initial=-1)) + 1, -1)
    place[counters] = np.arange(len(counters))
    own = place[counter]
    rows = np.flatnonzero(own >= 0)
    rows = rows[np.argsort(own[rows], kind="stable")]
    offsets = Groups.from_sizes(np.bincount(own[rows], minlength=len(counters))).offsets
    values = take_rows(partial.drop_columns([COUNTER]), rows).to_struct_array().combine_chunks()
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)


def _plain(table: pa.Table) -> pa.Table:
    """With text instead of nested values, which are few: only those of open windows are compared."""
    for index, field in enumerate(table.schema):
        if pa.types.is_nested(field.type):
            texts = pa.array(map(repr, table.column(index).to_pylist()), pa.string())
            table = table.set_column(index, field.name, texts)
    return table
