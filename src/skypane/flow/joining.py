"""Joining: finds the bounds of rows by their dominators, in this process or in several tasks that own some rows each.

The bounds of a row do not depend on those of others. So tasks split the rows that *ask*, and every task looks at all
rows: its own bounds are then whole, and together they are those of one task, to the last bit. Dealing out the rows that
are looked at instead, and taking the largest and smallest of what tasks find, was measured: a tree with half the rows
is hardly faster to look into (docs/decisions/0011-one-hot-key.md).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

import numpy as np

from skypane.kernels.sliding import STILL_ALIVE, Shape, slide_keys, slide_one
from skypane.model.groups import BoolArray, Float64Array, Groups, Int64Array


class JoinRows(NamedTuple):
    """Rows by key and pane, or time; ``critical`` and ``died`` are brought up to date in place."""

    values: Float64Array
    panes: Int64Array
    fresh: BoolArray
    offsets: Int64Array
    """Where keys begin and end."""
    critical: Int64Array
    died: Int64Array

    def some(self, rows: Int64Array) -> JoinRows:
        """A copy of some rows, in order."""
        offsets = np.searchsorted(rows, self.offsets)
        critical, died = self.critical[rows], self.died[rows]
        return JoinRows(
            values=self.values[rows],
            panes=self.panes[rows],
            fresh=self.fresh[rows],
            offsets=offsets,
            critical=critical,
            died=died,
        )

    def set_bounds(self, rows: Int64Array, critical: Int64Array, died: Int64Array) -> None:
        """Note the bounds of some rows."""
        self.critical[rows], self.died[rows] = critical, died


class Bounds(NamedTuple):
    """What a task found of the rows that it owns, in their order."""

    critical: Int64Array
    died: Int64Array


class JoinSplit(Protocol):
    """Chooses the keys with enough rows for several tasks, and the task that owns each of their rows."""

    def pays(self, rows: Int64Array) -> BoolArray:
        """Whether each key has rows enough, by their number."""
        ...

    def owners(self, fresh: BoolArray, tasks: int) -> Int64Array:
        """The task that owns each row; any will do."""
        ...


class Joining(ABC):
    """Runs the dominance join of a skyline. Every implementation finds the same bounds."""

    @abstractmethod
    def join(self, rows: JoinRows, shape: Shape) -> None:
        """Compare fresh rows with all others of their key; windows have this shape."""


@dataclass(frozen=True)
class LocalJoin(Joining):
    """Joins in this process."""

    threads: int = 1

    def join(self, rows: JoinRows, shape: Shape) -> None:
        """Join key by key; large keys use all threads."""
        slide_keys(*rows, shape, self.threads)


LOCAL_JOIN: Final = LocalJoin()


@dataclass(frozen=True)
class JoinWork:
    """The join of some keys, split across tasks."""

    rows: JoinRows
    shape: Shape
    owners: Int64Array

    def bounds_of(self, task: int) -> Bounds:
        """Compute the bounds of the rows that one task owns."""
        own = self.owners == task
        values, panes, fresh, offsets, *bounds = self.rows
        critical, died = (bound.copy() for bound in bounds)  # as they were: a row that just died still dominates others
        for key in range(len(offsets) - 1):
            at = slice(int(offsets[key]), int(offsets[key + 1]))
            slide_one(values[at], panes[at], fresh[at], critical[at], died[at], self.shape, own=own[at])
        return Bounds(critical[own], died[own])


@dataclass(frozen=True)
class DistributedJoin(Joining):
    """Keys with many rows by several tasks, the others in this process."""

    tasks: int
    sharing: JoinSplit
    run: Callable[[JoinWork, int], Iterable[Bounds]]
    """Runs so many tasks; returns the bounds that each found, in the order of the tasks."""
    threads: int = 1

    def join(self, rows: JoinRows, shape: Shape) -> None:
        """Join keys with many rows in tasks, the others here; dead rows need no new bounds and are not sent."""
        groups = Groups(rows.offsets)
        key = groups.row_ids()
        news = np.bincount(key[rows.fresh], minlength=len(groups))
        shared = (self.sharing.pays(groups.sizes) & (news > 0))[key]
        takes_part = rows.fresh | (rows.died == STILL_ALIVE)
        here, there = np.flatnonzero(takes_part & ~shared), np.flatnonzero(takes_part & shared)
        if len(here):
            few = rows.some(here)
            LocalJoin(self.threads).join(few, shape)
            rows.set_bounds(here, few.critical, few.died)
        if len(there):
            many = rows.some(there)
            owners = self.sharing.owners(many.fresh, self.tasks)
            for task, found in enumerate(self.run(JoinWork(many, shape, owners), self.tasks)):
                rows.set_bounds(there[owners == task], *found)
