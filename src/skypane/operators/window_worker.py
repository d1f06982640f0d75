"""WindowWorker: one task of the window stage - merge partials into open panes, seal, fire windows, keep the rest.

``advance(state, partials, before, after)`` is a pure function. Its state is a table of partials, one group of rows per
key and pane, sorted by key group. A window fires when the punctuation passes its end; a pane is forgotten when its last
window has fired.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from skypane.model.columns import GROUP, PANE, PREFIX, WINDOW
from skypane.model.groups import Groups, Int64Array
from skypane.operators.definition import Definition
from skypane.operators.grouping import Order, combine, key_codes, lift, sort_by, with_frame
from skypane.operators.pane_worker import sorted_by_group
from skypane.queries.base import Grouped

FIRE_ROWS = 1 << 21
"""Rows to gather for firing at once: windows overlap, so a pane's rows are gathered once for each of its windows."""

_LONG_AGO = -(2**62)


@dataclass(frozen=True)
class Advance:
    """What a step leaves and emits."""

    state: pa.Table | None
    answers: Sequence[pa.Table]
    """Result rows; windows of one key in order."""
    windows: int
    """How many (key, window) answers there are."""
    open_panes: int
    """How many (key, pane) partials the state holds."""


class WindowWorker:
    """The window stage for some range of key groups."""

    def __init__(self, definition: Definition) -> None:
        self._definition = definition
        self._time_type = pa.timestamp("us", definition.time_zone)

    def advance(
        self,
        state: pa.Table | None,
        partials: Sequence[pa.Table],
        before_us: int | None,
        after_us: int | None,
    ) -> Advance:
        """Take in the step's partials and move the punctuation from ``before_us`` to ``after_us``."""
        parts = [part for part in (state, *partials) if part is not None and part.num_rows]
        if not parts:
            return Advance(None, (), 0, 0)
        panes = self._merge(parts)
        if after_us is None:
            return Advance(sorted_by_group(panes.table), (), 0, len(panes.groups))
        window = self._definition.window
        first = _LONG_AGO if before_us is None else window.closed_before(before_us)
        end = window.closed_before(after_us)
        answers, fired = [], 0
        for answer in self._fire(panes, first, end):
            answers.append(self._result(answer.table))
            fired += int((answer.groups.sizes > 0).sum())
        state, open_panes = self._retain(panes, end)
        return Advance(state, answers, fired, open_panes)

    def result_schema(self, records: pa.Schema) -> pa.Schema:
        """The schema of the answers to records of some schema."""
        frame = [pa.field(GROUP, pa.int32()), pa.field(PANE, pa.int64())]
        empty = pa.schema([*records, *frame]).empty_table()
        nothing = Order(np.zeros(0, dtype=np.int64), Groups.from_sizes([]))
        partials = lift(self._definition.query, empty, nothing, self._definition.frame)
        answer = self._answer(partials.table, nothing, np.zeros(0, dtype=np.int64), nothing.groups)
        return self._result(answer.table).schema

    def _merge(self, parts: Sequence[pa.Table]) -> Grouped:
        """One group of rows per key and pane; only panes that got something new are combined again."""
        table = pa.concat_tables(parts) if len(parts) > 1 else parts[0]
        source = np.repeat(np.arange(len(parts)), [part.num_rows for part in parts])
        order = sort_by(key_codes(table, self._definition.keys), table.column(PANE).to_numpy())
        return self._combine_mixed(table, order, source)

    def _combine_mixed(self, table: pa.Table, order: Order, source: Int64Array) -> Grouped:
        ordered_source = source[order.rows]
        starts = order.groups.offsets[:-1]
        mixed = np.minimum.reduceat(ordered_source, starts) != np.maximum.reduceat(ordered_source, starts)
        if not mixed.any():
            return Grouped(table.take(pa.array(order.rows)), order.groups)
        sizes = order.groups.sizes
        row_mixed = np.repeat(mixed, sizes)
        fresh = combine(
            self._definition.query,
            table,
            Order(order.rows[row_mixed], Groups.from_sizes(sizes[mixed])),
            self._definition.frame,
        )
        if mixed.all():
            return fresh
        kept = table.take(pa.array(order.rows[~row_mixed]))
        return _interleave(Grouped(kept, Groups.from_sizes(sizes[~mixed])), fresh, mixed)

    def _fire(self, panes: Grouped, first: int, end: int) -> Iterator[Grouped]:
        """The answers of all windows ``first .. end - 1`` that have records, oldest window first."""
        window, sizes = self._definition.window, panes.groups.sizes
        lead_rows = panes.groups.offsets[:-1][sizes > 0]
        leads = panes.table.select(list(self._definition.frame)).take(pa.array(lead_rows))
        pane = leads.column(PANE).to_numpy()
        low = np.maximum(window.first_window(pane), first)
        count = np.maximum(np.minimum(window.last_window(pane), end - 1) - low + 1, 0)
        member = np.repeat(np.arange(len(pane)), count)
        if not len(member):
            return
        fired = np.repeat(low, count) + _ramp(count)
        order = sort_by(fired, key_codes(leads, self._definition.keys)[member])
        member, fired = member[order.rows], fired[order.rows]
        rows_per_member = sizes[sizes > 0][member]
        for span in _spans(order.groups, rows_per_member):
            lo, hi = int(order.groups.offsets[span.start]), int(order.groups.offsets[span.stop])
            rows = _ranges(lead_rows[member[lo:hi]], rows_per_member[lo:hi])
            per_window = Groups(order.groups.offsets[span.start : span.stop + 1] - lo)
            row_groups = Groups(Groups.from_sizes(rows_per_member[lo:hi]).offsets[per_window.offsets])
            yield self._answer(panes.table, Order(rows, row_groups), fired[lo:hi][per_window.offsets[:-1]], per_window)

    def _answer(self, table: pa.Table, order: Order, window_ids: Int64Array, members: Groups) -> Grouped:
        """Combine the panes of each window and lower the result; adds the window column."""
        query = self._definition.query
        if (members.sizes == 1).all():
            whole = Grouped(table.take(pa.array(order.rows)), order.groups)
        else:
            whole = combine(query, table, order, self._definition.frame)
        answer = query.lower(whole.table, whole.groups)
        if not query.properties.selective:
            keys = table.select(list(self._definition.keys)).take(pa.array(order.first_rows()))
            answer = with_frame(answer, keys)
        ids = window_ids[answer.groups.row_ids()]
        return Grouped(answer.table.append_column(WINDOW, self._window_column(ids)), answer.groups)

    def _window_column(self, window_ids: Int64Array) -> pa.Array:
        spec = self._definition.window
        borders = [
            pa.array(us).cast(self._time_type)
            for us in (spec.window_start_us(window_ids), spec.window_end_us(window_ids))
        ]
        return pa.StructArray.from_arrays(borders, names=["start", "end"])

    def _result(self, table: pa.Table) -> pa.Table:
        """Keys, window, then the rest, without internal columns."""
        lead = [*self._definition.keys, WINDOW]
        rest = [name for name in table.column_names if name not in lead and not name.startswith(PREFIX)]
        return table.select([*lead, *rest])

    def _retain(self, panes: Grouped, end: int) -> tuple[pa.Table | None, int]:
        """The panes that windows to come still need, and how many they are."""
        needed = self._definition.window.last_window(panes.table.column(PANE).to_numpy()) >= end
        if not needed.any():
            return None, 0
        count = int(needed[panes.groups.offsets[:-1][panes.groups.sizes > 0]].sum())
        return sorted_by_group(panes.table if needed.all() else panes.table.filter(pa.array(needed))), count


