"""Windows: which task answers which windows of one key, as paper 5 distributes them.

All three ways distribute sets of consecutive windows to tasks in turn. They differ in how many windows a set has:

* ``batch``: as many as give each task one set, so that neighbours share as few panes as possible;
* ``window``: one, so that every task answers every d-th window;
* ``pane``: as many as need no more panes of the set before than that one has of its own (the ring of the paper).

No task sends panes to a neighbour: a task reads those of its windows, also the ones that others read.
"""

from __future__ import annotations

from skypane.flow.plan import PARTITIONINGS, Partitioning
from skypane.flow.shares import CutLimits, WindowCut
from skypane.model.errors import OptionError
from skypane.model.panes import Panes


def cut_windows(limits: CutLimits, partitioning: Partitioning, degree: int) -> WindowCut | None:
    """Sets for so many tasks; ``None`` if there is nothing to split."""
    windows = limits.windows
    tasks = min(degree, len(windows))
    if tasks < 2:
        return None
    by_name = {"batch": -(-len(windows) // tasks), "window": 1, "pane": ring_windows(limits.panes)}
    return limits.cut(by_name[partitioning], windows.start if partitioning == "batch" else 0, tasks)


def ring_windows(panes: Panes) -> int:
    """The windows of a set in the ring: its own new panes are then at least those that the next set needs of it."""
    shared = panes.panes_per_window - panes.panes_per_slide
    return max(1, -(-shared // panes.panes_per_slide))


def partitioning(name: str) -> Partitioning:
    """By name; a name that is none is refused with those that are."""
    for known in PARTITIONINGS:
        if name == known:
            return known
    raise OptionError(f"partitioning={name!r} is unknown; it must be one of {', '.join(PARTITIONINGS)}.")
