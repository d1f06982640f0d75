"""Ranked: records are counted, key by key, as their times are sealed; windows are made of panes of ranks.

The pane stage hands records over, without what the query does not read. The window stage buffers them until no older
one can come, then gives each its rank (:mod:`skypane.flow.windows.counters`). A window that is complete is answered
once. When the stream pauses, is over, or a key is forgotten, open windows are emitted as they are, marked
``partial``. Emitting a partial window does not close it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.flow.joining import LOCAL_JOIN, Joining
from skypane.flow.late.judge import judged
from skypane.flow.processing.base import Processing, WindowInputs
from skypane.flow.processing.out_of_order import OutOfOrder
from skypane.flow.reports import WindowReport
from skypane.flow.windows.counters import count_records
from skypane.flow.windows.row_worker import RowWorker
from skypane.lateness.progress import Progress
from skypane.model.columns import GROUP, ID, PANE
from skypane.model.errors import OptionError
from skypane.tables.rows import keep_rows, present, sorted_by_group


class Ranked(Processing):
    """For windows that are counted in records."""

    name = "ranked"
    hands_over = "hands over what the query reads of each record, to be counted"
    buffers = True

    def __init__(self, definition: Definition) -> None:
        super().__init__(definition)
        assert definition.window.rows is not None
        self._window = definition.window.rows
        self._worker = RowWorker(definition, self._window)

    @classmethod
    def check(cls, definition: Definition) -> None:
        """Refuse corrections, since a late record would shift all ranks after it, and emissions of every instant."""
        OutOfOrder.check(definition)
        if definition.allowed_lateness_us:
            raise OptionError(
                "lateness(allowed=...) does not go with window_rows: a late record would shift the ranks of all "
                "records after it, and so change every window since. Give records more time to come instead, e.g. "
                "lateness(sp.FixedDelay('10 seconds'))."
            )
        if definition.processing != "out_of_order":
            raise OptionError(
                f"processing={definition.processing!r} compares ways to fill windows of time; records of window_rows "
                "wait for their rank in any case. Leave it out."
            )

    def lift(self, rows: pa.Table) -> pa.Table:
        """Records, with the columns that are read."""
        reads = self._definition.query.reads()
        if reads is None or self._definition.query.selective:
            return rows
        names = (GROUP, PANE, *self._definition.keys, self._definition.time, ID, *reads)
        return rows.select(list(dict.fromkeys(names)))

    def combine(self, parts: Sequence[pa.Table]) -> pa.Table:
        """Concatenate the records."""
        return pa.concat_tables(parts)

    def run(
        self, before: Progress, after_us: int | None, inputs: WindowInputs, joining: Joining = LOCAL_JOIN
    ) -> WindowReport[pa.Table, pa.Table]:
        """Count sealed records, answer the windows that they complete, emit open windows that end early."""
        sealed, buffer = self._released(inputs, after_us)
        report: WindowReport[pa.Table, pa.Table] = WindowReport()
        if after_us is not None and sealed is not None:
            until_us = self._window.sealed_until_us(after_us)
            counted = count_records(self._definition, self._window, inputs.counters, sealed, until_us)
            emits_partial = self._window.emits_partial(inputs.ending)
            report = self._worker.advance(inputs.panes, sealed, counted, emits_partial=emits_partial, joining=joining)
        report = replace(report, state=replace(report.state, buffer=present([buffer])))
        if inputs.late is None or not inputs.late.num_rows or before.punctuation_us is None:
            return report
        judgement = judged(self._definition, inputs.late, None, before)
        return replace(report, late=judgement.late, judged=judgement.judged, lessons=judgement.lessons)

    @property
    def shares_joins(self) -> bool:
        """If the slide does little else."""
        return self._worker.joins_rows

    def result_schema(self, records: pa.Schema) -> pa.Schema:
        """Keys, window, then what the query answers with."""
        return self._worker.result_schema(records)

    def warm_up(self) -> None:
        """Compile what the slide uses."""
        self._worker.warm_up()

    def _released(self, inputs: WindowInputs, after_us: int | None) -> tuple[pa.Table | None, pa.Table | None]:
        """The records that no older one can precede any more, perhaps none, and those that go on waiting."""
        waiting = [part for part in present([inputs.buffer, *inputs.fresh]) if part.num_rows]
        if not waiting:
            return None if inputs.counters is None else self._no_records(inputs.counters), None
        table = pa.concat_tables(waiting)
        if after_us is None:
            return None, sorted_by_group(table)
        ready = table.column(PANE).to_numpy() < self._window.sealed_before(after_us)
        return keep_rows(table, ready), None if ready.all() else sorted_by_group(keep_rows(table, ~ready))

    def _no_records(self, counters: pa.Table) -> pa.Table:
        """A table without records, of keys as they are counted."""
        own = [counters.schema.field(name) for name in (GROUP, *self._definition.keys)]
        rest = [(self._definition.time, pa.timestamp("us")), (ID, pa.int64()), (PANE, pa.int64())]
        return pa.schema(
            [*own, *(pa.field(*item) for item in rest if item[0] not in self._definition.keys)]
        ).empty_table()
