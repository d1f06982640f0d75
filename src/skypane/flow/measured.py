"""Measured: the stages of a step as those see them who plan later ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skypane.flow.reports import PaneReport, WindowReport
from skypane.patterns.costs import Load, Measured


def measured(panes: PaneReport[Any], windows: WindowReport[Any, Any]) -> Measured:
    """What both had to do, and what it took."""
    busy, groups = [load.busy_us for load in panes.tasks], panes.rows_by_group.values()
    load = Load(
        panes.delivered,
        windows.rows_owned,
        windows.windows,
        max(1, windows.visits),  # a step that closes no window says nothing of those that do
        max(groups, default=1) / max(1, sum(groups)),
        max(busy, default=1) / max(1, sum(busy)),
    )
    return Measured(
        load, busy, panes.took_us, windows.busy_us, windows.took_us, windows.rows_read, in_driver=windows.in_driver
    )


def not_busy_us(took_us: int, busy_us: Sequence[int], slots: int) -> int:
    """Of the time of a stage: what starting tasks and bringing their reports back took."""
    return max(0, took_us - max(max(busy_us, default=0), sum(busy_us) // slots))
