"""The ledger: every delivered record is accepted, late, quarantined, a duplicate or still held, exactly once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Ledger:
    """Counts of records by fate; ``quarantined`` is split by reason."""

    accepted: int = 0
    late: int = 0
    quarantined_by_reason: Mapping[str, int] = field(default_factory=dict)
    held: int = 0
    """Records with a time in doubt, of which later ones will tell; less than zero in a step that released some."""
    duplicate: int = 0
    """Records whose id was accepted before, where a query has ``distinct_by``."""

    @property
    def quarantined(self) -> int:
        """Records that no query could use: a null time, a NaN attribute, a time in the far future."""
        return sum(self.quarantined_by_reason.values())

    @property
    def delivered(self) -> int:
        """What the source handed over: the sum of all fates."""
        return self.accepted + self.late + self.quarantined + self.duplicate + self.held

    def __add__(self, other: Ledger) -> Ledger:
        reasons = dict(self.quarantined_by_reason)
        for reason, count in other.quarantined_by_reason.items():
            reasons[reason] = reasons.get(reason, 0) + count
        return Ledger(
            self.accepted + other.accepted,
            self.late + other.late,
            reasons,
            self.held + other.held,
            self.duplicate + other.duplicate,
        )

    def to_json(self) -> dict[str, object]:
        """A form that survives JSON."""
        return {
            "accepted": self.accepted,
            "late": self.late,
            "quarantined": dict(sorted(self.quarantined_by_reason.items())),
            "duplicate": self.duplicate,
            "held": self.held,
        }
