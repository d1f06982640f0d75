"""Partitioning: the windows that a step closes for one key, dealt out to several tasks, as paper 5 does it.

All three ways deal out sets of consecutive windows, to tasks in turn. They differ in how many windows a set has:

* ``batch``: as many as give each task one set, so that neighbours share as few panes as possible;
* ``window``: one, so that every task answers every d-th window;
* ``pane``: as many as need no more panes of the set before than that one has of its own (the ring of the paper).

Nobody sends panes to a neighbour: a task reads those of its windows, also the ones that others read. Each pane has one
owner, who says what becomes of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, get_args

import numpy as np
import pyarrow as pa

from skypane.model.columns import PANE
from skypane.model.errors import OptionError
from skypane.model.groups import BoolArray, Int64Array
from skypane.model.panes import PaneRange, Panes, Span
from skypane.scheduling.ownership import JoinSharing
from skypane.scheduling.ranges import ALL_GROUPS, GroupRange, WindowScheduling, most_tasks, task_ranges
from skypane.tables.ranges import ranges

Partitioning = Literal["batch", "window", "pane"]
PARTITIONINGS: Final[tuple[Partitioning, ...]] = get_args(Partitioning)


class Run(NamedTuple):
    """The windows ``first .. end - 1``."""

    first: int
    end: int


@dataclass(frozen=True)
class WindowCut:
    """The windows of a step in sets, and the tasks that the sets are dealt out to."""

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
        """Who answers a window."""
        return int(self.sets_of(np.array([window]))[0]) % self.degree

    @property
    def tasks(self) -> tuple[int, ...]:
        """The tasks that have windows to answer."""
        first, last = self._first_and_last_set
        return tuple(sorted({number % self.degree for number in range(first, min(last + 1, first + self.degree))}))

    def owner_of(self, panes: Int64Array) -> Int64Array:
        """The task that says what becomes of each pane: the last that looks at it."""
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
class Cutting:
    """What is to be known about a step before its windows can be cut."""

    partitioning: Partitioning
    panes: Panes
    span: Span
    filled: PaneRange
    """Where the rows are."""
    looks_back: int = 0
    whole: bool = False
    late: bool = False
    """Whether there are late records to judge."""
    visits: int = 1
    """How often a row is looked at."""
    least_rows: int = 0
    """Below so many rows, each counted as often as it is looked at, a key group is left to one task."""

    def cut(self, degree: int) -> WindowCut | None:
        """For so many tasks; ``None`` if there is nothing to cut."""
        tasks = min(degree, len(self.windows))
        if tasks < 2:
            return None
        return WindowCut(
            self.panes,
            self.span,
            Run(self.windows.start, self.windows.stop),
            self._set_size(tasks),
            self.windows.start if self.partitioning == "batch" else 0,
            tasks,
            self.looks_back,
            self.whole,
            self.span.joined_before + (self.panes.panes_per_window if self.late else 0),
        )

    @property
    def windows(self) -> range:
        """The windows of the step that may have rows, or have something to say of those before."""
        oldest, newest = np.array([self.filled.first]), np.array([self.filled.end - 1])
        first = max(int(self.panes.first_window(oldest)[0]), self.span.first)
        end = min(int(self.panes.last_window(newest)[0]) + self.looks_back + 1, self.span.end)
        return range(first, max(first, end))

    def _set_size(self, tasks: int) -> int:
        by_name = {"batch": -(-len(self.windows) // tasks), "window": 1, "pane": ring_windows(self.panes)}
        return by_name[self.partitioning]


def ring_windows(panes: Panes) -> int:
    """The windows of a set in the ring: its own new panes are then at least those that the next set needs of it."""
    shared = panes.panes_per_window - panes.panes_per_slide
    return max(1, -(-shared // panes.panes_per_slide))


def window_shares(
    rows_by_group: Mapping[int, int],
    degree: int,
    scheduling: WindowScheduling,
    cutting: Cutting | None,
    joins: JoinSharing | None = None,
    ways: int | None = None,
) -> list[WindowShare]:
    """The tasks of the window stage: ranges of key groups; windows of those with far too many rows for one task.

    Where windows cannot be cut, others may be asked to do a share of the joins. ``degree`` is how many tasks there are,
    or with ``ways``, by how many each range is shared, how many ranges.
    """
    whole = task_ranges(rows_by_group, degree, scheduling)
    if (cutting is None and joins is None) or scheduling == "round_robin":
        return [WindowShare(groups) for groups in whole]
    most, total = most_tasks(degree, scheduling), sum(rows_by_group.values())
    shares: list[WindowShare] = []
    for groups in whole:
        rows = sum(count for group, count in rows_by_group.items() if groups.first <= group < groups.end)
        worth = ways or rows * most // max(1, total)
        if cutting is None:
            shares.append(WindowShare(groups, joiners=max(1, worth) if joins is not None and joins.pays(rows) else 1))
            continue
        cut = cutting.cut(worth) if rows * cutting.visits > cutting.least_rows else None
        shares += [WindowShare(groups)] if cut is None else [WindowShare(groups, cut, task) for task in cut.tasks]
    return shares


def partitioning(name: str) -> Partitioning:
    """By name; a name that is none is refused with those that are."""
    for known in PARTITIONINGS:
        if name == known:
            return known
    raise OptionError(f"partitioning={name!r} is unknown; it must be one of {', '.join(PARTITIONINGS)}.")


def _panes(table: pa.Table) -> Int64Array:
    numbers: Int64Array = table.column(PANE).to_numpy()
    return numbers
