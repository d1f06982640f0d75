"""Live: emits records as they enter and leave an answer that holds at every instant.

The pane stage keeps the records of a key that are ever in the answer of the task's own records; the window stage keeps
those that may be in an answer to come, with what is known of them, and emits what has become final. Coarse panes decide
what is late; what enters and leaves when is decided by the records' own times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.flow.joining import LOCAL_JOIN, Joining
from skypane.flow.late.judge import judge_by, judged_report
from skypane.flow.live.base import NO_INSTANT, LiveChanges, LiveStep
from skypane.flow.live.choice import live_kind, live_set
from skypane.flow.processing.base import Processing, WindowInputs
from skypane.flow.reports import WindowReport
from skypane.flow.windows.emit.instants import InstantEmission
from skypane.lateness.progress import Progress
from skypane.model.columns import PANE, PREFIX
from skypane.model.errors import OptionError
from skypane.model.groups import BoolArray
from skypane.tables.grouping import key_codes
from skypane.tables.rows import present, sorted_by_group, together
from skypane.tables.take import take_rows
from skypane.tables.times import times_us

Report = WindowReport[pa.Table, pa.Table]


class Live(Processing):
    """The processing of ``.live(...)``."""

    name = "live"

    @property
    def hands_over(self) -> str:
        """The pane stage passes on records that may enter an answer."""
        return "keeps the records of each key that may ever be in the answer"

    def __init__(self, definition: Definition) -> None:
        super().__init__(definition)
        self._life_us = definition.window.reach_us
        self._live = live_set(definition, self._life_us)

    @classmethod
    def check(cls, definition: Definition) -> None:
        """Refuse what only windows have."""
        live_kind(definition.query)
        if not definition.emit.instants:
            raise OptionError(
                f".emit({definition.emit.name!r}) is about windows, and live(...) has none: its answer holds at every "
                "instant. Use .emit('updates') or .emit('intervals')."
            )
        if definition.allowed_lateness_us:
            raise OptionError(
                "lateness(allowed=...) corrects answers of windows; what live(...) has emitted for an instant is "
                "final. "
                "Wait longer instead, e.g. .lateness(sp.FixedDelay('5 seconds'))."
            )
        if definition.sliding != "auto":
            raise OptionError(
                f"sliding={definition.sliding!r} chooses how windows slide, and live(...) has none. Leave it out."
            )
        if definition.processing != "out_of_order":
            raise OptionError(
                f"processing={definition.processing!r} compares ways to fill windows, and live(...) has none: "
                "it takes records in any order. Leave it out."
            )

    def lift(self, rows: pa.Table) -> pa.Table:
        """The records that are ever in the answer."""
        return self._live.prune(rows)

    def combine(self, parts: Sequence[pa.Table]) -> pa.Table:
        """Combine several tables: keep the records that may enter an answer."""
        return parts[0] if len(parts) == 1 else self.lift(pa.concat_tables(parts))

    def warm_up(self) -> None:
        """Compile the live set's kernels."""
        self._live.warm_up()

    def result_schema(self, records: pa.Schema) -> pa.Schema:
        """Keys, what the emission adds, then the records."""
        none = np.zeros(0, dtype=np.int64)
        nothing = LiveChanges(rows=none, at_us=none, change=none, cause=none, since_us=none)
        return self._result(records.empty_table(), nothing).schema

    def run(
        self, before: Progress, after_us: int | None, inputs: WindowInputs, joining: Joining = LOCAL_JOIN
    ) -> Report:
        """Ingest the pane stage's records, emit what is final, keep what may be in a later answer."""
        live = self._live
        parts = [live.enrich(part) for part in (inputs.panes, *inputs.fresh) if part is not None and part.num_rows]
        rows = pa.concat_tables(parts) if parts else None
        report = self._judged(before, inputs, rows)
        if rows is None:
            return report
        if after_us is None:
            return self._with_state(report, rows)
        step = live.advance(rows, self._final_us(before.punctuation_us), self._final_us(after_us), joining)
        report = self._with_state(self._answered(report, rows, step.changes), step.state)
        sealed = self._newly_sealed(rows, step, live.added_columns)
        return replace(report, state=replace(report.state, sealed=present([sealed])))

    @property
    def shares_joins(self) -> bool:
        """If the live set is a skyline."""
        return live_kind(self._definition.query).joins_rows

    def _final_us(self, punctuation_us: int | None) -> int:
        window = self._definition.window
        return NO_INSTANT if punctuation_us is None else window.sealed_before(punctuation_us) * window.pane_us

    def _with_state(self, report: Report, state: pa.Table | None) -> Report:
        if state is None:
            return report
        panes = len(np.unique(state.column(PANE).to_numpy()))
        return replace(report, state=replace(report.state, panes=(sorted_by_group(state),)), open_panes=panes)

    def _answered(self, report: Report, rows: pa.Table, changes: LiveChanges) -> Report:
        sent = self._emission.sent(changes)
        if not len(sent):
            return report
        sent = sent.in_order(key_codes(rows, self._definition.keys))
        return replace(report, answers=(self._result(rows, sent),), windows=len(sent))

    def _result(self, rows: pa.Table, sent: LiveChanges) -> pa.Table:
        """Keys, what the emission adds, then the rest, without internal columns."""
        definition = self._definition
        table = self._live.answered(take_rows(rows, sent.rows))
        expires_us = pa.array(times_us(table.column(definition.time)) + self._life_us)
        marks = self._emission.marks(sent, expires_us, pa.timestamp("us", definition.time_zone))
        lead = {key: table.column(key) for key in definition.keys} | dict(marks)
        rest = {name: table.column(name) for name in table.column_names if not name.startswith(PREFIX)}
        return pa.table(lead | {name: column for name, column in rest.items() if name not in lead})

    @property
    def _emission(self) -> InstantEmission:
        emission = self._definition.emit
        assert isinstance(emission, InstantEmission)
        return emission

    def _newly_sealed(self, rows: pa.Table, step: LiveStep, added: Sequence[str]) -> pa.Table | None:
        """Rows to judge late records by; ``None`` if none are judged."""
        if not self._definition.retention_us or not step.sealed.any():
            return None
        return sorted_by_group(rows.filter(pa.array(step.sealed)).drop_columns(list(added)))

    def _judged(self, before: Progress, inputs: WindowInputs, rows: pa.Table | None) -> Report:
        """Judge late records by the past and by what is open: would they ever have been in the answer?"""
        late = inputs.late
        if late is None or not late.num_rows or before.punctuation_us is None:
            return Report()
        window, definition = self._definition.window, self._definition
        known = []
        if definition.retention_us:
            known.append(inputs.past(window.neighbours(late.column(PANE).to_numpy())).panes)
        if rows is not None:
            is_open = rows.column(PANE).to_numpy() >= window.sealed_before(before.punctuation_us)
            known.append(rows.filter(pa.array(is_open)))
        judged_from = window.sealed_before(before.punctuation_us - definition.harm_horizon_us)
        together_known = together(part.select(late.column_names) for part in present(known))
        return judged_report(definition, before, late, judge_by(late, together_known, judged_from, self._ever_in))

    def _ever_in(self, rows: pa.Table, wanted: BoolArray) -> BoolArray:
        """Which of the ``wanted`` rows are ever in the answer of these rows."""
        codes = key_codes(rows, self._definition.keys)
        asked = np.flatnonzero(np.isin(codes, codes[wanted]))
        found = np.zeros(rows.num_rows, dtype=np.bool_)
        found[asked[self._live.ever_in(take_rows(rows, asked))]] = True
        return found[wanted]
