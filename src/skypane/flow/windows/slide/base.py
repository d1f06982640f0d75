"""Slide: how panes become the answers of sliding windows. Strategies differ in cost, never in the answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from skypane import kernels
from skypane.flow.definition import Definition
from skypane.flow.joining import LOCAL_JOIN, Joining
from skypane.flow.windows.lowering import AnswerRows, Failed, Naming
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


class Answers(NamedTuple):
    """The answers of some windows, and what goes with them."""

    fired: Sequence[Fired]
    state: pa.Table | None
    """The rows that later windows need (``None`` for none)."""
    failed: Failed | None = None
    """The windows without an answer, since a function of the user's failed on them."""

    @classmethod
    def of(cls, parts: Iterable[tuple[Int64Array, AnswerRows]], state: pa.Table | None) -> Answers:
        """From the numbers and the answers of windows, part by part."""
        found = [(Fired(window_ids, answer), failed) for window_ids, (answer, failed) in parts]
        failures = Failed.together([failed for _, failed in found if failed is not None])
        return cls([fired for fired, _ in found], state, failures)


@dataclass(frozen=True)
class Firing:
    """Which windows a slide answers, from which panes."""

    panes: Grouped
    span: Span
    num_sealed: int = 0
    """So many of the rows, the first ones, are kept elsewhere; only where the slide has :attr:`Slide.any_order`."""
    naming: Naming | None = None
    """The keys and windows that the query gets, if not those of the definition."""
    joining: Joining = LOCAL_JOIN
    """Finds bounds of rows, where the slide joins them."""


class Slide(ABC):
    """Pure: the state is a table, and every step returns a new one."""

    name: ClassVar[str]
    added_columns: ClassVar[tuple[str, ...]] = ()
    """The columns that :meth:`enrich` adds."""

    def __init__(self, definition: Definition) -> None:
        self._definition = definition

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
        """Whether each task must read all panes nevertheless."""
        return False

    @property
    def joins_rows(self) -> bool:
        """Whether most of its work is to join rows, which tasks can share."""
        return False

    def visits(self, windows: int) -> int:
        """How often it looks at a row, about, if a step closes so many windows."""
        del windows
        return 1

    def warm_up(self) -> None:  # noqa: B027 - a strategy may have nothing of its own to compile
        """Compile the kernels that the strategy itself uses."""

    def enrich(self, partials: pa.Table) -> pa.Table:
        """Add the columns that the strategy keeps with each row of a partial."""
        return partials

    @abstractmethod
    def fire(self, firing: Firing, needed_from: Border) -> Answers:
        """Answer the windows of the span; keep the rows that windows from ``needed_from`` on need, if any."""

    def changes(self, firing: Firing) -> Answers:
        """What enters and leaves with each window of the span, marked; only where :attr:`finds_changes`."""
        del firing
        raise TypeError(f"{type(self).__name__} does not find changes")


def border_at(border: Border, rows: pa.Table) -> Border:
    """The border for each of some rows, where keys have their own."""
    return border if np.ndim(border) == 0 else np.asarray(border)[rows.column(COUNTER).to_numpy()]


def span_at(span: Span, rows: pa.Table) -> Span:
    """The span for each of some rows, where keys have their own."""
    return Span._make(border_at(border, rows) for border in span)


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
