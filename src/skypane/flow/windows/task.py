"""The window task: all that happens to some key groups in the window stage of a step, from tables to tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.flow.late.past import Past
from skypane.flow.reports import WindowReport
from skypane.flow.windows.in_order import release
from skypane.flow.windows.worker import WindowWorker
from skypane.lateness.progress import Progress
from skypane.model.columns import PANE
from skypane.model.panes import PaneRange
from skypane.tables.rows import present


@dataclass(frozen=True)
class WindowInputs:
    """What a task starts from; every table is of its key groups, sorted by key group."""

    panes: pa.Table | None
    """The state: rows of panes that windows to come need."""
    buffer: pa.Table | None
    """With ``processing="in_order"``: records whose pane is not sealed yet."""
    fresh: Sequence[pa.Table]
    """This step's partials, or records where they are processed in order."""
    late: pa.Table | None
    """This step's late records, where they are judged."""
    past: Callable[[PaneRange], Past]
    """Looks up sealed panes; called only if there are records that need them."""


def run_window_task(
    definition: Definition, before: Progress, after_us: int | None, inputs: WindowInputs, threads: int = 1
) -> WindowReport[pa.Table, pa.Table]:
    """One step of the window stage: the punctuation moves from that of ``before`` to ``after_us``."""
    fresh, buffer = inputs.fresh, inputs.buffer
    if definition.buffers:
        released = release(definition, buffer, fresh, after_us)
        fresh, buffer = present([released.partials]), released.buffer
    late = inputs.late if inputs.late is not None and inputs.late.num_rows else None
    past = _past(definition, before, fresh, late, inputs.past)
    waiting = buffer if late is not None and definition.query.selective else None
    report = WindowWorker(definition, threads).advance(inputs.panes, fresh, before, after_us, past, late, waiting)
    return replace(report, kept=replace(report.kept, buffer=present([buffer])))


def _past(
    definition: Definition,
    before: Progress,
    fresh: Sequence[pa.Table],
    late: pa.Table | None,
    look_up: Callable[[PaneRange], Past],
) -> Past:
    """The sealed panes that share a window with a record of this step that came after its pane was sealed."""
    if not definition.retention_us or before.punctuation_us is None:
        return Past()
    panes = [part.column(PANE).to_numpy() for part in (*fresh, late) if part is not None]
    numbers = np.concatenate(panes) if panes else np.zeros(0, dtype=np.int64)
    oldest = definition.history_from(before.punctuation_us)
    overdue = (numbers >= oldest) & (numbers < definition.window.sealed_before(before.punctuation_us))
    return look_up(definition.window.neighbours(numbers[overdue])) if overdue.any() else Past()
