"""Firing: the windows of a step that a task answers - all of them, or some runs where others answer the rest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.flow.windows.slide.base import Fired, Slide
from skypane.model.columns import PANE
from skypane.model.groups import BoolArray, Groups
from skypane.model.panes import Span
from skypane.queries.base import Grouped
from skypane.scheduling.partitioning import Run, WindowCut, WindowShare


class Shot(NamedTuple):
    """What was fired, and the rows that later windows need (``None`` for none)."""

    fired: list[Fired]
    kept: pa.Table | None


def fire(definition: Definition, slide: Slide, panes: Grouped, span: Span, share: WindowShare) -> Shot:
    """Answer the task's windows of the span."""
    if share.cut is None:
        fired, kept = definition.emit.fire(definition, slide, panes, span)
        return Shot(list(fired), kept)
    shots = [
        _fire_run(definition, slide, _of_run(panes, share.cut, run), span, run)
        for run in share.cut.runs_of(share.task, panes.table.column(PANE).to_numpy())
    ]
    # Only the run with the newest window knows what is needed after the step; its task owns all of that.
    last = next((shot.kept for shot, end in shots if end == span.end), None)
    kept = None if last is None else share.owned(last)
    return Shot([one for shot, _ in shots for one in shot.fired], kept if kept is not None and kept.num_rows else None)


def _fire_run(definition: Definition, slide: Slide, panes: Grouped, span: Span, run: Run) -> tuple[Shot, int]:
    if not panes.table.num_rows:
        return Shot([], None), run.end
    fired, kept = definition.emit.fire(definition, slide, panes, span._replace(first=run.first, end=run.end))
    return Shot(list(fired), kept), run.end


def _of_run(panes: Grouped, cut: WindowCut, run: Run) -> Grouped:
    """The panes that the run looks at; with the newest window, also those that only later ones will."""
    if cut.whole:
        return panes
    leads = panes.groups.offsets[:-1]
    pane = panes.table.column(PANE).to_numpy()[leads]
    return _some(panes, cut.of_run(run, pane))


def _some(panes: Grouped, wanted: BoolArray) -> Grouped:
    if wanted.all():
        return panes
    sizes = panes.groups.sizes
    table = panes.table.filter(pa.array(np.repeat(wanted, sizes)))
    return Grouped(table, Groups.from_sizes(sizes[wanted]))
