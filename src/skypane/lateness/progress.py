"""Progress: how far the stream has come; what the punctuator knows, committed with every step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.policy import Delays, Lateness
from skypane.model.windows import WindowSpec


@dataclass(frozen=True)
class Progress:
    """The newest trusted time, the punctuation, and what policy and guard remember."""

    t_max_us: int | None = None
    punctuation_us: int | None = None
    policy_state: Mapping[str, int] = field(default_factory=dict)
    future_evidence_us: tuple[int, ...] = ()

    @classmethod
    def start(cls, policy: Lateness) -> Progress:
        """Before the first record."""
        return cls(policy_state=dict(policy.initial()))

    def punctuate(self, until_us: int) -> Progress:
        """Advance the punctuation; it never goes back."""
        before = self.punctuation_us
        return replace(self, punctuation_us=until_us if before is None else max(before, until_us))

    def finish(self, window: WindowSpec) -> Progress:
        """Punctuate past the last window that any record so far is in."""
        if self.t_max_us is None:
            return self
        newest = window.last_window(window.pane_of(np.array([self.t_max_us])))
        return self.punctuate(int(window.window_end_us(newest)[0]))

    def advance(
        self,
        policy: Lateness,
        guard: FutureGuard,
        t_max_us: int | None,
        delays: Delays,
        untrusted_us: Sequence[int],
    ) -> Progress:
        """After one more step: learn, keep the evidence for a far future, move the punctuation."""
        state = dict(policy.observe(self.policy_state, delays))
        evidence = [t for t in (*self.future_evidence_us, *untrusted_us) if t_max_us is None or t > t_max_us]
        moved = replace(
            self,
            t_max_us=t_max_us,
            policy_state=state,
            future_evidence_us=guard.newest(evidence)[: guard.support - 1],
        )
        return moved if t_max_us is None else moved.punctuate(t_max_us - policy.slack_us(state))

    def to_json(self) -> dict[str, object]:
        """A form that survives JSON."""
        return {
            "t_max_us": self.t_max_us,
            "punctuation_us": self.punctuation_us,
            "policy_state": dict(self.policy_state),
            "future_evidence_us": list(self.future_evidence_us),
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Progress:
        """The inverse of :meth:`to_json`."""
        return cls(
            body["t_max_us"],
            body["punctuation_us"],
            dict(body["policy_state"]),
            tuple(body["future_evidence_us"]),
        )
