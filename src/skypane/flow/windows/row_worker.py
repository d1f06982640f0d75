"""RowWorker: one task of the window stage where windows are counted in records - count, lift, slide, emit.

Inside, a row's key is the number of its counter, and panes are panes of ranks. Every key is somewhere else, so the
borders of a :class:`~skypane.model.panes.Span` are arrays; from there on windows go the way of all windows, and the
names of keys come back with the answers.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.flow.joining import LOCAL_JOIN, Joining
from skypane.flow.reports import LAST_WINDOWS, StateRows, WindowReport
from skypane.flow.windows.counters import Counted, Counters
from skypane.flow.windows.lowering import Failed
from skypane.flow.windows.merge import merge_panes
from skypane.flow.windows.partial_changes import SentRows, replaced
from skypane.flow.windows.slide.base import Answers, Fired, Firing, span_at
from skypane.flow.windows.slide.choice import slide_for
from skypane.flow.windows.worker import answer_table, no_answers
from skypane.model.columns import COUNTER, ID, PANE, WINDOW
from skypane.model.groups import BoolArray, Groups, Int64Array
from skypane.model.panes import Span
from skypane.model.row_windows import RowWindows
from skypane.model.window import Window
from skypane.queries.base import Grouped
from skypane.queries.frames import Frames
from skypane.queries.reduce import lift
from skypane.tables.grouping import Order, sort_by
from skypane.tables.rows import conform, keep_rows, present, sorted_by_group, together
from skypane.tables.take import take_rows


class _Spans(NamedTuple):
    """What results say of windows."""

    first: Int64Array
    last: Int64Array
    start: Int64Array
    end: Int64Array
    partial: BoolArray


class RowWorker:
    """The window stage for some range of key groups."""

    def __init__(self, definition: Definition, window: RowWindows) -> None:
        self._definition = definition
        self._ranks = window.ranks
        self._inner = replace(definition, window=window.ranks, keys=(COUNTER,), runs_in=definition.placement)
        """The windows and keys that the slide sees; the query gets its own ones, see :meth:`_named`."""
        self._slide = slide_for(self._inner)
        self._time_type = pa.timestamp("us", definition.time_zone)

    @property
    def joins_rows(self) -> bool:
        """Whether most of the work is to join rows, which tasks can share."""
        return self._slide.joins_rows

    def advance(
        self,
        state: pa.Table | None,
        records: pa.Table,
        counted: Counted,
        *,
        emits_partial: bool,
        joining: Joining = LOCAL_JOIN,
    ) -> WindowReport[pa.Table, pa.Table]:
        """Answer the windows that counted records complete; ``emits_partial``: send open windows, too, as they are."""
        counters = counted.counters
        panes = self._panes(state, self._lifted(records, counted), counters)
        if panes is None:
            return self._report(counters, [], [], None)
        complete = self._fired(counters, panes, self._span(counters), joining)
        answers, state = [complete], complete.state
        open_windows = self._ranks.started(counters.count) > self._ranks.complete(counters.count)
        emitted = (counters.over | emits_partial) & (counters.count > counters.emitted) & open_windows
        if state is not None and emitted.any():
            answers.append(self._partial(counters, state, emitted, joining))
        sent = [[self._sent(counters, one) for one in answer.fired] for answer in answers]
        if self._definition.emit.adds_up:
            counters, sent = self._adding_up(counters, records.schema, emitted, sent)
        counters = replace(counters, emitted=np.where(emitted, counters.count, counters.emitted))
        return self._report(counters, [rows for each in sent for rows in each], answers, state)

    def result_schema(self, records: pa.Schema) -> pa.Schema:
        """Keys, window, then what the query answers with."""
        nothing = no_answers(self._inner, self._slide, records)
        none = np.zeros(0, dtype=np.int64)
        keys = records.empty_table().select(list(self._definition.keys))
        window = self._window_column(_Spans(first=none, last=none, start=none, end=none, partial=none > 0))
        return self._table(keys, window, nothing).schema

    def warm_up(self) -> None:
        """Compile what the slide uses."""
        self._slide.warm_up()

    def _lifted(self, records: pa.Table, counted: Counted) -> pa.Table | None:
        """Partials of the panes of ranks that the records are in."""
        pane = self._ranks.pane_of(counted.rank)
        inside = self._ranks.in_some_window(pane)
        rows, counter, pane = counted.rows[inside], counted.counter[inside], pane[inside]
        if not len(rows):
            return None
        borders = np.flatnonzero((counter[1:] != counter[:-1]) | (pane[1:] != pane[:-1])) + 1
        groups = Groups(np.concatenate(([0], borders, [len(rows)])).astype(np.int64))
        table = records.drop_columns([PANE, *self._unread(records)])
        for name, values in ((PANE, pane), (COUNTER, counter)):
            column = np.zeros(records.num_rows, dtype=np.int64)
            column[rows] = values
            table = table.append_column(name, pa.array(column))
        return lift(self._definition.query, table, Order(rows, groups), self._inner.frame).table

    def _unread(self, table: pa.Table) -> list[str]:
        """Columns to drop once records have ranks: the record id, unless the query needs it."""
        return [] if self._definition.query.needs_record_id() or ID not in table.column_names else [ID]

    def _panes(self, state: pa.Table | None, lifted: pa.Table | None, counters: Counters) -> Grouped | None:
        """One partial for each counter and pane of ranks, those of the state included."""
        if state is not None:
            numbers = np.searchsorted(counters.names[: counters.stored], state.column(COUNTER).to_numpy())
            state = _with_counters(state, numbers).drop_columns(self._unread(state))
            state = state if lifted is None else conform(state, lifted.schema)
        parts = [self._slide.enrich(part) for part in present([state, lifted]) if part.num_rows]
        return merge_panes(self._inner, parts) if parts else None

    def _span(self, counters: Counters) -> Span:
        """The windows that are complete now and were not before."""
        ranks, before, count = self._ranks, counters.before, counters.count
        sealed, joined = count // ranks.pane_us, before // ranks.pane_us
        return Span(first=ranks.complete(before), end=ranks.complete(count), sealed_before=sealed, joined_before=joined)

    def _fired(self, counters: Counters, panes: Grouped, span: Span, joining: Joining) -> Answers:
        """The answers of the span."""
        firing = Firing(panes=panes, span=span, naming=partial(self._named, counters), joining=joining)
        answers = self._definition.emit.fire(self._inner, self._slide, firing)
        failed = answers.failed
        if failed is None:
            return answers
        own = span_at(span, failed.rows)
        return answers._replace(failed=failed.where((failed.window_ids >= own.first) & (failed.window_ids < own.end)))

    def _named(self, counters: Counters, frames: Frames, windows: Int64Array) -> Frames:
        """Keys by their names, windows with ranks and times."""
        counter = frames.keys.column(COUNTER).to_numpy()

        def windows_of() -> list[Window]:
            spans = self._spans(counters, counter, windows)
            named = zip(*(each.tolist() for each in spans), strict=True)
            zone = self._definition.time_zone
            return [
                Window(start, end, zone, ranks=(first, last), partial=partial)
                for first, last, start, end, partial in named
            ]

        return Frames(lambda: take_rows(counters.keys.select(list(self._definition.keys)), counter), windows_of)

    def _spans(self, counters: Counters, counter: Int64Array, window: Int64Array) -> _Spans:
        """First and last rank, start and end, and whether records are missing, of windows of counters."""
        ranks = self._ranks
        first, count = ranks.first_rank(window), counters.count[counter]
        start, end = counters.times_us(ranks, counter, window)
        last, is_partial = np.minimum(first + ranks.size_us, count) - 1, first + ranks.size_us > count
        return _Spans(first=first, last=last, start=start, end=end, partial=is_partial)

    def _partial(self, counters: Counters, state: pa.Table, emitted: BoolArray, joining: Joining) -> Answers:
        """The windows of some counters that are open, from the panes as they are."""
        rows = keep_rows(state, emitted[state.column(COUNTER).to_numpy()])
        ranks, count = self._ranks, counters.count
        started, complete = ranks.started(count), ranks.complete(count)
        span = Span(
            first=complete,
            end=started,
            sealed_before=(count - 1) // ranks.pane_us + 1,
            joined_before=count // ranks.pane_us,
        )
        return self._fired(counters, merge_panes(self._inner, [rows]), span, joining)

    def _adding_up(
        self, counters: Counters, records: pa.Schema, emitted: BoolArray, sent: list[list[SentRows]]
    ) -> tuple[Counters, list[list[SentRows]]]:
        """Take back what was sent of open windows before, where others are sent now; keep what is sent of them now."""
        complete, partial = sent[0], sent[1] if len(sent) > 1 else []
        like = self._no_changes(counters, records, [*complete, *partial])
        if like is None:
            return counters, sent
        ranks, done = self._ranks, self._ranks.complete(counters.count) > self._ranks.complete(counters.before)
        now = like.followed_by(*partial)
        last = now.netted(now.counter)
        last = last.labelled(self._labels(counters, last.counter, ranks.started(counters.count)[last.counter] - 1))
        before = like.followed_by(self._stored_changes(counters, like))
        gone, again = (before.where(mask[before.counter]).negated() for mask in (done, emitted & ~done))
        first = ranks.complete(counters.count)[again.counter]
        again = again._replace(window=first).labelled(self._labels(counters, again.counter, first))
        kept = last.followed_by(before.where(~(done | emitted)[before.counter]))
        table = kept.table.drop_columns([*self._definition.keys]).append_column(COUNTER, pa.array(kept.counter))
        open_now = [replaced(again, now)] if again.counter.size else partial
        return replace(counters, partial=table), [[gone], complete, open_now]

    def _no_changes(self, counters: Counters, records: pa.Schema, sent: list[SentRows]) -> SentRows | None:
        """No rows of the schema that changes have; ``None`` if nothing tells."""
        none = np.zeros(0, dtype=np.int64)
        if sent:
            return sent[0].take(none)
        if counters.partial is not None:
            keys = counters.keys.select(list(self._definition.keys)).schema
            own = [field for field in counters.partial.schema if field.name != COUNTER]
            return SentRows(pa.schema([*keys, *own]).empty_table(), none, none)
        return None if counters.stored else SentRows(self.result_schema(records).empty_table(), none, none)

    def _stored_changes(self, counters: Counters, like: SentRows) -> SentRows:
        """What was sent of open windows before this step."""
        stored = counters.partial
        if stored is None:
            return like
        counter = stored.column(COUNTER).to_numpy()
        table = stored.drop_columns([COUNTER])
        for key in self._definition.keys:
            table = table.append_column(key, take_rows(counters.keys.select([key]), counter).column(0))
        return SentRows(table, counter, np.full(len(counter), -1))

    def _labels(self, counters: Counters, counter: Int64Array, window: Int64Array) -> pa.Array:
        return self._window_column(self._spans(counters, counter, window))

    def _report(
        self, counters: Counters, sent: list[SentRows], answers: list[Answers], state: pa.Table | None
    ) -> WindowReport[pa.Table, pa.Table]:
        tables = _in_lives(sent, counters.over)
        failed = [self._failed(counters, answer.failed) for answer in answers if answer.failed is not None]
        panes, count = None, 0
        if state is not None:
            counter = state.column(COUNTER).to_numpy()
            state, counter = keep_rows(state, ~counters.over[counter]), counter[~counters.over[counter]]
            panes = sorted_by_group(_with_counters(state, counters.names[counter])) if len(counter) else None
            count = len(sort_by(counter, state.column(PANE).to_numpy()).groups)
        groups = [one.answer.groups for answer in answers for one in answer.fired]
        return WindowReport(
            state=StateRows(panes=present([panes]), counters=present([counters.table(self._ranks)])),
            answers=tuple(tables),
            windows=sum(int((own.sizes > 0).sum()) for own in groups),
            open_panes=count,
            last_windows=_last_windows(tables),
            failed=tuple(failed),
            failures=sum(table.num_rows for table in failed),
        )

    def _sent(self, counters: Counters, fired: Fired) -> SentRows:
        """Keys, window, then the rest, without internal columns."""
        counter = fired.answer.table.column(COUNTER).to_numpy()
        window = fired.window_ids[fired.answer.groups.row_ids()]
        keys = take_rows(counters.keys.select(list(self._definition.keys)), counter)
        return SentRows(self._table(keys, self._labels(counters, counter, window), fired), counter, window)

    def _failed(self, counters: Counters, failed: Failed) -> pa.Table:
        """The rows of the failed sink: keys, window, function and error."""
        counter = failed.rows.column(COUNTER).to_numpy()
        keys = take_rows(counters.keys.select(list(self._definition.keys)), counter)
        described, window = failed.rows.drop_columns([COUNTER]), self._spans(counters, counter, failed.window_ids)
        columns = [*keys.columns, self._window_column(window), *described.columns]
        return pa.table(columns, names=[*keys.column_names, WINDOW, *described.column_names])

    def _table(self, keys: pa.Table, window: pa.Array, fired: Fired) -> pa.Table:
        lead = {key: keys.column(key) for key in self._definition.keys} | {WINDOW: window}
        return answer_table(self._definition, lead, fired)

    def _window_column(self, spans: _Spans) -> pa.Array:
        times = [pa.array(us).cast(self._time_type) for us in (spans.start, spans.end)]
        columns = [pa.array(spans.first), pa.array(spans.last), *times, pa.array(spans.partial)]
        return pa.StructArray.from_arrays(columns, names=list(_Spans._fields))


def _in_lives(sent: list[SentRows], over: BoolArray) -> list[pa.Table]:
    """What is sent; all windows of a life before those of the key's next one, whose counter has a larger number."""
    tables = [rows.table for rows in sent if rows.counter.size]
    if not tables or not over.any():
        return tables
    counter = np.concatenate([rows.counter for rows in sent])
    return [take_rows(pa.concat_tables(tables), np.argsort(counter, kind="stable"))]


def _with_counters(table: pa.Table, numbers: Int64Array) -> pa.Table:
    return table.set_column(table.column_names.index(COUNTER), COUNTER, pa.array(numbers))


def _last_windows(tables: list[pa.Table]) -> tuple[tuple[int, int], ...]:
    """End and rows of the newest windows."""
    windows = together(table.select([WINDOW]) for table in tables)
    if windows is None:
        return ()
    ends = np.concatenate([chunk.field("end").cast(pa.int64()).to_numpy() for chunk in windows.column(WINDOW).chunks])
    end_us, rows = np.unique(ends, return_counts=True)
    return tuple(zip(end_us[-LAST_WINDOWS:].tolist(), rows[-LAST_WINDOWS:].tolist(), strict=True))
