"""Progress: how far the stream has come; what the punctuator knows, committed with every step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.partitions import PartitionProgress, Partitions, SourcePartitions
from skypane.lateness.policy import Lateness, Observation, PolicyState
from skypane.model.panes import Panes


@dataclass(frozen=True)
class Seen:
    """What a step has shown of the stream's progress."""

    t_max_us: int | None
    """The newest trusted time, this step included."""
    observation: Observation
    untrusted_us: Sequence[int] = ()
    """Times that the future guard did not trust."""
    newest_by_partition_us: Mapping[str, int] = field(default_factory=dict)
    now_us: int = 0
    """When the source cut the batch."""


@dataclass(frozen=True)
class Progress:
    """The newest trusted time, the front, the punctuation, and what policy, guard and partitions remember."""

    t_max_us: int | None = None
    front_us: int | None = None
    """The time that the punctuation stays behind; the newest trusted time, unless partitions are waited for."""
    punctuation_us: int | None = None
    policy_state: PolicyState = field(default_factory=dict)
    future_evidence_us: tuple[int, ...] = ()
    partitions: Partitions = field(default_factory=dict)

    @classmethod
    def start(cls, policy: Lateness) -> Progress:
        """Before the first record."""
        return cls(policy_state=dict(policy.initial()))

    def for_workers(self) -> Progress:
        """Without what only the driver needs."""
        return replace(self, policy_state={}, partitions={})

    def punctuate(self, until_us: int) -> Progress:
        """Advance the punctuation; it never goes back."""
        before = self.punctuation_us
        return replace(self, punctuation_us=until_us if before is None else max(before, until_us))

    def finish(self, panes: Panes) -> Progress:
        """Punctuate past the last window that any record so far is in."""
        return self if self.t_max_us is None else self.punctuate(panes.finished_us(self.t_max_us))

    def advance(self, policy: Lateness, guard: FutureGuard, sources: SourcePartitions | None, seen: Seen) -> Progress:
        """After one more step: learn, keep the evidence for a far future, move front and punctuation."""
        t_max = seen.t_max_us
        partitions = self.partitions
        if sources is not None:
            partitions = sources.advance(partitions, seen.newest_by_partition_us, seen.now_us)
        front = t_max
        if t_max is not None and sources is not None:
            # It never goes back: a partition that comes late finds the others where they are.
            front = max(t for t in (self.front_us, sources.front_us(partitions, t_max)) if t is not None)
        evidence = [t for t in (*self.future_evidence_us, *seen.untrusted_us) if t_max is None or t > t_max]
        state = policy.observe(self.policy_state, replace(seen.observation, front_us=front))
        moved = replace(
            self,
            t_max_us=t_max,
            front_us=front,
            policy_state=state,
            future_evidence_us=guard.newest(evidence)[: guard.support - 1],
            partitions=partitions,
        )
        return moved if front is None else moved.punctuate(front - policy.slack_us(state))

    def to_json(self) -> dict[str, object]:
        """A form that survives JSON."""
        return {
            "t_max_us": self.t_max_us,
            "front_us": self.front_us,
            "punctuation_us": self.punctuation_us,
            "policy_state": dict(self.policy_state),
            "future_evidence_us": list(self.future_evidence_us),
            "partitions": {name: list(partition) for name, partition in self.partitions.items()},
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Progress:
        """The inverse of :meth:`to_json`."""
        return cls(
            body["t_max_us"],
            body["front_us"],
            body["punctuation_us"],
            dict(body["policy_state"]),
            tuple(body["future_evidence_us"]),
            {name: PartitionProgress(*partition) for name, partition in body["partitions"].items()},
        )
