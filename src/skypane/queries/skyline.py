"""Skyline: the records that no other record of the window dominates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from skypane.model.column_names import ColumnNames
from skypane.queries.base import Row
from skypane.queries.dominance import DominanceQuery, dominates
from skypane.queries.preferences import Preferences


@dataclass(frozen=True)
class Skyline(DominanceQuery):
    """Keep a record unless another is as good in every attribute and better in one; equal records all stay."""

    kind = "skyline"
    answer_is_partial = True

    preferences: Preferences

    def resolved(self, names: ColumnNames) -> Skyline:
        """With the attributes as the records spell them."""
        return replace(self, preferences=self.preferences.resolved(names))

    def describe(self) -> Mapping[str, object]:
        """The attributes and their directions."""
        return {"type": self.kind, **self.preferences.describe()}

    def reference(self, rows: Sequence[Row]) -> list[Row]:
        """Compare everything with everything."""
        points = [self.preferences.oriented(row) for row in rows]
        return [row for row, p in zip(rows, points, strict=True) if not any(dominates(q, p) for q in points)]
