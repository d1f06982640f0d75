"""A query of your own: the records that are at most ``margin`` above the best of their window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import skypane as sp


@dataclass(frozen=True)
class NearBest(sp.extend.Selection):
    """``NearBest("price", 5.0)``: every record that costs at most 5 more than the cheapest one.

    It is a selection that panes can prepare: who is near the best of a window is near the best of its pane, too.
    """

    kind = "near_best"

    column: str
    margin: float

    def __post_init__(self) -> None:
        if not 0 <= self.margin < np.inf:
            raise sp.OptionError(f"NearBest(margin={self.margin!r}) must be a number, 0 or more.")

    def describe(self) -> Mapping[str, object]:
        """What decides the answer: a checkpoint belongs to one description."""
        return {"type": self.kind, "column": self.column, "margin": self.margin}

    def check(self, schema: pa.Schema) -> None:
        """The column is there, and a number."""
        self._preferences.check(schema)

    def invalid(self, rows: pa.Table) -> Sequence[sp.extend.Invalid]:
        """Null and NaN: neither near nor far."""
        return self._preferences.invalid(rows)

    def inputs(self) -> Sequence[str]:
        """All that ``select`` gets to see."""
        return (self.column,)

    def select(self, rows: pa.Table, groups: sp.extend.Groups) -> npt.NDArray[np.int64]:
        """All groups at once: the best of each, and who is near it."""
        values = self._numbers(rows)
        best = np.full(len(groups), np.inf)
        np.minimum.at(best, groups.row_ids(), values)
        return np.flatnonzero(values <= (best + self.margin)[groups.row_ids()])

    def reference(self, rows: Sequence[sp.extend.Row]) -> list[sp.extend.Row]:
        """The slow obvious way."""
        best = min((float(row[self.column]) for row in rows), default=0.0)
        return [row for row in rows if float(row[self.column]) <= best + self.margin]

    @property
    def _preferences(self) -> sp.extend.Preferences:
        return sp.extend.Preferences.of(minimize=self.column, maximize=())

    def _numbers(self, rows: pa.Table) -> npt.NDArray[np.float64]:
        return np.asarray(rows.column(self.column).cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
