"""RecordsQuery: a query that gets all records of a window as they are; a partial is the records themselves."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from skypane.model.columns import ID, PREFIX
from skypane.model.errors import OptionError
from skypane.model.groups import Groups, Int64Array
from skypane.model.window import Window
from skypane.queries.base import Answered, Grouped, Query, Row
from skypane.queries.frames import Failure, Frames, Placement
from skypane.queries.functions.calls import Call
from skypane.queries.functions.errors import error_text, function_error
from skypane.tables.rows import without_internal
from skypane.tables.take import take_rows
from skypane.tables.times import times_us


class UserCallError(Exception):
    """A call of a function of the user's failed; the cause says how, the caller knows for whom."""

    def __init__(self, function: str, text: str) -> None:
        super().__init__(text)
        self.function, self.text = function, text

    @classmethod
    def of(cls, call: Call, error: BaseException) -> UserCallError:
        """Of a call that raised."""
        return cls(call.name, error_text(call, error))


@dataclass(frozen=True, eq=False)
class FunctionQuery(Query):
    """What all queries share that call functions of the user's."""

    runs_functions = True
    placement: Placement | None = field(default=None, kw_only=True)

    @property
    @abstractmethod
    def returns(self) -> pa.Schema:
        """The columns of the answer."""

    @abstractmethod
    def group_rows(self, own: Any, key: tuple[Any, ...], window: Window) -> pa.Table:
        """The answer of one group; a :class:`UserCallError` if a function fails."""

    def placed(self, placement: Placement) -> Query:
        """Told by which column records are in order, and whose they are."""
        return replace(self, placement=placement)

    def added_columns(self) -> Sequence[str]:
        """All that the function returns."""
        return tuple(self.returns.names)

    def needs_record_id(self) -> bool:
        """Records of one time are in the order of their ids, whatever order they came in."""
        return True

    def check(self, schema: pa.Schema) -> None:
        """The function returns no column that a key has already; what it does with records, only it knows."""
        del schema
        keys = {key.lower(): key for key in (self.placement.keys if self.placement else ())}
        for name in self.returns.names:
            if name.lower() in keys:
                raise OptionError(
                    f"schema: the result has the key {keys[name.lower()]!r} already. Leave {name!r} out, or rename it."
                )

    def lower(self, partials: pa.Table, groups: Groups) -> Grouped:
        """As if there were no key."""
        return self.answer(partials, groups, Frames.unknown(len(groups))).answer

    def called(self, groups: Iterator[tuple[int, Any, int]], total: int, frames: Frames) -> Answered:
        """The answers of some groups (their number, what the function gets, how many records) of ``total``."""
        tables, failures, sizes = [self.returns.empty_table()], [], np.zeros(total, dtype=np.int64)
        for group, own, records in groups:
            key = frames.key(group)
            try:
                tables.append(self.group_rows(own, tuple(key.values()), frames.windows[group]))
                sizes[group] = tables[-1].num_rows
            except UserCallError as error:
                if self.placement is None or not self.placement.tolerant:
                    raise function_error(error.function, error.text, key, frames.windows[group]) from error.__cause__
                failures.append(Failure(group, error.function, error.text, records))
        return Answered(Grouped(pa.concat_tables(tables), Groups.from_sizes(sizes)), failures)

    def in_time_order(self, rows: pa.Table, groups: Groups) -> pa.Table:
        """The rows of each group by (time, record id)."""
        id_ = rows.column(ID).to_numpy()
        time = np.zeros(rows.num_rows, dtype=np.int64) if self.placement is None else self.times(rows)
        return take_rows(rows, np.lexsort((id_, time, groups.row_ids())).astype(np.int64))

    def times(self, rows: pa.Table) -> Int64Array:
        """When each record happened."""
        assert self.placement is not None
        return times_us(rows.column(self.placement.time))


def guarded(call: Call, key: Any, window: Window | None, subject: Any) -> Any:
    """Call a function of the user's; whatever it raises is its own, an exit included."""
    try:
        return call(key, window, subject)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise UserCallError.of(call, error) from error


class RecordsQuery(FunctionQuery):
    """Every window calls a function with all its records, in the order of (time, record id)."""

    keeps_records = True

    def lift(self, rows: pa.Table, groups: Groups) -> Grouped:
        """The records."""
        return Grouped(rows, groups)

    def combine(self, partials: pa.Table, groups: Groups) -> Grouped:
        """All records together."""
        return Grouped(partials, groups)

    def answer(self, partials: pa.Table, groups: Groups, frames: Frames) -> Answered:
        """Call the function for each group that has records."""
        records = without_internal(self.in_time_order(partials, groups))
        bounds = zip(groups.offsets[:-1].tolist(), groups.sizes.tolist(), strict=True)
        return self.called(
            ((g, records.slice(low, size), size) for g, (low, size) in enumerate(bounds) if size), len(groups), frames
        )

    def reference(self, rows: Sequence[Row]) -> list[Row]:
        """Without a key."""
        return self.reference_of(rows, {}, Window(0, 0), None)

    def reference_of(self, rows: Sequence[Row], key: Row, window: Window, schema: pa.Schema | None) -> list[Row]:
        """Sort the records, call the function."""
        if not rows:
            return []
        table = ordered_table(self.placement, rows, schema)
        return list(self.group_rows(table, tuple(key.values()), window).to_pylist())


def ordered_table(placement: Placement | None, rows: Sequence[Row], schema: pa.Schema | None) -> pa.Table:
    """Plain rows as a table in the order in which functions see them: for references, the slow obvious way."""
    time = None if placement is None else placement.time
    ordered = sorted(rows, key=lambda row: (row[time] if time else 0, row[ID]))
    own = [{name: value for name, value in row.items() if not name.startswith(PREFIX)} for row in ordered]
    kept = None if schema is None else pa.schema([f for f in schema if not f.name.startswith(PREFIX)])
    return pa.Table.from_pylist(own, kept)
