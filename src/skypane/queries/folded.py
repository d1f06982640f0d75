"""Folded: folds as queries - over states, one for each key and pane, or over the records of each window."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from skypane.model.columns import PANE, PREFIX
from skypane.model.ddl import schema_text
from skypane.model.groups import BoolArray, Groups
from skypane.model.window import Window
from skypane.queries.apply import CODE, promised, types_of
from skypane.queries.base import Answered, Grouped, Query, Row
from skypane.queries.fold import Fold
from skypane.queries.frames import Frames, Placement, plain
from skypane.queries.functions.errors import function_error
from skypane.queries.functions.returned import ReturnedWrongError
from skypane.queries.functions.state import State
from skypane.queries.records import FunctionQuery, RecordsQuery, UserCallError, guarded, ordered_table
from skypane.tables.grouping import key_codes
from skypane.tables.rows import without_internal
from skypane.tables.take import take_rows

SINCE = f"{PREFIX}since"
"""Of a state: when its oldest record happened. States of panes are merged in this order."""
RECORDS = f"{PREFIX}records"
ERROR = f"{PREFIX}error"
"""Of a state that a function failed on: the error; its windows will have no answer."""
FUNCTION = f"{PREFIX}function"
_NOTES = pa.schema([(SINCE, pa.int64()), (RECORDS, pa.int64()), (FUNCTION, pa.string()), (ERROR, pa.string())])
NO_WINDOW = Window(0, 0)


def fold_query(fold: Fold) -> Query:
    """The query of a fold: over states if they merge."""
    return FoldedRecords(fold) if fold.merge is None else FoldedStates(fold)


@dataclass(frozen=True, eq=False)
class _Folded(FunctionQuery):
    """What both have in common."""

    kind = "fold"

    fold: Fold

    @property
    def returns(self) -> pa.Schema:
        """What the fold promises."""
        return self.fold.returns

    def describe(self) -> Mapping[str, object]:
        """Types, promises, what is kept of a pane, and the functions' code."""
        return {
            "type": self.kind,
            "schema": types_of(self.fold.returns),
            "state": types_of(self.fold.state_type.schema),
            "combine": sorted(self.fold.combine),
            "keeps": "records" if self.keeps_records else "states",
            CODE: self.fold.code(),
        }

    def explain(self) -> str:
        """Which functions, on what, for what."""
        names = ", ".join(f"{role} {call.name}" for role, call in self.fold.calls.items())
        how = "folds its records" if self.keeps_records else "merges the states of its panes"
        return f"{names}; a window {how}, returns {schema_text(self.fold.returns)}"

    def updated(self, records: pa.Table) -> State:
        """The state of some records, as it would come back from a file."""
        update = self.fold.calls["update"]
        return self.stored("update", guarded(update, self.fold.first(), None, records))

    def stored(self, role: str, state: Any) -> State:
        """A state that a function returned, as it would come back from a file."""
        try:
            return self.fold.state_type.from_table(self.fold.state_type.to_table([state]))[0]
        except ReturnedWrongError as error:
            raise UserCallError.of(self.fold.calls[role], error) from error

    def finished(self, state: State, key: tuple[Any, ...], window: Window) -> pa.Table:
        """The answer of a state."""
        finish = self.fold.calls.get("finish")
        if finish is None:
            return self.fold.state_type.to_table([state])
        return promised(finish, guarded(finish, key, window, state), self.fold.returns)

    def reference(self, rows: Sequence[Row]) -> list[Row]:
        """Without a key."""
        return self.reference_of(rows, {}, NO_WINDOW, None)

    def reference_of(self, rows: Sequence[Row], key: Row, window: Window, schema: pa.Schema | None) -> list[Row]:
        """Sort all records, update once, finish."""
        if not rows:
            return []
        state = self.updated(ordered_table(self.placement, rows, schema))
        return list(self.finished(state, tuple(key.values()), window).to_pylist())


@dataclass(frozen=True, eq=False)
class FoldedRecords(_Folded, RecordsQuery):
    """Every window folds its own records: for folds that do not merge, or whose order late records would break."""

    def group_rows(self, own: pa.Table, key: tuple[Any, ...], window: Window) -> pa.Table:
        """Update once, finish."""
        return self.finished(self.updated(own), key, window)


