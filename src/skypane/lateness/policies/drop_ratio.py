"""DropRatio: the least slack with which a given share of the records is late (paper 1, section 6.2: AQ-K-slack)."""

from __future__ import annotations

from dataclasses import dataclass

from skypane.lateness.policies.controlled import ControlledSlack
from skypane.lateness.policy import Observation


@dataclass(frozen=True)
class DropRatio(ControlledSlack):
    """``DropRatio(0.01)``: wait just so long that one record in a hundred is late."""

    name = "drop ratio"

    def losses(self, seen: Observation) -> float:
        """Count every late record as a loss."""
        return seen.late
