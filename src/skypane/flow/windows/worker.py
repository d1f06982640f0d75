"""WindowWorker: one task of the window stage - merge partials into open panes, seal, fire windows, keep the rest.

``advance(state, partials, before, after)`` is a pure function. Its state is a table of partial rows by key and pane,
sorted by key group. A window fires when the punctuation passes its end; a row is forgotten when no window to come can
answer with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.flow.late.judge import judge
from skypane.flow.late.past import Past
from skypane.flow.late.revisions import revise
from skypane.flow.windows.emit.differences import check_comparable, differences
from skypane.flow.windows.merge import merge_panes
from skypane.flow.windows.slide.base import Fired, Span
from skypane.flow.windows.slide.choice import slide_for
from skypane.model.columns import CHANGE, GROUP, PANE, PREFIX, REVISION, WINDOW
from skypane.model.groups import Groups, Int64Array
from skypane.queries.base import Grouped
from skypane.queries.reduce import lift, with_frame
from skypane.tables.grouping import Order, key_codes, sort_by
from skypane.tables.rows import sorted_by_group

LAST_WINDOWS = 8
"""How many of the newest windows to report the size of."""

_LONG_AGO = -(2**62)


@dataclass(frozen=True)
class Advance:
    """What a step leaves and emits."""

    state: pa.Table | None
    answers: Sequence[pa.Table] = ()
    """Result rows; windows of one key in order."""
    past: Past = field(default_factory=Past)
    """What this step adds to the past."""
    harmful: pa.Array | None = None
    """For each late record, whether it would have changed an answer; null if it is too old to tell."""
    revised: int = 0
    """How many (key, window) answers were corrected."""
    windows: int = 0
    """How many (key, window) answers, or changed answers, there are."""
    open_panes: int = 0
    """How many (key, pane) partials the state holds."""
    last_windows: Sequence[tuple[int, int]] = ()
    """End (microseconds) and rows, over all keys, of the newest windows that fired."""


class WindowWorker:
    """The window stage for some range of key groups."""

    def __init__(self, definition: Definition, threads: int = 1) -> None:
        self._definition = definition
        self._slide = slide_for(definition, threads)
        self._time_type = pa.timestamp("us", definition.time_zone)

    def advance(
        self,
        state: pa.Table | None,
        partials: Sequence[pa.Table],
        before_us: int | None,
        after_us: int | None,
        past: Past | None = None,
        late: pa.Table | None = None,
        waiting: pa.Table | None = None,
    ) -> Advance:
        """Take in the step's partials, move the punctuation from ``before_us`` to ``after_us``, judge late records.

        ``waiting`` are records of open panes that are not among the partials, because they are processed in order.
        """
        past = past or Past()
        parts = [self._slide.enrich(part) for part in (state, *partials) if part is not None and part.num_rows]
        if not parts:
            return Advance(None, harmful=self._judge(late, past, waiting, before_us))
        panes = merge_panes(self._definition, parts)
        live = panes.table if waiting is None else _both(panes.table, waiting)
        harmful = self._judge(late, past, live, before_us)
        if after_us is None:
            return replace(self._kept(panes.table, []), harmful=harmful)
        window = self._definition.window
        first, joined = _LONG_AGO, _LONG_AGO
        if before_us is not None:
            first, joined = window.closed_before(before_us), window.sealed_before(before_us)
        span = Span(first, window.closed_before(after_us), window.sealed_before(after_us), joined)
        amended = self._amended(partials, span)
        sealed = self._newly_sealed(panes.table, amended, span)
        revised = None if amended is None else revise(self._definition, amended, past.panes, past.revisions, first)
        fired, kept = self._fire(panes, span)
        advance = self._kept(kept, fired)
        if revised is not None:
            answers = [*advance.answers, self._result(revised.answers, revised.numbers)]
            advance = replace(advance, answers=answers, revised=len(revised.numbers))
        log = None if revised is None else sorted_by_group(revised.log)
        return replace(advance, past=Past(sealed, log), harmful=harmful)

    def _fire(self, panes: Grouped, span: Span) -> tuple[list[Fired], pa.Table | None]:
        """Answer the windows of the span, whole or by what changes; return also the rows that are kept."""
        if self._definition.emit == "full" or self._slide.emits_changes:
            fired, kept = self._slide.fire(panes, span)
            return list(fired), kept
        fired, kept = self._slide.fire(panes, span._replace(first=span.first - 1))
        return list(differences(self._definition, fired, span)), kept

    def _judge(
        self, late: pa.Table | None, past: Past, live: pa.Table | None, before_us: int | None
    ) -> pa.Array | None:
        """Judge the late records by the sealed panes of the past and the open ones."""
        if late is None or before_us is None:
            return None
        window = self._definition.window
        known: list[pa.Table] = []
        selective = self._definition.query.selective
        if past.panes is not None and selective:
            known.append(past.panes)
        if live is not None and selective:
            is_open = live.column(PANE).to_numpy() >= window.sealed_before(before_us)
            known.append(live.filter(pa.array(is_open)))
        known = [rows.select(late.column_names) for rows in known]
        judged_from = window.sealed_before(before_us - self._definition.harm_horizon_us)
        return judge(self._definition, late, pa.concat_tables(known) if known else None, judged_from)

    def _amended(self, partials: Sequence[pa.Table], span: Span) -> pa.Table | None:
        """This step's partials for panes that earlier steps have sealed."""
        found = [part.filter(pa.array(part.column(PANE).to_numpy() < span.joined_before)) for part in partials]
        found = [part for part in found if part.num_rows]
        return pa.concat_tables(found) if found else None

    def _newly_sealed(self, panes: pa.Table, amended: pa.Table | None, span: Span) -> pa.Table | None:
        """The rows to add to the past: of the panes that this step seals, and late ones of those sealed before."""
        if not self._definition.retention_us:
            return None
        pane = panes.column(PANE).to_numpy()
        sealed = panes.filter(pa.array((pane >= span.joined_before) & (pane < span.sealed_before)))
        names = [name for name in panes.column_names if name not in self._slide.added_columns]
        parts = [part.select(names) for part in (sealed, amended) if part is not None and part.num_rows]
        return sorted_by_group(pa.concat_tables(parts)) if parts else None

    def result_schema(self, records: pa.Schema) -> pa.Schema:
        """The schema of the answers to records of some schema."""
        internal = {GROUP: pa.int32(), PANE: pa.int64()}
        missing = [pa.field(name, kind) for name, kind in internal.items() if name not in records.names]
        empty = pa.schema([*records, *missing]).empty_table()
        nothing = Order(np.zeros(0, dtype=np.int64), Groups.from_sizes([]))
        partials = lift(self._definition.query, empty, nothing, self._definition.frame)
        answer = self._definition.query.lower(partials.table, partials.groups)
        if not self._definition.query.selective:
            answer = with_frame(answer, empty.select(list(self._definition.keys)))
        change = np.zeros(0, dtype=np.int8) if self._definition.emit == "changes" else None
        if change is not None and not self._slide.emits_changes:
            check_comparable(answer.table.schema)
        return self._result(Fired(np.zeros(0, dtype=np.int64), answer, change)).schema

    def _kept(self, state: pa.Table | None, fired: Sequence[Fired]) -> Advance:
        return Advance(
            state=None if state is None else sorted_by_group(state),
            answers=[self._result(one) for one in fired],
            windows=sum(int((one.answer.groups.sizes > 0).sum()) for one in fired),
            open_panes=0 if state is None else self._count_panes(state),
            last_windows=self._last_windows(fired),
        )

    def _count_panes(self, state: pa.Table) -> int:
        return len(sort_by(key_codes(state, self._definition.keys), state.column(PANE).to_numpy()).groups)

    def _last_windows(self, fired: Sequence[Fired]) -> list[tuple[int, int]]:
        rows_by_end: Counter[int] = Counter()
        for window_ids, answer, _ in fired:
            newest = window_ids > window_ids[-1] - LAST_WINDOWS
            ends = self._definition.window.window_end_us(window_ids[newest]).tolist()
            for end_us, rows in zip(ends, answer.groups.sizes[newest].tolist(), strict=True):
                rows_by_end[end_us] += rows
        return sorted(rows_by_end.items())[-LAST_WINDOWS:]

    def _result(self, fired: Fired, revisions: Int64Array | None = None) -> pa.Table:
        """Keys, window, then the rest, without internal columns."""
        table, groups = fired.answer
        window = self._window_column(fired.window_ids[groups.row_ids()])
        lead = {key: table.column(key) for key in self._definition.keys} | {WINDOW: window}
        if self._definition.allowed_lateness_us:
            numbers = np.zeros(table.num_rows) if revisions is None else revisions[groups.row_ids()]
            lead[REVISION] = pa.array(numbers.astype(np.int32))
        if fired.changes is not None:
            lead[CHANGE] = pa.array(fired.changes)
        rest = {name: table.column(name) for name in table.column_names if not name.startswith(PREFIX)}
        return pa.table(lead | {name: column for name, column in rest.items() if name not in lead})

    def _window_column(self, window_ids: Int64Array) -> pa.Array:
        spec = self._definition.window
        borders = (spec.window_start_us(window_ids), spec.window_end_us(window_ids))
        return pa.StructArray.from_arrays(
            [pa.array(us).cast(self._time_type) for us in borders], names=["start", "end"]
        )


def _both(rows: pa.Table, waiting: pa.Table) -> pa.Table:
    """Rows of panes, and records with the same columns."""
    names = [name for name in waiting.column_names if name in rows.column_names]
    return pa.concat_tables([rows.select(names), waiting.select(names)])