@dataclass(frozen=True, eq=False)
class FoldedStates(_Folded):
    """One state for each key and pane, merged in the order of time."""

    reads_frame = True

    @property
    def in_order(self) -> bool:
        """Unless it does not matter, records of a pane are folded in order, once it is sealed."""
        return not self.fold.commutative

    def placed(self, placement: Placement) -> Query:
        """A record that comes after its pane was folded cannot be put in order: then records are kept.

        They are, too, where windows are counted in records: a pane of ranks gets its records over several steps.
        """
        if (self.in_order and placement.amendable) or placement.window.counted:
            return FoldedRecords(self.fold).placed(placement)
        return super().placed(placement)

    def lift(self, rows: pa.Table, groups: Groups) -> Grouped:
        """Fold the records of each group."""
        ordered = self.in_time_order(rows, groups)
        records, states = without_internal(ordered), _States(self)
        times = np.zeros(rows.num_rows, dtype=np.int64) if self.placement is None else self.times(ordered)
        for low, size in zip(groups.offsets[:-1].tolist(), groups.sizes.tolist(), strict=True):
            if size:
                row = ordered.slice(low, 1)
                states.add(row, int(times[low]), size, partial(self.updated, records.slice(low, size)))
        return states.grouped(groups.sizes > 0)

    def combine(self, partials: pa.Table, groups: Groups) -> Grouped:
        """Merge the states of each group, the oldest first."""
        partials = self._in_order_of_time(partials, groups)
        own = partials.select([*map(_stored_name, self.fold.state_type.schema.names), *_NOTES.names])
        if (groups.sizes <= 1).all():
            return Grouped(own, groups)
        # Tiles may reach across two keys; these are not used, and states of different keys need not fit together.
        keys = key_codes(partials, self.placement.keys if self.placement else ())
        found, notes = self._states_of(own), own.select(_NOTES.names).to_pylist()
        states = _States(self)
        for low, high in zip(groups.offsets[:-1].tolist(), groups.offsets[1:].tolist(), strict=True):
            if high > low:
                members = [row for row in range(low, high) if keys[row] == keys[low]]
                states.add_merged(partials.slice(low, 1), [found[m] for m in members], [notes[m] for m in members])
        return states.grouped(groups.sizes > 0)

    def answer(self, partials: pa.Table, groups: Groups, frames: Frames) -> Answered:
        """Finish each group's state."""
        whole = self.combine(partials, groups)
        found, notes = self._states_of(whole.table), whole.table.select(_NOTES.names).to_pylist()
        full = np.flatnonzero(whole.groups.sizes)
        numbered = zip(full.tolist(), zip(found, notes, strict=True), strict=True)
        return self.called(((group, own, own[1][RECORDS]) for group, own in numbered), len(groups), frames)

    def group_rows(self, own: tuple[State, dict[str, Any]], key: tuple[Any, ...], window: Window) -> pa.Table:
        """Finish one state, unless a function failed on it before."""
        state, notes = own
        if notes[ERROR] is not None:
            raise UserCallError(notes[FUNCTION], notes[ERROR])
        return self.finished(state, key, window)

    def whose(self, row: pa.Table) -> tuple[dict[str, Any], Window | None]:
        """The key of a row, and the time of all windows that it is in."""
        where = self.placement
        if where is None or PANE not in row.column_names:
            return {}, None
        pane = row.column(PANE).to_numpy()
        start = where.window.window_start_us(where.window.first_window(pane))
        end = where.window.window_end_us(where.window.last_window(pane))
        key = {name: plain(row.column(name)[0]) for name in where.keys}
        return key, Window(int(start[0]), int(end[0]), where.time_zone)

    def _states_of(self, table: pa.Table) -> list[State]:
        names = self.fold.state_type.schema.names
        return self.fold.state_type.from_table(table.select(list(map(_stored_name, names))).rename_columns(names))

    def _in_order_of_time(self, partials: pa.Table, groups: Groups) -> pa.Table:
        since = partials.column(SINCE).to_numpy()
        order = np.lexsort((since, groups.row_ids())).astype(np.int64)
        return partials if (np.diff(order) == 1).all() else take_rows(partials, order)


class _States:
    """States as they are made, group by group, and what is noted with them."""

    def __init__(self, query: FoldedStates) -> None:
        self._query = query
        self._states: list[State] = []
        self._notes: list[dict[str, Any]] = []

    def add(self, row: pa.Table, since: int, records: int, make: Callable[[], State]) -> None:
        """One more state, or a note that it could not be made."""
        self._attempt(row, {SINCE: since, RECORDS: records, FUNCTION: None, ERROR: None}, make)

    def add_merged(self, row: pa.Table, states: Sequence[State], notes: Sequence[dict[str, Any]]) -> None:
        """The merged state of some."""
        total = {**notes[0], RECORDS: sum(note[RECORDS] for note in notes)}
        failed = next((note for note in notes if note[ERROR] is not None), None)
        if failed is not None:
            self._keep(self._query.fold.first(), {**total, FUNCTION: failed[FUNCTION], ERROR: failed[ERROR]})
            return
        self._attempt(row, total, partial(self._merged, states))

    def grouped(self, full: BoolArray) -> Grouped:
        """One row for each group that has records."""
        state_type = self._query.fold.state_type
        states = state_type.to_table(self._states)
        notes = pa.Table.from_pylist(self._notes, _NOTES)
        names = [*map(_stored_name, states.column_names), *notes.column_names]
        return Grouped(pa.table([*states.columns, *notes.columns], names=names), Groups.from_sizes(full))

    def _merged(self, states: Sequence[State]) -> State:
        merge, total = self._query.fold.calls["merge"], states[0]
        for state in states[1:]:
            total = guarded(merge, total, None, state)
        return self._query.stored("merge", total) if len(states) > 1 else total

    def _attempt(self, row: pa.Table, notes: dict[str, Any], make: Callable[[], State]) -> None:
        try:
            self._keep(make(), notes)
        except UserCallError as error:
            place = self._query.placement
            if place is None or not place.tolerant:
                raise function_error(error.function, error.text, *self._query.whose(row)) from error.__cause__
            self._keep(self._query.fold.first(), {**notes, FUNCTION: error.function, ERROR: error.text})

    def _keep(self, state: State, notes: dict[str, Any]) -> None:
        self._states.append(state)
        self._notes.append(notes)


def _stored_name(field: str) -> str:
    return f"{PREFIX}state_{field}"
