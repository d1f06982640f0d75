"""LaunchOptions: everything about a run that is not part of the query itself."""

from __future__ import annotations

import os
from dataclasses import dataclass

from skypane.lateness.punctuator import Punctuator
from skypane.model.ending import Ending
from skypane.spark.sinks.base import Sink
from skypane.tuning.parallel_plan import ParallelPlan


@dataclass(frozen=True)
class LaunchOptions:
    """Everything about a run that is not part of the query itself."""

    checkpoint: str | os.PathLike[str] | None
    sink: Sink
    late: Sink | None
    quarantine: Sink | None
    failed: Sink | None
    """Where windows go on which a function of the user's fails; ``None``: it ends the query."""
    duplicates: Sink | None
    """Where duplicates go; ``None``: they are counted."""
    trigger: str | None
    """A processing-time interval; ``None`` processes what is available now and ends."""
    ending: Ending | None
    """What becomes of open windows when what is available now is through; ``None``: they stay open."""
    idle_timeout_us: int | None
    punctuator: Punctuator
    parallel: ParallelPlan
    slots: int
    """How many tasks Spark runs at a time."""
    name: str | None
    accept_changed_code: bool = False
    """Whether to continue from a checkpoint with functions whose code has changed."""
