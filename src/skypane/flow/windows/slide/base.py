"""Slide: how panes become the answers of sliding windows. Strategies differ in cost, never in the answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from skypane import kernels
from skypane.flow.definition import Definition
from skypane.flow.joining import ALONE, Joining
from skypane.flow.windows.lowering import Failed, Naming, lowered
from skypane.model.columns import CHANGE, COUNTER
from skypane.model.groups import Groups, Int64Array
from skypane.model.panes import Border, Span
from skypane.queries.base import Grouped
from skypane.tables.grouping import sort_by
from skypane.tables.ranges import ranges
from skypane.tables.take import take_rows

FIRE_ROWS = 1 << 21
"""Rows to gather for firing at once: windows overlap, so a pane's rows are gathered once for each of its windows."""


_CROWDED = 4
"""Members of windows are put in order by counting while most keys have some in most windows."""


class Fired(NamedTuple):
    """The answers of some windows."""

    window_ids: Int64Array
    """The window of each group."""
    answer: Grouped
    """Answer rows, oldest window first; with the key columns, without the window column."""
    marks: Mapping[str, npt.NDArray[Any]] = {}
    """The columns that the emission adds, a value for each row."""


class Slide(ABC):
    """Pure: the state is a table, and every step returns a new one."""

    name: ClassVar[str]
    added_columns: ClassVar[tuple[str, ...]] = ()
    """The columns that :meth:`enrich` adds."""

    def __init__(self, definition: Definition, joining: Joining = ALONE) -> None:
        self._definition = definition
        self._joining = joining
        self.failed: list[Failed] = []
        """The windows asked for so far on which a function of the user's failed."""
        self.settled_rows = 0
        """So many of the rows that it is given, the first ones, are kept elsewhere; only where :attr:`any_order`."""
        self.naming: Naming | None = None
        """How keys and windows are told to the query, if not as the definition has them."""

    @property
    def any_order(self) -> bool:
        """Whether it only reads panes, and takes those of one key in any place, as long as older ones come first."""
        return False

    @property
    def finds_changes(self) -> bool:
        """Whether it knows what enters and leaves without comparing whole answers, see :meth:`changes`."""
        return False

    @property
    def answers_apart(self) -> bool:
        """Whether some windows of a step can be answered by one task, and others by another."""
        return True

    @property
    def needs_all_panes(self) -> bool:
        """Whether each of them must see all panes all the same."""
        return False

    @property
    def joins_rows(self) -> bool:
        """Whether most of its work is to join rows, which tasks can share."""
        return False

    def visits(self, windows: int) -> int:
        """How often it looks at a row, about, if a step closes so many windows."""
        del windows
        return 1

    def _lowered(self, whole: Grouped, source: pa.Table, rows: Int64Array, window_ids: Int64Array) -> Grouped:
        """The answers of combined partials, see :func:`~skypane.flow.windows.lowering.lowered`."""
        answer, failed = lowered(self._definition, whole, source, rows, window_ids, self.naming)
        self.failed += [] if failed is None else [failed]
        return answer

    def warm_up(self) -> None:  # noqa: B027 - a strategy may have nothing of its own to compile
        """Compile the kernels that the strategy itself uses."""

    def enrich(self, partials: pa.Table) -> pa.Table:
        """Add the columns that the strategy keeps with each row of a partial."""
        return partials

    @abstractmethod
    def fire(self, panes: Grouped, span: Span, needed_from: Border) -> tuple[Iterator[Fired], pa.Table | None]:
        """Answer the windows of the span; also the rows that windows from ``needed_from`` on need, if any."""

    def changes(self, panes: Grouped, span: Span) -> tuple[Iterator[Fired], pa.Table | None]:
        """What enters and leaves with each window of the span, marked; only where :attr:`finds_changes`."""
        del panes, span
        raise TypeError(f"{type(self).__name__} does not find changes")


def border_at(border: Border, rows: pa.Table) -> Border:
    """The border for each of some rows, where keys have their own."""
    return border if np.ndim(border) == 0 else np.asarray(border)[rows.column(COUNTER).to_numpy()]


def span_at(span: Span, rows: pa.Table) -> Span:
    """The span for each of some rows, where keys have their own."""
    return Span(*(border_at(border, rows) for border in span))


def cut(groups: Groups, rows_per_member: Int64Array | None = None) -> Iterator[range]:
    """Cut groups of members, each with some rows, or one, into runs of at most about :data:`FIRE_ROWS` rows."""
    offsets = groups.offsets
    rows = offsets if rows_per_member is None else Groups.from_sizes(rows_per_member).offsets[offsets]
    start = 0
    while start < len(groups):
        stop = int(np.searchsorted(rows, rows[start] + FIRE_ROWS, side="right")) - 1
        stop = min(max(stop, start + 1), len(groups))
        yield range(start, stop)
        start = stop


def members_of(
    span: Span, first: Int64Array, last: Int64Array, key: Int64Array
) -> tuple[Int64Array, Int64Array, Groups]:
    """Each item once for every window of its span from its first to its last, in the order of (window, key).

    The items, the window of each group, and the groups of equal window and key.
    """
    low, high = np.maximum(first, span.first), np.minimum(last, span.end - 1)
    if (counted := kernels.window_members(low, high, key, _CROWDED)) is not None:
        items, offsets, window_ids = counted
        return items, window_ids, Groups(offsets)
    count = np.maximum(high - low + 1, 0)
    items = np.repeat(np.arange(len(count)), count)
    window_id = ranges(low, count)
    order = sort_by(window_id, key[items])
    return items[order.rows], window_id[order.first_rows()], order.groups


def part_of(groups: Groups, run: range) -> tuple[slice, Groups]:
    """Where the members of some groups in a row are, and these groups."""
    low, high = int(groups.offsets[run.start]), int(groups.offsets[run.stop])
    return slice(low, high), Groups(groups.offsets[run.start : run.stop + 1] - low)


def came_and_went(
    table: pa.Table, key: Int64Array, comes: tuple[Int64Array, Int64Array], goes: tuple[Int64Array, Int64Array]
) -> Iterator[Fired]:
    """Rows marked +1 in the window that they come with and -1 in the one that they go with, ``goes`` before ``comes``.

    Each is the numbers of some rows, and a window for each; ``key`` has the key code of every row of the table.
    """
    rows = np.concatenate((goes[0], comes[0]))
    if not len(rows):
        return
    window_id = np.concatenate((goes[1], comes[1]))
    change = np.repeat(np.array([-1, 1], dtype=np.int8), [len(goes[0]), len(comes[0])])
    order = sort_by(window_id, key[rows])
    answer = Grouped(take_rows(table, rows[order.rows]), order.groups)
    yield Fired(window_id[order.rows][order.groups.offsets[:-1]], answer, {CHANGE: change[order.rows]})
