"""VirtualCount: a query that updates its windows as records come, like the counts of papers 3 and 5."""

from __future__ import annotations

from dataclasses import dataclass

from skypane_lab.trees.prices import Taken, VirtualQuery


@dataclass(frozen=True)
class VirtualCount(VirtualQuery):
    """Each record updates each of its windows; a result is one row."""

    update_us: float
    answer_us: float = 0.0

    def rows(self, records: float) -> float:
        """One."""
        del records
        return 1.0

    def take_us(self, taken: Taken, rows: float, windows: int) -> float:
        """An update for each row and window."""
        del taken
        return self.update_us * rows * windows

    def part_us(self, records: float) -> float:
        """It is there."""
        del records
        return self.answer_us

    def window_us(self, records: float, rows: float) -> float:
        """It is there."""
        del records, rows
        return self.answer_us
