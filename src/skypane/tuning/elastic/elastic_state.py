"""ElasticState: what elastic degrees remember from step to step; StepLoad: what they learn from one."""

from __future__ import annotations

from dataclasses import dataclass

from skypane.tuning.elastic.loops import Decided, InnerSample, LoopState


@dataclass(frozen=True)
class StepLoad:
    """What a step with a batch had to do, and what it had to do it with."""

    cut_us: int
    """When the source cut the batch."""
    t_max_us: int | None
    """How far the records' own times have come."""
    pane_work_us: int
    """How long the tasks worked, together."""
    window_work_us: int
    window_in_driver: bool
    took_us: int
    """How long both stages took, one after the other."""
    waited_us: int
    """Of that time: what even the longest task did not need."""
    panes: int
    """Panes that the batch had records of."""
    shards: int
    """Of those panes, together."""
    ready: int | None = None
    """Slots that are there and warm; ``None`` with dynamic allocation, which adds slots once tasks wait."""
    backlog_us: float | None = None
    """How long what waits at the source would take at the present speed; ``None`` if the source does not tell."""
    elsewhere_us: int = 0
    """How long the step before was busy outside its stages."""
    first: bool = False
    """Whether the run began after the last batch was cut: no task worked while the query was down, so the clock says
    nothing."""


@dataclass(frozen=True)
class ElasticState:
    """Committed with every step: the degrees that were decided, and what the next decision is made from."""

    loop: LoopState
    cut_us: int
    t_max_us: int | None
    ready: int | None = None
    backlog_us: float | None = None
    sample: InnerSample | None = None
    """Of the last step; ``None`` if it says nothing."""
    decided: Decided | None = None
    """The last decision, and what it was made from."""
    decisions: int = 0
    limit: str | None = None
    """Said while there is more to do than the most tasks can do."""
