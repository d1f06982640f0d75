"""Harm: the least slack with which a given share of the records is late *and* would have changed an answer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from skypane.lateness.policies.controlled import ControlledSlack
from skypane.lateness.policy import Observation, PolicyState

_EVIDENCE = 2_000
"""Late records to remember: enough to tell a share of a few percent, few enough to follow a change."""


@dataclass(frozen=True)
class Harm(ControlledSlack):
    """``Harm(0.001)``: lose at most one record in a thousand that matters; records that do not matter may be late.

    A late record that is dominated by its window's skyline changes nothing. So for skyline, top-delta and top-k the
    same harm takes much less slack than ``DropRatio``. In aggregates every record
    matters.
    """

    name = "harm"
    needs_harm = True
    max_late: ClassVar[float] = 0.5

    def losses(self, seen: Observation) -> float:
        """Late records of the step before that would have changed an answer: this step's are not judged yet."""
        return seen.judged.harmful

    def loss_per_late(self, state: PolicyState) -> float:
        """The share of late records that were harmful lately; all of them until there is evidence."""
        return (float(state.get("harmful", 0.0)) + 1.0) / (float(state.get("late", 0.0)) + 1.0)

    def initial(self) -> PolicyState:
        """Nothing seen: every late record is taken for harmful."""
        return {**super().initial(), "late": 0.0, "harmful": 0.0}

    def observe(self, state: PolicyState, seen: Observation) -> PolicyState:
        """Learn also what share of the late records is harmful."""
        fade = math.exp(-seen.judged.late / _EVIDENCE)
        return {
            **super().observe(state, seen),
            "late": float(state.get("late", 0.0)) * fade + seen.judged.late,
            "harmful": float(state.get("harmful", 0.0)) * fade + seen.judged.harmful,
        }
