"""Density: how many records become one partial, hence whether the engine should make partials before it sends them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MIN_RECORDS: Final = 300_000
"""Of fewer records a batch takes as long as starting its tasks does, and pre-aggregation takes more of these."""
MIN_RECORDS_PER_ROW: Final = 16
"""Rows that are hardly fewer than the records are sent twice: to the task that aggregates, and from there."""
_ROWS_PER_TASK: Final = 100_000


@dataclass(frozen=True)
class Density:
    """How many records the last batch had, and how many partials were made of them."""

    records: int = 0
    partials: int = 0

    def tasks(self, readers: int) -> int | None:
        """How many tasks should aggregate a batch like this, where so many read it; ``None`` if that does not pay."""
        pays = self.records >= max(MIN_RECORDS, MIN_RECORDS_PER_ROW * self.partials)
        return min(readers, 1 + self.partials // _ROWS_PER_TASK) if pays else None
