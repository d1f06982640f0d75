"""Shares: what one task of the window stage does - some key groups, and of their windows all or some.

Tuning chooses the shares; what can be shared, and who owns which rows then, is decided here. Whatever the shares, the
answers are those of one task: each pane has one owner, who keeps its rows, and each window one task that answers it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from skypane.model.columns import GROUP, KEY_GROUPS, PANE
from skypane.model.groups import BoolArray, Int64Array
from skypane.model.panes import PaneRange, Panes, Span
from skypane.tables.ranges import ranges


class GroupRange(NamedTuple):
    """The key groups ``first .. end - 1``."""

    first: int
    end: int

    def overlaps(self, other: GroupRange) -> bool:
        """Whether any key group is in both."""
        return self.first < other.end and other.first < self.end

    def slice_of(self, table: pa.Table) -> pa.Table:
        """The rows of these key groups, from a table sorted by key group; nothing is copied."""
        low, high = np.searchsorted(table.column(GROUP).to_numpy(), [self.first, self.end])
        return table.slice(int(low), int(high - low))


ALL_GROUPS: Final = GroupRange(0, KEY_GROUPS)


class Run(NamedTuple):
    """The windows ``first .. end - 1``."""

    first: int
    end: int


@dataclass(frozen=True)
class WindowCut:
    """The windows of a step in sets, and how the sets are distributed over tasks."""

    panes: Panes
    span: Span
    filled: Run
    """The windows that may have rows: those before and after go with the first and the last of them."""
    set_size: int
    """How many windows a set has."""
    origin: int
    """Where set number 0 starts."""
    degree: int
    looks_back: int
    """How many windows before its own a task must look at."""
    whole: bool
    """Whether a task must see all panes, whichever windows it answers."""
    judged_before: int
    """The task of the first window also sees the panes below this number, to deal with records that came late."""

    def sets_of(self, windows: Int64Array) -> Int64Array:
        """The set that each window is in."""
        return np.floor_divide(np.clip(windows, self.filled.first, self.filled.end - 1) - self.origin, self.set_size)

    def task_of(self, window: int) -> int:
        """The task that answers each window."""
        return int(self.sets_of(np.array([window]))[0]) % self.degree

    @property
    def tasks(self) -> tuple[int, ...]:
        """The tasks that have windows to answer."""
        first, last = self._first_and_last_set
        return tuple(sorted({number % self.degree for number in range(first, min(last + 1, first + self.degree))}))

    def owner_of(self, panes: Int64Array) -> Int64Array:
        """The task that owns each pane: the last one that reads it."""
        newest = np.clip(self.panes.last_window(panes) + self.looks_back, self.span.first, self.span.end - 1)
        return self.sets_of(newest) % self.degree

    def read_by(self, task: int, panes: Int64Array) -> BoolArray:
        """Which panes a task needs."""
        if self.whole:
            return np.ones(len(panes), dtype=np.bool_)
        first, last, some = self._sets_with(panes)
        in_turn = (task - first) % self.degree <= last - first
        wanted: BoolArray = (some & in_turn) | (self.owner_of(panes) == task)
        return wanted | (panes < self.judged_before) if task == self.task_of(self.span.first) else wanted

    def runs_of(self, task: int, panes: Int64Array) -> list[Run]:
        """The windows that a task answers, as far as these panes have a say in them; the newest of all in any case."""
        first, last, some = self._sets_with(np.unique(panes))
        sets = np.unique(ranges(first[some], (last - first + 1)[some]))
        newest = self._first_and_last_set[1]
        own = {*sets[sets % self.degree == task].tolist(), *([newest] if newest % self.degree == task else [])}
        return [self._run(number) for number in sorted(own)]

    def of_run(self, run: Run, panes: Int64Array) -> BoolArray:
        """Which panes the windows of a run look at; the newest run keeps those that only later windows will."""
        wanted: BoolArray = self.panes.last_window(panes) + self.looks_back >= run.first
        return wanted if run.end == self.span.end else wanted & (self.panes.first_window(panes) < run.end)

    def _sets_with(self, panes: Int64Array) -> tuple[Int64Array, Int64Array, BoolArray]:
        """The first and the last set that looks at each pane, and whether any does."""
        first = np.maximum(self.panes.first_window(panes), self.span.first)
        last = np.minimum(self.panes.last_window(panes) + self.looks_back, self.span.end - 1)
        return self.sets_of(first), self.sets_of(last), first <= last

    @property
    def _first_and_last_set(self) -> tuple[int, int]:
        first, last = self.sets_of(np.array(self.filled)).tolist()
        return first, last

    def _run(self, number: int) -> Run:
        first, last = self._first_and_last_set
        low = self.origin + number * self.set_size
        return Run(
            self.span.first if number == first else low,
            self.span.end if number == last else low + self.set_size,
        )


@dataclass(frozen=True)
class WindowShare:
    """What a task of the window stage does: some key groups, and of their windows all, or those that a cut gives it."""

    groups: GroupRange
    cut: WindowCut | None = None
    task: int = 0
    joiners: int = 1
    """How many tasks share the joins of rows that its answers take."""

    @property
    def first_of_groups(self) -> bool:
        """Whether it answers the first window: who does also deals with records that came late."""
        return self.cut is None or self.task == self.cut.task_of(self.cut.span.first)

    def answers(self, windows: Int64Array) -> BoolArray:
        """Which of these windows it answers."""
        if self.cut is None:
            return np.ones(len(windows), dtype=np.bool_)
        own: BoolArray = self.cut.sets_of(windows) % self.cut.degree == self.task
        return own

    def owned(self, table: pa.Table) -> pa.Table:
        """The rows of the panes that it owns."""
        return self._of(table, None if self.cut is None else self.cut.owner_of(_panes(table)) == self.task)

    def read(self, table: pa.Table) -> pa.Table:
        """The rows that it needs, of a table sorted by key group."""
        table = self.groups.slice_of(table)
        return self._of(table, None if self.cut is None else self.cut.read_by(self.task, _panes(table)))

    def _of(self, table: pa.Table, wanted: BoolArray | None) -> pa.Table:
        return table if wanted is None or wanted.all() else table.filter(pa.array(wanted))


EVERYTHING: Final = WindowShare(ALL_GROUPS)


@dataclass(frozen=True)
class CutLimits:
    """Which windows of a step can be split across tasks; every cut is made here, so that no other exists."""

    panes: Panes
    span: Span
    filled: PaneRange
    """Where the rows are."""
    looks_back: int = 0
    """How many windows before its own a task must look at."""
    whole: bool = False
    """Whether a task must see all panes, whichever windows it answers."""
    late: bool = False
    """Whether there are late records to judge."""
    visits: int = 1
    """How often a row is looked at."""

    @property
    def windows(self) -> range:
        """The windows of the step that may have rows, or have something to say of those before."""
        oldest, newest = np.array([self.filled.first]), np.array([self.filled.end - 1])
        first = max(int(self.panes.first_window(oldest)[0]), self.span.first)
        end = min(int(self.panes.last_window(newest)[0]) + self.looks_back + 1, self.span.end)
        return range(first, max(first, end))

    def cut(self, set_size: int, origin: int, degree: int) -> WindowCut | None:
        """Sets of ``set_size`` windows from ``origin`` on, to so many tasks in turn; ``None`` if one task does all."""
        tasks = min(degree, len(self.windows))
        if tasks < 2:
            return None
        return WindowCut(
            panes=self.panes,
            span=self.span,
            filled=Run(self.windows.start, self.windows.stop),
            set_size=set_size,
            origin=origin,
            degree=tasks,
            looks_back=self.looks_back,
            whole=self.whole,
            judged_before=self.span.joined_before + (self.panes.panes_per_window if self.late else 0),
        )


def check_cover(shares: Sequence[WindowShare]) -> None:
    """Fail if any key group or window has no task, or two: rows would be lost or answered twice."""
    tasks: dict[GroupRange, list[WindowShare]] = {}
    for share in shares:
        tasks.setdefault(share.groups, []).append(share)
    groups = sorted(tasks)
    borders = [0, *(each.end for each in groups)]
    fits = borders[-1] == KEY_GROUPS and all(each.first == end for each, end in zip(groups, borders, strict=False))
    for own in tasks.values():
        cut = own[0].cut
        expected = [0] if cut is None else [*cut.tasks]
        fits = fits and sorted(share.task for share in own) == expected and all(share.cut == cut for share in own)
    if not fits or any(a >= b for a, b in pairwise(borders)):
        raise AssertionError(f"The window stage is not shared out completely, or some of it twice: {shares}")


def _panes(table: pa.Table) -> Int64Array:
    numbers: Int64Array = table.column(PANE).to_numpy()
    return numbers
