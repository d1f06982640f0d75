"""The medians of three columns: a NumPy function over whole windows, of which no part can be computed ahead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from skypane.model.groups import Groups
from skypane.queries.base import Grouped, Query, Row, find_column

COLUMNS = ("a0", "a1", "a2")


class Medians(Query):
    """A partial is the records themselves."""

    kind = "medians"
    decomposable = True

    def describe(self) -> Mapping[str, object]:
        """Nothing can be chosen."""
        return {"type": self.kind}

    def check(self, schema: pa.Schema) -> None:
        """Three columns."""
        for name in COLUMNS:
            find_column(schema, name, "Column")

    def lift(self, rows: pa.Table, groups: Groups) -> Grouped:
        """As they are."""
        return Grouped(rows.select(list(COLUMNS)), groups)

    def combine(self, partials: pa.Table, groups: Groups) -> Grouped:
        """One after the other."""
        return self.lift(partials, groups)

    def lower(self, partials: pa.Table, groups: Groups) -> Grouped:
        """One row for each group."""
        borders = list(zip(groups.offsets[:-1].tolist(), groups.offsets[1:].tolist(), strict=True))
        columns = {name: partials.column(name).to_numpy() for name in COLUMNS}
        medians = {name: [float(np.median(values[a:b])) for a, b in borders] for name, values in columns.items()}
        table = pa.table({name: pa.array(values, pa.float64()) for name, values in medians.items()})
        return Grouped(table, Groups.from_sizes(np.ones(len(borders), dtype=np.int64)))

    def reference(self, rows: Sequence[Row]) -> list[Row]:
        """The same, by the book."""
        return [{name: float(np.median([row[name] for row in rows])) for name in COLUMNS}]
