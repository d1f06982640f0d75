"""RecomputeSlide: every window combines its panes anew, as the papers do. Works for any query."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from skypane.flow.windows.slide.base import Fired, Slide, border_at, cut, members_of, part_of, span_at
from skypane.model.columns import PANE
from skypane.model.groups import Groups, Int64Array
from skypane.model.panes import Border, Span
from skypane.queries.base import Grouped
from skypane.queries.reduce import combine
from skypane.tables.grouping import Order, key_codes
from skypane.tables.ranges import ranges
from skypane.tables.take import take_rows


class RecomputeSlide(Slide):
    """The cost of a window grows with the number of its panes."""

    name = "recompute"

    @property
    def any_order(self) -> bool:
        """Panes are gathered wherever they are."""
        return True

    def visits(self, windows: int) -> int:
        """Once for each window that has it."""
        wide, apart = self._definition.window.shape
        return min(windows, -(-wide // apart))

    def fire(self, panes: Grouped, span: Span, needed_from: Border) -> tuple[Iterator[Fired], pa.Table | None]:
        """Gather the rows of all panes of each window."""
        own = panes.table.slice(self.settled_rows)
        needed = self._definition.window.last_window(own.column(PANE).to_numpy()) >= border_at(needed_from, own)
        return self._answers(panes, span), own.filter(pa.array(needed)) if needed.any() else None

    def _answers(self, panes: Grouped, span: Span) -> Iterator[Fired]:
        window, sizes = self._definition.window, panes.groups.sizes
        lead_rows, sizes = panes.groups.offsets[:-1][sizes > 0], sizes[sizes > 0]
        leads = panes.table.select(list(self._definition.frame))
        leads = leads if len(lead_rows) == leads.num_rows else take_rows(leads, lead_rows)
        pane, span = leads.column(PANE).to_numpy(), span_at(span, leads)
        if not np.any(span.first < span.end):
            return
        first, last = window.first_window(pane), window.last_window(pane)
        member, window_id, windows = members_of(span, first, last, key_codes(leads, self._definition.keys))
        if len(lead_rows) == panes.table.num_rows:  # a row is a member
            for run in cut(windows):
                own, members = part_of(windows, run)
                yield self._fired(panes.table, Order(member[own], members), members, window_id[run.start : run.stop])
            return
        member_rows = sizes[member]
        for run in cut(windows, member_rows):
            own, members = part_of(windows, run)
            rows = ranges(lead_rows[member[own]], member_rows[own])
            groups = Groups(Groups.from_sizes(member_rows[own]).offsets[members.offsets])
            yield self._fired(panes.table, Order(rows, groups), members, window_id[run.start : run.stop])

    def _fired(self, table: pa.Table, order: Order, members: Groups, window_ids: Int64Array) -> Fired:
        return Fired(window_ids, self._answer(table, order, members, window_ids))

    def _answer(self, table: pa.Table, order: Order, members: Groups, window_ids: Int64Array) -> Grouped:
        """Combine the panes of each window and lower the result."""
        query = self._definition.query
        if (members.sizes == 1).all():
            whole = Grouped(take_rows(table, order.rows), order.groups)
        else:
            whole = combine(query, table, order, self._definition.frame)
        return self._lowered(whole, table, order.first_rows(), window_ids)