def _interleave(kept: Grouped, fresh: Grouped, is_fresh: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Grouped:
    """Put groups from two tables back into one order."""
    starts, sizes = np.empty(len(is_fresh), dtype=np.int64), np.empty(len(is_fresh), dtype=np.int64)
    starts[~is_fresh], sizes[~is_fresh] = kept.groups.offsets[:-1], kept.groups.sizes
    starts[is_fresh], sizes[is_fresh] = fresh.groups.offsets[:-1] + kept.groups.rows, fresh.groups.sizes
    both = pa.concat_tables([kept.table, fresh.table])
    return Grouped(both.take(pa.array(_ranges(starts, sizes))), Groups.from_sizes(sizes))


def _ranges(starts: Int64Array, sizes: Int64Array) -> Int64Array:
    """``starts[0], starts[0] + 1, ...`` for ``sizes[0]`` numbers, then the same for the next."""
    return np.repeat(starts, sizes) + _ramp(sizes)


def _ramp(sizes: Int64Array) -> Int64Array:
    """``0 .. sizes[0] - 1, 0 .. sizes[1] - 1, ...``."""
    offsets = Groups.from_sizes(sizes).offsets
    return np.arange(offsets[-1], dtype=np.int64) - np.repeat(offsets[:-1], sizes)


def _spans(groups: Groups, rows_per_member: Int64Array) -> Iterator[range]:
    """Cut the windows to fire into runs of a bounded number of rows."""
    rows = Groups.from_sizes(rows_per_member).offsets[groups.offsets]
    start = 0
    while start < len(groups):
        stop = int(np.searchsorted(rows, rows[start] + FIRE_ROWS, side="right")) - 1
        stop = min(max(stop, start + 1), len(groups))
        yield range(start, stop)
        start = stop
