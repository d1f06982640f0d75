"""Punctuator: how the punctuation is decided - how long to wait, whom to believe, for whom to wait."""

from __future__ import annotations

from dataclasses import dataclass

from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.partitions import SourcePartitions
from skypane.lateness.policy import Lateness
from skypane.lateness.progress import Progress, Seen


@dataclass(frozen=True)
class Punctuator:
    """All that moves the punctuation, beside the records themselves."""

    policy: Lateness
    guard: FutureGuard
    sources: SourcePartitions | None = None
    """Set where source partitions are told apart."""

    def start(self) -> Progress:
        """Before the first record."""
        return Progress.start(self.policy)

    def advance(self, before: Progress, seen: Seen) -> Progress:
        """After one more step."""
        return before.advance(self.policy, self.guard, self.sources, seen)
