"""Top-delta dominant: the skyline records that are hardest to beat, by k-dominance.

A record q k-dominates p if q is no worse than p on some k attributes and better on one of them. ``kmax`` of p is
the largest k with which any record of the window k-dominates p: the smaller, the harder to beat. Skyline records are
enough as dominators (sandwich lemma: if Skyline(W) <= M <= W, then kmax over M equals kmax over W), so panes keep their
skylines and nothing more is needed for an exact answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from skypane import kernels
from skypane.model.column_names import ColumnNames
from skypane.model.columns import ID
from skypane.model.errors import SchemaError
from skypane.model.groups import Groups
from skypane.model.numbers import whole_number
from skypane.queries.base import Grouped, Row
from skypane.queries.dominance import DominanceQuery, dominates
from skypane.queries.preferences import Preferences
from skypane.tables.take import take_rows

KMAX = "kmax"


@dataclass(frozen=True)
class TopDelta(DominanceQuery):
    """At most ``delta`` skyline records in the order of (kmax, attributes, record id)."""

    kind = "top_delta"

    delta: int
    preferences: Preferences

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", whole_number(self.delta, "delta"))

    def resolved(self, names: ColumnNames) -> TopDelta:
        """With the attributes as the records spell them."""
        return replace(self, preferences=self.preferences.resolved(names))

    def describe(self) -> Mapping[str, object]:
        """Delta, the attributes and their directions."""
        return {"type": self.kind, "delta": self.delta, **self.preferences.describe()}

    def check(self, schema: pa.Schema) -> None:
        """All attributes are numeric columns, and the name of the added column is free."""
        super().check(schema)
        if KMAX in (name.lower() for name in schema.names):
            raise SchemaError(f"The records have a column {KMAX!r}, which top-delta adds. Rename or drop it first.")

    def added_columns(self) -> Sequence[str]:
        """How hard it is to beat."""
        return (KMAX,)

    def warm_up(self) -> None:
        """Compile the skyline and the kmax kernel."""
        super().warm_up()
        kernels.kmax(np.array([[1.0, 2.0], [2.0, 1.0]]), Groups.whole(2).offsets)

    def needs_record_id(self) -> bool:
        """Ties in kmax and in every attribute are cut by record id."""
        return True

    def lower(self, partials: pa.Table, groups: Groups) -> Grouped:
        """Rank by (kmax, attributes, id) within each group and cut at delta."""
        values = self.preferences.matrix(partials)
        kmax = kernels.kmax(values, groups.offsets)
        group_ids = groups.row_ids()
        # lexsort sorts by the last key first.
        keys = (partials.column(ID).to_numpy(), *values.T[::-1], kmax, group_ids)
        order = np.lexsort(keys)
        rank = np.arange(len(order)) - groups.offsets[group_ids[order]]
        best = order[rank < self.delta]
        table = take_rows(partials, best).append_column(KMAX, pa.array(kmax[best], pa.int32()))
        return Grouped(table, Groups.from_sizes(np.minimum(groups.sizes, self.delta)))

    def reference(self, rows: Sequence[Row]) -> list[Row]:
        """Compare everything with everything, against all records of the window."""
        points = [self.preferences.oriented(row) for row in rows]
        ranked = []
        for row, p in zip(rows, points, strict=True):
            if any(dominates(q, p) for q in points):
                continue
            kmax = max((k_dominance(q, p) for q in points), default=0)
            ranked.append(((kmax, p, row[ID]), {**row, KMAX: kmax}))
        ranked.sort(key=lambda pair: pair[0])
        return [row for _, row in ranked[: self.delta]]


def k_dominance(q: Sequence[float], p: Sequence[float]) -> int:
    """The largest k with which ``q`` k-dominates ``p``; 0 if it does not for any k."""
    no_worse = sum(a <= b for a, b in zip(q, p, strict=True))
    return no_worse if any(a < b for a, b in zip(q, p, strict=True)) else 0
