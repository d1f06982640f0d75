"""Punctuator: how the watermark is decided - how long to wait, whom to believe, for whom to wait."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.partitions import SourcePartitions
from skypane.lateness.past_guard import PastGuard
from skypane.lateness.policy import Lateness, slack_of
from skypane.lateness.progress import Progress, Seen
from skypane.model.ending import Ending
from skypane.model.panes import Panes


@dataclass(frozen=True)
class Punctuator:
    """All that moves the watermark, beside the records themselves."""

    policy: Lateness
    guard: FutureGuard
    sources: SourcePartitions | None = None
    """Set if source partitions are tracked."""
    past: PastGuard = field(default_factory=PastGuard)

    def for_panes(self, panes: Panes) -> Punctuator:
        """With everything that the windows decide about waiting filled in."""
        policy, sources = self.policy.for_window(panes), self.sources
        if sources is not None:
            sources = replace(sources, support=self.guard.support, reach_us=policy.max_slack_us(panes))
        return replace(self, policy=policy, sources=sources)

    def start(self) -> Progress:
        """The progress before the first record."""
        return Progress.start(self.policy)

    def advance(self, before: Progress, seen: Seen) -> Progress:
        """Advance the progress by one step."""
        return before.advance(self.policy, self.sources, seen)

    def end(self, panes: Panes, before: Progress, ending: Ending, now_us: int, held_us: int | None = None) -> Progress:
        """Close what is open, because nothing more comes for now: all windows at the end of the stream, else those
        that have ended by the clock, less the slack; of a pause, by the time that has passed since the last record.

        Windows of records that stay held, the oldest of ``held_us``, stay open: they may be accepted yet."""
        if ending == "all":
            return before.finish(panes)
        reached = now_us if ending == "auto" else before.stream_us(now_us)
        slack = slack_of(self.policy, before.policy_state)
        if reached is None:
            return before
        return before.close(panes, reached - slack if held_us is None else min(reached - slack, held_us))
