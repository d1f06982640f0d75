"""Progress: how far the stream has come; what the punctuator knows, committed with every step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from skypane.lateness.partitions import Partitions, PartitionSeen, SourcePartitions
from skypane.lateness.policy import Lateness, Observation, PolicyState, slack_of
from skypane.model.panes import Panes


@dataclass(frozen=True)
class Seen:
    """What a step has shown of the stream's progress."""

    t_max_us: int | None
    """The newest trusted time, this step included."""
    observation: Observation
    recent_us: tuple[int, ...] = ()
    """The newest trusted times, this step included."""
    partitions: Mapping[str, PartitionSeen] = field(default_factory=dict)
    now_us: int = 0
    """When the source cut the batch."""


@dataclass(frozen=True)
class Progress:
    """The newest trusted time, the front, the watermark, and what policy, guard and partitions remember."""

    t_max_us: int | None = None
    advanced_us: int = 0
    """The clock when the newest trusted time came."""
    recent_us: tuple[int, ...] = ()
    """The newest trusted times, newest first."""
    front_us: int | None = None
    """The time that the watermark stays behind; the newest trusted time, unless partitions are waited for."""
    punctuation_us: int | None = None
    policy_state: PolicyState = field(default_factory=dict)
    partitions: Partitions = field(default_factory=dict)

    @classmethod
    def start(cls, policy: Lateness) -> Progress:
        """The progress before the first record."""
        return cls(policy_state=dict(policy.initial()))

    def for_workers(self) -> Progress:
        """Without what only the driver needs."""
        return replace(self, policy_state={}, partitions={}, recent_us=())

    def punctuate(self, until_us: int) -> Progress:
        """Advance the watermark; it never goes back."""
        before = self.punctuation_us
        return replace(self, punctuation_us=until_us if before is None else max(before, until_us))

    def finish(self, panes: Panes) -> Progress:
        """Punctuate past the last window that any record so far is in."""
        return self if self.t_max_us is None else self.punctuate(panes.finished_us(self.t_max_us))

    def close(self, panes: Panes, until_us: int) -> Progress:
        """Punctuate past the windows of records so far that have ended by ``until_us``."""
        finished = self.finish(panes).punctuation_us
        if finished is None:
            return self
        ended = int(panes.window_end_us(np.array([panes.closed_before(until_us) - 1]))[0])
        return self.punctuate(min(finished, ended))

    def stream_us(self, now_us: int) -> int | None:
        """How far a stream that pauses has come by the clock: it goes on as it was when the newest time came."""
        return None if self.t_max_us is None else self.t_max_us + max(0, now_us - self.advanced_us)

    def move(self, sources: SourcePartitions | None, seen: Seen) -> Progress:
        """Believe that the stream has come so far."""
        t_max, partitions = seen.t_max_us, self.partitions
        if sources is not None:
            partitions = sources.advance(partitions, seen.partitions, seen.now_us)
        front = t_max
        if t_max is not None and sources is not None:
            # It never goes back: a partition that comes late finds the others where they are.
            front = max(t for t in (self.front_us, sources.front_us(partitions, t_max)) if t is not None)
        return replace(
            self,
            t_max_us=t_max,
            advanced_us=self.advanced_us if t_max == self.t_max_us else seen.now_us,
            recent_us=seen.recent_us,
            front_us=front,
            partitions=partitions,
        )

    def advance(self, policy: Lateness, sources: SourcePartitions | None, seen: Seen) -> Progress:
        """After one more step: move the front, learn, move the watermark."""
        moved = self.move(sources, seen)
        state = policy.observe(self.policy_state, replace(seen.observation, front_us=moved.front_us))
        moved = replace(moved, policy_state=state)
        return moved if moved.front_us is None else moved.punctuate(moved.front_us - slack_of(policy, state))
