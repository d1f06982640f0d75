"""SkylineIntervals: of records that are live for a while, those ever in the skyline, with when they enter and leave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skypane import kernels
from skypane.kernels.lifetimes import lifetimes
from skypane.kernels.sliding import warm_sliding
from skypane.model.column_names import ColumnNames
from skypane.model.columns import VALID_FROM, VALID_TO
from skypane.model.durations import Duration, parse_duration_us
from skypane.model.errors import OptionError, SchemaError
from skypane.model.groups import Groups, Int64Array
from skypane.queries.base import Grouped, Invalid, Row, Selection, find_column
from skypane.queries.dominance import dominates
from skypane.queries.preferences import Preferences
from skypane.tables.grouping import sort_by
from skypane.tables.take import take_rows

_UNITS_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_FARTHEST = 2**62
"""In units of the time column, a life before it: differences fit in 64 bits, and ``NO_PANE`` is before every time.
Of nanoseconds that is from 1824 to 2116."""
_LONGEST = _FARTHEST // 2


@dataclass(frozen=True)
class SkylineIntervals(Selection):
    """For one table, once: the whole history of a live skyline. Times are compared in the unit of their column."""

    kind = "skyline_intervals"

    time: str
    life_us: int
    preferences: Preferences

    @classmethod
    def of(cls, time: str, within: Duration, preferences: Preferences) -> SkylineIntervals:
        """Check the options a user gave."""
        if not isinstance(time, str):
            raise OptionError(f"time={time!r} must be the name of a column.")
        return cls(time, parse_duration_us(within, "within"), preferences)

    def resolved(self, names: ColumnNames) -> SkylineIntervals:
        """With the time and the attributes as the table spells them."""
        return replace(self, time=names.find(self.time, "Time column"), preferences=self.preferences.resolved(names))

    def describe(self) -> Mapping[str, object]:
        """Time, life and attributes."""
        return {"type": self.kind, "time": self.time, "life_us": self.life_us, **self.preferences.describe()}

    def added_columns(self) -> Sequence[str]:
        """The columns with both ends of the interval."""
        return (VALID_FROM, VALID_TO)

    def check(self, schema: pa.Schema) -> None:
        """The time is a timestamp fine enough for the life, attributes are numbers, and the added names are free."""
        kind = find_column(schema, self.time, "Time column").type
        if not pa.types.is_timestamp(kind):
            raise SchemaError(f"Time column {self.time!r} has type {kind}; it must be a timestamp. Convert it first.")
        if self.life_us * _UNITS_PER_SECOND[kind.unit] % 10**6:
            raise OptionError(
                f"within= has parts of a second that column {self.time!r} of type {kind} does not have. "
                "Round it, or cast the column to microseconds."
            )
        if self._life(kind) > _LONGEST:
            raise OptionError(f"within= is too long for times of type {kind}.")
        for name in schema.names:
            if name.lower() in self.added_columns():
                raise SchemaError(f"The records have a column {name!r}, which the result adds. Rename it first.")
        self.preferences.check(schema)

    def invalid(self, rows: pa.Table) -> Sequence[Invalid]:
        """Null times, times too far away, null and NaN attributes."""
        column = rows.column(self.time)
        null = np.asarray(pc.is_null(column).to_numpy(), dtype=np.bool_)
        since = np.asarray(pc.fill_null(column.cast(pa.int64()), 0).to_numpy())
        farthest = _FARTHEST - self._life(column.type)
        far = (since > farthest) | (since < -farthest)
        return (Invalid(null, "null time"), Invalid(far, "time out of range"), *self.preferences.invalid(rows))

    def warm_up(self) -> None:
        """Compile the joins."""
        kernels.load_trees()
        warm_sliding()

    def inputs(self) -> Sequence[str]:
        """The time and the attributes."""
        return tuple(dict.fromkeys((self.time, *self.preferences.attributes)))

    def select(self, rows: pa.Table, groups: Groups) -> Int64Array:
        """The rows that are ever in the skyline of their group."""
        return np.sort(self._lifetimes(rows, groups)[0])

    def lower(self, partials: pa.Table, groups: Groups) -> Grouped:
        """Select the rows and add both ends of their interval."""
        kept, enter, leave = self._lifetimes(partials, groups)
        order = np.argsort(kept)
        rows = kept[order]
        table, kind = take_rows(partials, rows), partials.schema.field(self.time).type
        for name, ends in ((VALID_FROM, enter), (VALID_TO, leave)):
            table = table.append_column(name, pa.array(ends[order]).cast(kind))
        return Grouped(table, groups.after_keeping(rows))

    def reference(self, rows: Sequence[Row]) -> list[Row]:
        """The closed form, pair by pair."""
        life = timedelta(microseconds=self.life_us)
        points = [(row[self.time], self.preferences.oriented(row)) for row in rows]
        found = []
        for row, (time, own) in zip(rows, points, strict=True):
            better = [other for other, point in points if dominates(point, own)]
            enter = max([time, *(other + life for other in better if other <= time)])
            leave = min([time + life, *(other for other in better if other >= time)])
            if enter < leave:
                found.append({**row, VALID_FROM: enter, VALID_TO: leave})
        return found

    def _lifetimes(self, rows: pa.Table, groups: Groups) -> tuple[Int64Array, Int64Array, Int64Array]:
        """The rows ever in, when they enter and leave, in the unit of the column."""
        column = rows.column(self.time)
        times = np.asarray(column.cast(pa.int64()).to_numpy(), dtype=np.int64)
        order = sort_by(groups.row_ids(), times).rows
        values = self.preferences.matrix(take_rows(rows.select(list(self.preferences.attributes)), order))
        found, enter, leave = lifetimes(values, times[order], groups.offsets, self._life(column.type))
        return order[found], enter, leave

    def _life(self, kind: pa.DataType) -> int:
        return self.life_us * _UNITS_PER_SECOND[kind.unit] // 10**6
