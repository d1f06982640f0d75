"""RecomputeSlide: every window combines its panes anew, as the papers do. Works for any query."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from skypane.flow.windows.lowering import AnswerRows, Naming, lowered
from skypane.flow.windows.slide.base import Answers, Firing, Slide, border_at, cut, members_of, part_of, span_at
from skypane.model.columns import PANE
from skypane.model.groups import Groups, Int64Array
from skypane.model.panes import Border
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

    def fire(self, firing: Firing, needed_from: Border) -> Answers:
        """Gather the rows of all panes of each window."""
        own = firing.panes.table.slice(firing.num_sealed)
        needed = self._definition.window.last_window(own.column(PANE).to_numpy()) >= border_at(needed_from, own)
        return Answers.of(self._answers(firing), own.filter(pa.array(needed)) if needed.any() else None)

    def _answers(self, firing: Firing) -> Iterator[tuple[Int64Array, AnswerRows]]:
        panes = firing.panes
        window, sizes = self._definition.window, panes.groups.sizes
        lead_rows, sizes = panes.groups.offsets[:-1][sizes > 0], sizes[sizes > 0]
        leads = panes.table.select(list(self._definition.frame))
        leads = leads if len(lead_rows) == leads.num_rows else take_rows(leads, lead_rows)
        pane, span = leads.column(PANE).to_numpy(), span_at(firing.span, leads)
        if not np.any(span.first < span.end):
            return
        first, last = window.first_window(pane), window.last_window(pane)
        member, window_id, windows = members_of(span, first, last, key_codes(leads, self._definition.keys))
        if len(lead_rows) == panes.table.num_rows:  # a row is a member
            for run in cut(windows):
                own, members = part_of(windows, run)
                window_ids = window_id[run.start : run.stop]
                order = Order(member[own], members)
                yield window_ids, self._answer(panes.table, order, members, window_ids, firing.naming)
            return
        member_rows = sizes[member]
        for run in cut(windows, member_rows):
            own, members = part_of(windows, run)
            rows = ranges(lead_rows[member[own]], member_rows[own])
            groups = Groups(Groups.from_sizes(member_rows[own]).offsets[members.offsets])
            window_ids = window_id[run.start : run.stop]
            yield window_ids, self._answer(panes.table, Order(rows, groups), members, window_ids, firing.naming)

    def _answer(
        self, table: pa.Table, order: Order, members: Groups, window_ids: Int64Array, naming: Naming | None
    ) -> AnswerRows:
        """Combine the panes of each window and lower the result."""
        query = self._definition.query
        if (members.sizes == 1).all():
            whole = Grouped(take_rows(table, order.rows), order.groups)
        else:
            whole = combine(query, table, order, self._definition.frame)
        return lowered(self._definition, whole, table, order.first_rows(), window_ids, naming)
