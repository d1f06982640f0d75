"""Certain range: the times whose records are accepted whatever else a batch brings, known before it is read.

What happens to each record, one by one, the pane worker decides. But for nearly all records it is known in advance:
their pane is open, and their time is no further ahead than one record alone may be.
"""

from __future__ import annotations

from typing import NamedTuple

from skypane.flow.definition import Definition
from skypane.flow.panes.admission import Frontier
from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.suspects import USUAL
from skypane.model.windows import FARTHEST_US


class CertainRange(NamedTuple):
    """Records from the one time to the other, both included, are accepted whatever else there is."""

    oldest_us: int
    newest_us: int


def certain_range(definition: Definition, frontier: Frontier) -> CertainRange | None:
    """``None`` if nothing is certain of any time."""
    t_max, max_future = frontier.progress.t_max_us, frontier.guard.max_future_us
    if t_max is None or spacing_guess_unsafe(definition, frontier.guard):
        return None
    # Whatever is within max_future of a trusted time can be reached from it in one step.
    bounds = [FARTHEST_US if max_future is None else t_max + max_future, frontier.limit_us, FARTHEST_US]
    late_before = frontier.late_before(definition)
    open_from = None if late_before is None else late_before * definition.window.pane_us
    oldest = max(bound for bound in (open_from, frontier.oldest_us, -FARTHEST_US) if bound is not None)
    newest = min(bound for bound in bounds if bound is not None)
    return CertainRange(oldest, newest) if oldest <= newest else None


def spacing_guess_unsafe(definition: Definition, guard: FutureGuard) -> bool:
    """Whether a guess of how far apart the records of a pane are could make a step to a suspect look usual."""
    return guard.max_future_us is not None and USUAL * definition.window.pane_us > guard.max_future_us
