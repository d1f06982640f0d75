"""DominanceQuery: what skyline and top-delta have in common - a partial is the skyline of its rows."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from skypane import kernels
from skypane.model.groups import Float64Array, Groups, Int64Array
from skypane.queries.base import Invalid, Selection
from skypane.queries.preferences import Preferences


class DominanceQuery(Selection):
    """Panes keep their skylines, so windows can slide incrementally, by critical panes."""

    preferences: Preferences

    @property
    def dominance(self) -> DominanceQuery:
        """This query selects by dominance."""
        return self

    def check(self, schema: pa.Schema) -> None:
        """All attributes are numeric columns."""
        self.preferences.check(schema)

    def invalid(self, rows: pa.Table) -> Sequence[Invalid]:
        """Null and NaN attributes."""
        return self.preferences.invalid(rows)

    def inputs(self) -> Sequence[str]:
        """The attributes."""
        return self.preferences.attributes

    def warm_up(self) -> None:
        """Compile the skyline kernel."""
        kernels.load_trees()

    def matrix(self, rows: pa.Table) -> Float64Array:
        """The numbers that decide dominance, smaller is better."""
        return self.preferences.matrix(rows)

    def select(self, rows: pa.Table, groups: Groups) -> Int64Array:
        """The skyline of each group."""
        return kernels.skyline_groups(self.matrix(rows), groups.offsets)


def dominates(q: Sequence[float], p: Sequence[float]) -> bool:
    """Whether ``q`` is no worse than ``p`` everywhere and better somewhere (smaller is better)."""
    return all(a <= b for a, b in zip(q, p, strict=True)) and any(a < b for a, b in zip(q, p, strict=True))
