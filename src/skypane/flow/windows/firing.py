"""Firing: the windows of a step that a task answers - all of them, or some runs where others answer the rest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.flow.shares import Run, WindowCut, WindowShare
from skypane.flow.windows.lowering import Failed
from skypane.flow.windows.slide.base import Answers, Firing, Slide
from skypane.model.columns import PANE
from skypane.model.groups import BoolArray, Groups
from skypane.queries.base import Grouped


def fire(definition: Definition, slide: Slide, firing: Firing, share: WindowShare) -> Answers:
    """Answer the task's windows of the span."""
    answers = _fire(definition, slide, firing, share)
    if answers.failed is None:
        return answers
    # Emissions that look back answer windows before the span, only to compare with them.
    windows, span = answers.failed.window_ids, firing.span
    own = (windows >= span.first) & (windows < span.end) & share.answers(windows)
    return answers._replace(failed=answers.failed.where(own))


def _fire(definition: Definition, slide: Slide, firing: Firing, share: WindowShare) -> Answers:
    if share.cut is None:
        return definition.emit.fire(definition, slide, firing)
    runs = share.cut.runs_of(share.task, firing.panes.table.column(PANE).to_numpy())
    parts = [_fire_run(definition, slide, firing, share.cut, run) for run in runs]
    # Only the run with the newest window knows what is needed after the step; its task owns all of that.
    last = next((part.state for part, run in zip(parts, runs, strict=True) if run.end == firing.span.end), None)
    state = None if last is None else share.owned(last)
    return Answers(
        fired=[one for part in parts for one in part.fired],
        state=state if state is not None and state.num_rows else None,
        failed=Failed.together([part.failed for part in parts if part.failed is not None]),
    )


def _fire_run(definition: Definition, slide: Slide, firing: Firing, cut: WindowCut, run: Run) -> Answers:
    panes = _of_run(firing.panes, cut, run)
    if not panes.table.num_rows:
        return Answers([], None)
    span = firing.span._replace(first=run.first, end=run.end)
    return definition.emit.fire(definition, slide, replace(firing, panes=panes, span=span))


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
