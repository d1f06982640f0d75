"""Skyline: the records that no other record of the window dominates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from skypane import kernels
from skypane.model.groups import Groups, Int64Array
from skypane.queries.base import Invalid, Row, Selection
from skypane.queries.preferences import Preferences


@dataclass(frozen=True)
class Skyline(Selection):
    """Keep a record unless another is as good in every attribute and better in one; equal records all stay."""

    kind = "skyline"

    preferences: Preferences

    def describe(self) -> Mapping[str, object]:
        """The attributes and their directions."""
        return {"type": self.kind, **self.preferences.describe()}

    def check(self, schema: pa.Schema) -> None:
        """All attributes are numeric columns."""
        self.preferences.check(schema)

    def invalid(self, rows: pa.Table) -> Sequence[Invalid]:
        """Null and NaN attributes."""
        return self.preferences.invalid(rows)

    def inputs(self) -> Sequence[str]:
        """The attributes."""
        return self.preferences.attributes

    def select(self, rows: pa.Table, groups: Groups) -> Int64Array:
        """The skyline of each group."""
        return kernels.skyline_groups(self.preferences.matrix(rows), groups.offsets)

    def reference(self, rows: Sequence[Row]) -> list[Row]:
        """Compare everything with everything."""
        points = [self.preferences.oriented(row) for row in rows]
        return [row for row, p in zip(rows, points, strict=True) if not any(dominates(q, p) for q in points)]


def dominates(q: Sequence[float], p: Sequence[float]) -> bool:
    """Whether ``q`` is no worse than ``p`` everywhere and better somewhere (smaller is better)."""
    return all(a <= b for a, b in zip(q, p, strict=True)) and any(a < b for a, b in zip(q, p, strict=True))
