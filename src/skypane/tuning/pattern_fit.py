"""Pattern fit: a query as pattern trees see it, and as it has to be for one of them."""

from __future__ import annotations

from dataclasses import replace

from skypane.flow.definition import Definition
from skypane.flow.plan import StagePlan
from skypane.flow.processing.choice import processing_kind
from skypane.flow.program import Program
from skypane.flow.windows.slide.choice import slide_apart
from skypane.model.errors import OptionError
from skypane.tuning.patterns.base import Pattern, Work
from skypane.tuning.patterns.extent import Extent
from skypane.tuning.planner.planner import Planner


def work_of(definition: Definition) -> Work:
    """What is to be done, as far as a pattern has to know."""
    query, window = definition.query, definition.window
    panes = window if window.rows is None else window.rows.ranks
    return Work(
        Extent(panes.panes_per_window * panes.pane_us, panes.panes_per_slide * panes.pane_us),
        decomposable=query.decomposable and not query.keeps_records,
        divisible=processing_kind(definition).divides_windows,
        counts="records" if window.counted else "us",
    )


def planner_of(definition: Definition, base: StagePlan, slots: int, *, embedded: bool) -> Planner:
    """The planner of a query whose options do not fix how tasks share the work."""
    cuts, beside = Program.of(definition).processing.cuts_windows, definition.query.in_threads
    return Planner(work_of(definition), base, slots, embedded=embedded, cuts=cuts, beside=beside)


def fitted(definition: Definition, tree: Pattern) -> Definition:
    """The query as the tree can run it, or an error that says why it cannot.

    The critical slide answers all windows of a key at once. Where tasks are to share them, others have to serve.
    """
    tree.check(work_of(definition))
    if not tree.stage_plan().shares_windows or Program.of(definition).processing.cuts_windows:
        return definition
    if definition.sliding != "auto":
        raise OptionError(
            f"sliding={definition.sliding!r} answers all windows of a key together, and {tree} shares them. "
            "Leave sliding= out, or use KeyFarm(n)."
        )
    return replace(definition, sliding=slide_apart(definition))
