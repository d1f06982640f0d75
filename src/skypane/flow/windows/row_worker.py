"""RowWorker: one task of the window stage where windows are counted in records - count, lift, slide, emit.

Inside, a row's key is the number of its counter, and panes are panes of ranks. Every key is somewhere else, so the
borders of a :class:`~skypane.model.panes.Span` are arrays; from there on windows go the way of all windows, and the
names of keys come back with the answers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.flow.reports import LAST_WINDOWS, Kept, WindowReport
from skypane.flow.windows.counters import Counted, Counters
from skypane.flow.windows.merge import merge_panes
from skypane.flow.windows.slide.base import Fired
from skypane.flow.windows.slide.choice import slide_for
from skypane.flow.windows.worker import answer_table, no_answers
from skypane.model.columns import COUNTER, PANE, WINDOW
from skypane.model.groups import BoolArray, Groups, Int64Array
from skypane.model.panes import Span
from skypane.model.row_windows import RowWindows
from skypane.queries.base import Grouped
from skypane.queries.reduce import lift
from skypane.tables.grouping import Order, sort_by
from skypane.tables.rows import conform, keep_rows, present, sorted_by_group, together
from skypane.tables.take import take_rows


@dataclass(frozen=True)
class _Answers:
    """Answers of windows that are complete, or partial."""

    fired: list[Fired]
    partial: bool


class RowWorker:
    """The window stage for some range of key groups."""

    def __init__(self, definition: Definition, window: RowWindows, threads: int = 1) -> None:
        self._definition = definition
        self._ranks = window.ranks
        self._inner = replace(definition, window=window.ranks, keys=(COUNTER,))
        """The query as the slide sees it."""
        self._slide = slide_for(self._inner, threads)
        self._time_type = pa.timestamp("us", definition.time_zone)

    def advance(
        self, state: pa.Table | None, records: pa.Table, counted: Counted, *, tells: bool
    ) -> WindowReport[pa.Table, pa.Table]:
        """Answer the windows that counted records complete; ``tells``: tell of those that stay open, too."""
        counters = counted.counters
        panes = self._panes(state, self._lifted(records, counted), counters)
        if panes is None:
            return self._report(counters, [], None)
        fired, kept = self._definition.emit.fire(self._inner, self._slide, panes, self._span(counters))
        answers = [_Answers(list(fired), partial=False)]
        open_windows = self._ranks.started(counters.count) > self._ranks.complete(counters.count)
        told = (counters.over | tells) & (counters.count > counters.told) & open_windows
        if kept is not None and told.any():
            answers.append(_Answers(self._partial(counters, kept, told), partial=True))
        counters = replace(counters, told=np.where(told, counters.count, counters.told))
        return self._report(counters, answers, kept)

    def result_schema(self, records: pa.Schema) -> pa.Schema:
        """Keys, window, then what the query answers with."""
        nothing = no_answers(self._inner, self._slide, records)
        none = np.zeros(0, dtype=np.int64)
        keys = records.empty_table().select(list(self._definition.keys))
        window = self._window_column(none, none, none, none, partial=False)
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
        table = records.drop_columns([PANE])
        for name, values in ((PANE, pane), (COUNTER, counter)):
            column = np.zeros(records.num_rows, dtype=np.int64)
            column[rows] = values
            table = table.append_column(name, pa.array(column))
        return lift(self._definition.query, table, Order(rows, groups), self._inner.frame).table

    def _panes(self, state: pa.Table | None, lifted: pa.Table | None, counters: Counters) -> Grouped | None:
        """One partial for each counter and pane of ranks, those of the state included."""
        if state is not None:
            numbers = np.searchsorted(counters.names[: counters.stored], state.column(COUNTER).to_numpy())
            state = _with_counters(state, numbers)
            state = state if lifted is None else conform(state, lifted.schema)
        parts = [self._slide.enrich(part) for part in present([state, lifted]) if part.num_rows]
        return merge_panes(self._inner, parts) if parts else None

    def _span(self, counters: Counters) -> Span:
        """The windows that are complete now and were not before."""
        ranks, before, count = self._ranks, counters.before, counters.count
        sealed, joined = count // ranks.pane_us, before // ranks.pane_us
        return Span(ranks.complete(before), ranks.complete(count), sealed, joined)

    def _partial(self, counters: Counters, kept: pa.Table, told: BoolArray) -> list[Fired]:
        """The windows of some counters that are open, from the panes as they are."""
        rows = keep_rows(kept, told[kept.column(COUNTER).to_numpy()])
        ranks, count = self._ranks, counters.count
        started, complete = ranks.started(count), ranks.complete(count)
        span = Span(complete, started, (count - 1) // ranks.pane_us + 1, count // ranks.pane_us)
        fired, _ = self._definition.emit.fire(self._inner, self._slide, merge_panes(self._inner, [rows]), span)
        return list(fired)

    def _report(
        self, counters: Counters, answers: list[_Answers], kept: pa.Table | None
    ) -> WindowReport[pa.Table, pa.Table]:
        tables = [self._result(counters, one, answer.partial) for answer in answers for one in answer.fired]
        panes, count = None, 0
        if kept is not None:
            counter = kept.column(COUNTER).to_numpy()
            kept, counter = keep_rows(kept, ~counters.over[counter]), counter[~counters.over[counter]]
            panes = sorted_by_group(_with_counters(kept, counters.names[counter])) if len(counter) else None
            count = len(sort_by(counter, kept.column(PANE).to_numpy()).groups)
        groups = [one.answer.groups for answer in answers for one in answer.fired]
        return WindowReport(
            kept=Kept(panes=present([panes]), counters=present([counters.table(self._ranks)])),
            answers=tuple(tables),
            windows=sum(int((own.sizes > 0).sum()) for own in groups),
            open_panes=count,
            last_windows=_last_windows(tables),
        )

    def _result(self, counters: Counters, fired: Fired, partial: bool) -> pa.Table:
        """Keys, window, then the rest, without internal columns."""
        counter = fired.answer.table.column(COUNTER).to_numpy()
        window = fired.window_ids[fired.answer.groups.row_ids()]
        place = window - self._ranks.complete(counters.before)[counter]
        first = self._ranks.first_rank(window)
        start = counters.starts.at(counter, place)
        if partial:
            last, end = counters.count[counter] - 1, counters.last_us[counter]
        else:
            last, end = first + self._ranks.size_us - 1, counters.ends.at(counter, place)
        keys = take_rows(counters.keys.select(list(self._definition.keys)), counter)
        return self._table(keys, self._window_column(first, last, start, end, partial=partial), fired)

    def _table(self, keys: pa.Table, window: pa.Array, fired: Fired) -> pa.Table:
        lead = {key: keys.column(key) for key in self._definition.keys} | {WINDOW: window}
        return answer_table(self._definition, lead, fired)

    def _window_column(
        self, first: Int64Array, last: Int64Array, start: Int64Array, end: Int64Array, *, partial: bool
    ) -> pa.Array:
        times = [pa.array(us).cast(self._time_type) for us in (start, end)]
        marks = pa.array(np.full(len(first), partial))
        names = ["first", "last", "start", "end", "partial"]
        return pa.StructArray.from_arrays([pa.array(first), pa.array(last), *times, marks], names=names)


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
