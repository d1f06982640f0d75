"""CriticalSlide: the incremental sliding skyline. The cost of a window does not grow with its number of panes.

For every record two panes are kept (the skyline influence time of paper 4, at pane granularity):

* its **critical** pane: the youngest older pane with a record that dominates it;
* the pane in which it **died**: the oldest younger pane with a record that dominates it.

A window that spans the panes ``first .. end - 1`` answers with the records whose pane it spans and for which
``critical < first`` and ``died >= end``. Both bounds move forward with the window, so a record is in the answers of a
*range* of consecutive windows, perhaps an empty one. Newly sealed panes cost one dominance join with the live records,
by index where there are many; after that, answers are ranges to expand (``emit="full"``) or ends of ranges
(``emit="changes"``).

Why dead records need not be compared: whatever a dead record dominates, its killer dominates too, and is younger.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from skypane.flow.joining import LOCAL_JOIN, Joining, JoinRows
from skypane.flow.windows.lowering import AnswerRows, lowered
from skypane.flow.windows.slide.base import (
    Answers,
    Fired,
    Firing,
    Slide,
    border_at,
    came_and_went,
    cut,
    members_of,
    part_of,
    span_at,
)
from skypane.kernels.sliding import STILL_ALIVE, warm_sliding
from skypane.model.columns import PANE, PREFIX
from skypane.model.groups import BoolArray, Groups, Int64Array
from skypane.model.panes import NO_PANE, Border, Panes, Span
from skypane.queries.base import Grouped
from skypane.tables.grouping import key_codes, sort_by
from skypane.tables.take import take_rows

CRITICAL = f"{PREFIX}critical"
DIED = f"{PREFIX}died"
NOT_JOINED = np.iinfo(np.int64).min
"""Instead of a critical pane: the row has not been compared with other panes yet."""


class CriticalSlide(Slide):
    """For queries whose partial is a skyline."""

    name = "critical"
    added_columns = (CRITICAL, DIED)

    @property
    def finds_changes(self) -> bool:
        """With skylines, which are what the ranges are about; top-delta ranks and cuts them window by window."""
        return self._definition.query.answer_is_partial

    @property
    def answers_apart(self) -> bool:
        """Where answers are ranked, which is work; a skyline is read off the ranges."""
        return not self._definition.query.answer_is_partial

    @property
    def joins_rows(self) -> bool:
        """With skylines: what is ranked is shared window by window."""
        return self._definition.query.answer_is_partial

    @property
    def needs_all_panes(self) -> bool:
        """Who dominates a record may be in any pane."""
        return True

    def warm_up(self) -> None:
        """Compile the joins before the first step."""
        warm_sliding()

    def enrich(self, partials: pa.Table) -> pa.Table:
        """Records of open panes have not been compared with other panes yet."""
        if CRITICAL in partials.column_names:
            return partials
        rows = partials.num_rows
        fresh = partials.append_column(CRITICAL, pa.array(np.full(rows, NOT_JOINED)))
        return fresh.append_column(DIED, pa.array(np.full(rows, STILL_ALIVE)))

    def fire(self, firing: Firing, needed_from: Border) -> Answers:
        """Join the newly sealed panes, then read the answers off the ranges."""
        ranges, state = self._joined(firing, needed_from)
        return Answers.of(self._answers(ranges, firing), state)

    def changes(self, firing: Firing) -> Answers:
        """Join the newly sealed panes, then read what comes and goes off the ends of the ranges."""
        # A record is needed until the window after its last one has fired: that one says that it goes.
        ranges, state = self._joined(firing, firing.span.end - 1)
        return Answers([*self._changes(ranges, firing.span)], state)

    def _joined(self, firing: Firing, needed_from: Border) -> tuple[_Ranges, pa.Table | None]:
        """The windows whose answers have each row; also the rows that windows from ``needed_from`` on need."""
        table, span = firing.panes.table, firing.span
        pane = table.column(PANE).to_numpy()
        critical = table.column(CRITICAL).to_numpy().copy()
        died = table.column(DIED).to_numpy().copy()
        joined = pane < border_at(span.sealed_before, table)
        self._reopen(table, pane < border_at(span.joined_before, table), critical, died)
        self._join(table, pane, critical, died, joined, firing.joining)
        entered, left = window_range(self._definition.window, pane, critical, died)
        over = joined & ((left < border_at(needed_from, table)) | (entered > left))
        state = self._state(table, critical, died, ~over)
        answered = joined & (entered <= left)
        return _Ranges(table=table, entered=entered, left=left, answered=answered), state

    def windows_of(self, panes: pa.Table) -> tuple[Int64Array, Int64Array]:
        """The first and the last window whose answer has each row, were all these panes sealed at once."""
        pane = panes.column(PANE).to_numpy()
        critical, died = np.full(len(pane), NOT_JOINED), np.full(len(pane), STILL_ALIVE)
        self._join(panes, pane, critical, died, np.ones(len(pane), dtype=np.bool_), LOCAL_JOIN)
        return window_range(self._definition.window, pane, critical, died)

    def _reopen(self, table: pa.Table, joined: BoolArray, critical: Int64Array, died: Int64Array) -> None:
        """Records that came late into panes joined before: join all panes of their keys again.

        The records that were dropped on the way are not missed: in every window to come, others dominate them.
        """
        amended = joined & (critical == NOT_JOINED)
        if not amended.any():
            return
        codes = key_codes(table, self._definition.keys)
        again = joined & np.isin(codes, codes[amended])
        critical[again], died[again] = NOT_JOINED, STILL_ALIVE

    def _join(
        self,
        table: pa.Table,
        pane: Int64Array,
        critical: Int64Array,
        died: Int64Array,
        sealed: BoolArray,
        joining: Joining,
    ) -> None:
        """Set the critical pane of newly sealed records, and the death of those that they dominate."""
        fresh = sealed & (critical == NOT_JOINED)
        if not fresh.any():
            return
        critical[fresh] = NO_PANE
        query = self._definition.query.dominance
        assert query is not None
        codes = key_codes(table, self._definition.keys)
        order = sort_by(codes, pane)
        # Rows in the order of (key, pane); a sealed prefix of each key takes part.
        rows = order.rows[sealed[order.rows]]
        borders = np.flatnonzero(np.diff(codes[rows])) + 1
        groups = Groups(np.concatenate(([0], borders, [len(rows)])).astype(np.int64))
        values = query.matrix(take_rows(table.select(list(query.inputs())), rows))
        nearest, killed = critical[rows], died[rows]
        asked = JoinRows(
            values=values,
            panes=pane[rows],
            fresh=fresh[rows],
            offsets=groups.offsets,
            critical=nearest,
            died=killed,
        )
        joining.join(asked, self._definition.window.shape)
        critical[rows], died[rows] = nearest, killed

    def _state(self, table: pa.Table, critical: Int64Array, died: Int64Array, keep: BoolArray) -> pa.Table | None:
        if not keep.any():
            return None
        for name, values in ((CRITICAL, critical), (DIED, died)):
            table = table.set_column(table.column_names.index(name), name, pa.array(values))
        return table if keep.all() else table.filter(pa.array(keep))

    def _answers(self, ranges: _Ranges, firing: Firing) -> Iterator[tuple[Int64Array, AnswerRows]]:
        """Every record once for each window of the span that it is in."""
        table, entered, left, answered = ranges
        last = np.where(answered, left, entered - 1)
        key = key_codes(table, self._definition.keys)
        rows, window_id, windows = members_of(span_at(firing.span, table), entered, last, key)
        for run in cut(windows):
            own, groups = part_of(windows, run)
            window_ids, first = window_id[run.start : run.stop], rows[own][groups.offsets[:-1]]
            whole = Grouped(take_rows(table, rows[own]), groups)
            yield window_ids, lowered(self._definition, whole, table, first, window_ids, firing.naming)

    def _changes(self, ranges: _Ranges, span: Span) -> Iterator[Fired]:
        """Every record at most twice: +1 in the first window that it is in, -1 in the first after the last."""
        table, entered, left, answered = ranges
        span = span_at(span, table)
        comes = np.flatnonzero(answered & (entered >= span.first) & (entered < span.end))
        goes = np.flatnonzero(answered & (left + 1 >= span.first) & (left + 1 < span.end))
        key = key_codes(table, self._definition.keys)
        yield from came_and_went(table, key, (comes, entered[comes]), (goes, left[goes] + 1))


class _Ranges(NamedTuple):
    """Rows, the first and the last window whose answer has each, and whether that is any."""

    table: pa.Table
    entered: Int64Array
    left: Int64Array
    answered: BoolArray


def window_range(
    window: Panes, pane: Int64Array, critical: Int64Array, died: Int64Array
) -> tuple[Int64Array, Int64Array]:
    """The first and the last window whose answer has the record; first > last for none."""
    step, width = window.panes_per_slide, window.panes_per_window
    entered = np.maximum(window.first_window(pane), np.floor_divide(critical, step) + 1)
    left = np.minimum(window.last_window(pane), np.floor_divide(died - width, step))
    return entered, left
