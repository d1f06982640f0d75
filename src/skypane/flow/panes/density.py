"""Density: how many records become one partial, hence whether to add them up before they are sent to the tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LEAST_RECORDS: Final = 300_000
"""Of fewer records a batch takes as long as starting its tasks does, and adding up takes more of these."""
LEAST_RECORDS_PER_ROW: Final = 16
"""Rows that are hardly fewer than the records are sent twice: to whom adds up, and from there."""


@dataclass(frozen=True)
class Density:
    """How many records the last batch had, and how many partials were made of them; committed with its step."""

    records: int = 0
    partials: int = 0

    @property
    def pays(self) -> bool:
        """Whether records of a batch like this are better added up before they are sent."""
        return self.records >= max(LEAST_RECORDS, LEAST_RECORDS_PER_ROW * self.partials)
