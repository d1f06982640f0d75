"""Measurement: what one step had to do, and what it took. All that a tuner learns from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from skypane.flow.definition import Definition
from skypane.flow.plan import EngineFacts
from skypane.flow.reports import PaneReport, TaskLoad, WindowReport
from skypane.lateness.progress import Progress


@dataclass(frozen=True)
class StepMeasurement:
    """A step with a batch, as its stages reported it."""

    cut_us: int
    """When the source cut the batch."""
    t_max_us: int | None
    """How far the records' own times have come."""
    first_open_pane: int | None
    """Panes before it are sealed."""
    delivered: int = 0
    pre_aggregated: int = 0
    """Of these, records of which the engine itself made partials; tasks report nothing of that work."""
    records_by_pane: Mapping[int, int] = field(default_factory=dict)
    rows_by_group: Mapping[int, int] = field(default_factory=dict)
    """Partial rows by key group."""
    tasks: tuple[TaskLoad, ...] = ()
    """Of the pane stage."""
    pane_us: int = 0
    windows: int = 0
    """(Key, window) answers."""
    rows_read: int = 0
    rows_owned: int = 0
    visits: int = 1
    window_busy_us: tuple[int, ...] = ()
    """By task of the window stage."""
    window_us: int = 0
    in_driver: bool = True
    engine: EngineFacts = field(default_factory=EngineFacts)


def measure(
    definition: Definition,
    after: Progress,
    panes: PaneReport[Any],
    windows: WindowReport[Any, Any],
    cut_us: int,
    engine: EngineFacts,
) -> StepMeasurement:
    """From the reports of both stages."""
    return StepMeasurement(
        cut_us=cut_us,
        t_max_us=after.t_max_us,
        first_open_pane=first_open_pane(definition, after),
        delivered=panes.delivered,
        pre_aggregated=panes.condensed,
        records_by_pane=panes.records_by_pane,
        rows_by_group=panes.rows_by_group,
        tasks=panes.tasks,
        pane_us=panes.took_us,
        windows=windows.windows,
        rows_read=windows.rows_read,
        rows_owned=windows.rows_owned,
        visits=windows.visits,
        window_busy_us=windows.busy_us,
        window_us=windows.took_us,
        in_driver=windows.in_driver,
        engine=engine,
    )


def first_open_pane(definition: Definition, progress: Progress) -> int | None:
    """Panes before it are sealed; ``None`` if none is."""
    after_us = progress.punctuation_us
    return None if after_us is None else definition.window.sealed_before(after_us)
