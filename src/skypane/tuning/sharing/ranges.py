"""Ranges: distributes key groups over window tasks so that each has about the same number of rows."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from skypane.flow.plan import WINDOW_SCHEDULINGS, WindowScheduling
from skypane.flow.shares import GroupRange
from skypane.model.columns import KEY_GROUPS
from skypane.model.errors import OptionError

PIECES_PER_WORKER = 4
"""With feedback: enough pieces that a free worker finds another, few enough that they are worth a task."""


def balanced_ranges(rows_by_group: Mapping[int, int], degree: int) -> list[GroupRange]:
    """At most ``degree`` ranges that cover all key groups, each with some rows (one range if there are none)."""
    weights = np.zeros(KEY_GROUPS, dtype=np.int64)
    for group, rows in rows_by_group.items():
        weights[group] = rows
    tasks = max(1, min(degree, int((weights > 0).sum())))
    total = np.cumsum(weights)
    # Border i is the group where the running total passes the i-th share; equal borders (one heavy group) fall away.
    shares = total[-1] * np.arange(1, tasks) / tasks
    borders = sorted({0, KEY_GROUPS, *(int(b) + 1 for b in np.searchsorted(total, shares))} - {KEY_GROUPS + 1})
    return [GroupRange(a, b) for a, b in pairwise(borders)]


def equal_ranges(degree: int) -> list[GroupRange]:
    """``degree`` ranges of about as many key groups each, whatever the rows: decided in advance."""
    borders = [index * KEY_GROUPS // min(degree, KEY_GROUPS) for index in range(min(degree, KEY_GROUPS) + 1)]
    return [GroupRange(a, b) for a, b in pairwise(borders)]


def task_ranges(rows_by_group: Mapping[int, int], degree: int, scheduling: WindowScheduling) -> list[GroupRange]:
    """The window stage's tasks: what each takes of the key groups."""
    if scheduling == "round_robin":
        return equal_ranges(degree)
    return balanced_ranges(rows_by_group, max_tasks(degree, scheduling))


def max_tasks(degree: int, scheduling: WindowScheduling) -> int:
    """How many tasks there are at most."""
    return degree * (PIECES_PER_WORKER if scheduling == "feedback" else 1)


def window_scheduling(name: str) -> WindowScheduling:
    """By name; a name that is none is refused with those that are."""
    for known in WINDOW_SCHEDULINGS:
        if name == known:
            return known
    raise OptionError(
        f"window_scheduling={name!r} is unknown; it must be one of {', '.join(WINDOW_SCHEDULINGS)}. "
        "(Merge tasks are for engines in which partials wait: skypane simulate, of skypane-lab.)"
    )
