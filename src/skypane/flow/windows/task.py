"""The window task: all that happens to some key groups in the window stage of a step, from tables to tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.flow.late.judge import count_harmful
from skypane.flow.late.past import PaneRange, Past, neighbours
from skypane.flow.panes.admission import describe_late
from skypane.flow.windows.in_order import release
from skypane.flow.windows.worker import Advance, WindowWorker
from skypane.lateness.policy import Judgement
from skypane.lateness.progress import Progress
from skypane.model.columns import PANE


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


@dataclass(frozen=True)
class WindowOutputs:
    """What a task leaves."""

    advance: Advance
    buffer: pa.Table | None
    late: Sequence[pa.Table]
    """The late records as their sink gets them."""
    judged: Judgement


def run_window_task(
    definition: Definition, before: Progress, after_us: int | None, inputs: WindowInputs, threads: int = 1
) -> WindowOutputs:
    """One step of the window stage: the punctuation moves from that of ``before`` to ``after_us``."""
    fresh, buffer = inputs.fresh, inputs.buffer
    if definition.processing == "in_order":
        released = release(definition, buffer, fresh, after_us)
        fresh, buffer = [] if released.partials is None else [released.partials], released.buffer
    late = inputs.late if inputs.late is not None and inputs.late.num_rows else None
    past = _past(definition, before, fresh, late, inputs.past)
    waiting = buffer if late is not None and definition.query.selective else None
    advance = WindowWorker(definition, threads).advance(
        inputs.panes, fresh, before.punctuation_us, after_us, past, late, waiting
    )
    if late is None or advance.harmful is None:
        return WindowOutputs(advance, buffer, [], Judgement())
    judged = Judgement(late.num_rows, count_harmful(advance.harmful)) if definition.judges_late else Judgement()
    return WindowOutputs(advance, buffer, [describe_late(definition, before, late, advance.harmful)], judged)


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
    return look_up(neighbours(definition, numbers[overdue])) if overdue.any() else Past()
