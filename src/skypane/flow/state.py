"""State: what one step hands to the next. All that it starts from, beside the batch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from skypane.flow.latency import PaneClock
from skypane.flow.reports import S, StateRows
from skypane.lateness.policy import Judgement
from skypane.lateness.progress import Progress
from skypane.model.ledger import Ledger

T = TypeVar("T")
"""What a tuner remembers; no answer depends on it."""


@dataclass(frozen=True)
class Totals:
    """Since the query began; for metrics."""

    windows: int = 0
    """(Key, window) answers that were emitted."""
    failures: int = 0
    """Windows that were set aside because a user's function failed."""
    judged: Judgement = field(default_factory=Judgement)
    """Late records, as far as they were judged."""


@dataclass(frozen=True)
class StepState(Generic[S, T]):
    """Committed with every step. No field has a default: one that a stored state lacks must not be read as empty."""

    progress: Progress
    tuning: T
    rows: StateRows[S]
    ledger: Ledger
    """All records since the query began."""
    judged: Judgement
    """The late records of the last step that the policy learns from."""
    emitted_at: int
    """Where windows are counted in records: how many were accepted when open windows were last emitted."""
    totals: Totals
    clock: PaneClock
    """When records of the open panes came."""

    @classmethod
    def start(cls, progress: Progress, tuning: T) -> StepState[S, T]:
        """The state before the first record."""
        return cls(
            progress=progress,
            tuning=tuning,
            rows=StateRows(),
            ledger=Ledger(),
            judged=Judgement(),
            emitted_at=0,
            totals=Totals(),
            clock=PaneClock(),
        )
