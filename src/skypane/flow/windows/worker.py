"""WindowWorker: one task of the window stage - merge partials into open panes, seal, fire windows, keep the rest.

``advance(state, partials, before, after)`` is a pure function. Its state is a table of partial rows by key and pane,
sorted by key group. A window fires when the watermark passes its end; a row is forgotten when no window to come can
answer with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.flow.joining import LOCAL_JOIN, Joining
from skypane.flow.late.judge import judged
from skypane.flow.late.past import Past
from skypane.flow.late.revisions import revise
from skypane.flow.reports import LAST_WINDOWS, WindowReport
from skypane.flow.shares import EVERYTHING, WindowShare
from skypane.flow.windows.firing import fire
from skypane.flow.windows.lowering import Failed, lowered
from skypane.flow.windows.merge import beside, merge_panes
from skypane.flow.windows.slide.base import Fired, Firing, Slide
from skypane.lateness.progress import Progress
from skypane.model.columns import COUNTER, GROUP, PANE, PREFIX, REVISION, WINDOW
from skypane.model.groups import Groups, Int64Array
from skypane.model.panes import Span
from skypane.queries.reduce import lift
from skypane.tables.grouping import Order, count_runs
from skypane.tables.rows import present, sorted_by_group, together

Column: TypeAlias = pa.Array | pa.ChunkedArray


class WindowWorker:
    """The window stage for some range of key groups."""

    def __init__(self, definition: Definition, slide: Slide) -> None:
        self._definition = definition
        self._slide = slide
        self._time_type = pa.timestamp("us", definition.time_zone)

    def advance(
        self,
        state: pa.Table | None,
        partials: Sequence[pa.Table],
        before: Progress,
        after_us: int | None,
        *,
        past: Past | None = None,
        late: pa.Table | None = None,
        waiting: pa.Table | None = None,
        share: WindowShare = EVERYTHING,
        sealed_rows: Sequence[pa.Table] = (),
        joining: Joining = LOCAL_JOIN,
    ) -> WindowReport[pa.Table, pa.Table]:
        """Ingest the step's partials, move the watermark on from that of ``before``, judge late records.

        ``waiting`` are records of open panes that are not among the partials, because they are processed in order.
        ``share`` says which windows this task answers, if not all. ``sealed_rows`` are rows of panes that
        earlier steps have sealed, oldest first: the worker reads them to answer windows, and does not return them.
        """
        past = past or Past()
        parts = [self._slide.enrich(part) for part in (state, *partials) if part is not None and part.num_rows]
        merged = merge_panes(self._definition, parts) if parts else None
        changed = None if merged is None else merged.table
        report = self._judged(late, past, together([changed, waiting]), before)
        sealed_rows = [table for table in sealed_rows if table.num_rows]
        if changed is None and not sealed_rows:
            return report
        if after_us is None:
            return self._with_state(report, changed)
        span = self._definition.window.span(before.punctuation_us, after_us)
        num_sealed = sum(table.num_rows for table in sealed_rows)
        firing = Firing(panes=beside(sealed_rows, merged), span=span, num_sealed=num_sealed, joining=joining)
        answers = fire(self._definition, self._slide, firing, share)
        report = self._with_state(self._answered(report, answers.fired), answers.state)
        report = self._with_failed(report, answers.failed)
        amended = self._amended(partials, span) if share.first_of_groups else None
        sealed = None if changed is None else self._newly_sealed(share.owned(changed), amended, span)
        report = replace(report, state=replace(report.state, sealed=present([sealed])))
        return report if amended is None else self._revised(report, amended, past, span)

    def _judged(
        self, late: pa.Table | None, past: Past, live: pa.Table | None, before: Progress
    ) -> WindowReport[pa.Table, pa.Table]:
        """Judge the late records by the sealed panes of the past and the open ones."""
        if late is None or before.punctuation_us is None:
            return WindowReport()
        window = self._definition.window
        known: list[pa.Table] = []
        if past.panes is not None and self._definition.query.selective:
            known.append(past.panes)
        if live is not None and self._definition.query.selective:
            is_open = live.column(PANE).to_numpy() >= window.sealed_before(before.punctuation_us)
            known.append(live.filter(pa.array(is_open)))
        return judged(self._definition, late, together(rows.select(late.column_names) for rows in known), before)

    def _answered(
        self, report: WindowReport[pa.Table, pa.Table], fired: Sequence[Fired]
    ) -> WindowReport[pa.Table, pa.Table]:
        return replace(
            report,
            answers=tuple(self._result(one) for one in fired),
            windows=sum(int((one.answer.groups.sizes > 0).sum()) for one in fired),
            last_windows=self._last_windows(fired),
        )

    def _with_state(
        self, report: WindowReport[pa.Table, pa.Table], state: pa.Table | None
    ) -> WindowReport[pa.Table, pa.Table]:
        if state is None:
            return report
        kept = replace(report.state, panes=(sorted_by_group(state),))
        return replace(report, state=kept, open_panes=self._count_panes(state))

    def _revised(
        self, report: WindowReport[pa.Table, pa.Table], amended: pa.Table, past: Past, span: Span
    ) -> WindowReport[pa.Table, pa.Table]:
        """Answer windows that have fired again, where records that came late change them."""
        revised = revise(self._definition, amended, past.panes, past.revisions, span.first)
        if revised is None:
            return report
        report = self._with_failed(report, revised.failed)
        if not len(revised.numbers):
            return report
        return replace(
            report,
            answers=(*report.answers, self._result(revised.answers, revised.numbers)),
            revised=len(revised.numbers),
            state=replace(report.state, revisions=(sorted_by_group(revised.log),)),
        )

    def _with_failed(
        self, report: WindowReport[pa.Table, pa.Table], failed: Failed | None
    ) -> WindowReport[pa.Table, pa.Table]:
        """Add failed windows to the report."""
        if failed is None or not len(failed.groups):
            return report
        keys = len(self._definition.keys)
        rows = failed.rows.add_column(keys, WINDOW, self._window_column(failed.window_ids))
        return replace(report, failed=(*report.failed, rows), failures=report.failures + rows.num_rows)

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
        return self._result(no_answers(self._definition, self._slide, records)).schema

    def _count_panes(self, state: pa.Table) -> int:
        """Of a state whose rows are in the order of key and pane."""
        return count_runs(state, [*self._definition.keys, PANE])

    def _last_windows(self, fired: Sequence[Fired]) -> tuple[tuple[int, int], ...]:
        rows_by_end: Counter[int] = Counter()
        for window_ids, answer, _ in fired:
            newest = window_ids > window_ids[-1] - LAST_WINDOWS
            numbers, which = np.unique(window_ids[newest], return_inverse=True)
            rows = np.bincount(which, answer.groups.sizes[newest]).astype(np.int64)
            ends = self._definition.window.window_end_us(numbers)
            rows_by_end.update(dict(zip(ends.tolist(), rows.tolist(), strict=True)))
        return tuple(sorted(rows_by_end.items())[-LAST_WINDOWS:])

    def _result(self, fired: Fired, revisions: Int64Array | None = None) -> pa.Table:
        """Keys, window, then the rest, without internal columns."""
        table, groups = fired.answer
        window = self._window_column(fired.window_ids[groups.row_ids()])
        lead = {key: table.column(key) for key in self._definition.keys} | {WINDOW: window}
        if self._definition.allowed_lateness_us:
            numbers = np.zeros(table.num_rows) if revisions is None else revisions[groups.row_ids()]
            lead[REVISION] = pa.array(numbers.astype(np.int32))
        return answer_table(self._definition, lead, fired)

    def _window_column(self, window_ids: Int64Array) -> pa.Array:
        spec = self._definition.window
        borders = (spec.window_start_us(window_ids), spec.window_end_us(window_ids))
        return pa.StructArray.from_arrays(
            [pa.array(us).cast(self._time_type) for us in borders], names=["start", "end"]
        )


def no_answers(definition: Definition, slide: Slide, records: pa.Schema) -> Fired:
    """What is fired of no records of some schema."""
    internal = {GROUP: pa.int32(), PANE: pa.int64(), COUNTER: pa.int64()}
    missing = [pa.field(name, kind) for name, kind in internal.items() if name not in records.names]
    empty = pa.schema([*records, *missing]).empty_table()
    nothing = Order(np.zeros(0, dtype=np.int64), Groups.from_sizes([]))
    partials = lift(definition.query, empty, nothing, definition.frame)
    none = np.zeros(0, dtype=np.int64)
    answer, _ = lowered(definition, partials, empty, none, none)
    definition.emit.check_answers(answer.table.schema, slide)
    marks = {name: np.zeros(0, dtype=kind.to_pandas_dtype()) for name, kind in definition.emit.columns().items()}
    return Fired(none, answer, marks)


def answer_table(definition: Definition, lead: Mapping[str, Column], fired: Fired) -> pa.Table:
    """The leading columns, what the emission adds, then the answer without internal columns."""
    types, table = definition.emit.columns(), fired.answer.table
    first = dict(lead) | {name: pa.array(values, types[name]) for name, values in fired.marks.items()}
    rest = {name: table.column(name) for name in table.column_names if not name.startswith(PREFIX)}
    return pa.table(first | {name: column for name, column in rest.items() if name not in first})
