"""Settled rows: a step that leaves them where they are says and keeps what one does that takes in all its state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from skypane.flow.processing.base import WindowInputs
from skypane.flow.reports import WindowReport
from skypane.flow.shares import WindowShare
from skypane.flow.stages import Move
from skypane.local.engine import Engine, _Stages
from skypane.model.columns import PANE
from skypane.tables.rows import keep_rows, present, sorted_by_group, together
from skypane.tuning.sharing.joins import JoinSharing
from tests.support.engine_runs import GUARD, POLICY, batches, same
from tests.support.strategies import SCHEMA, definition_of, definitions, streams

Report = WindowReport[pa.Table, pa.Table]


class _Settling(_Stages):
    """Hands rows of sealed panes over pane by pane, and puts back what later windows need of them."""

    def _tasks(
        self,
        move: Move[pa.Table],
        shares: Sequence[WindowShare],
        joins: JoinSharing,
        inputs_of: Callable[[WindowShare], WindowInputs],
    ) -> list[Report]:
        definition, before_us, after_us = self.definition, move.before.punctuation_us, move.after_us
        shared = any(share.cut is not None for share in shares)
        if shared or before_us is None or after_us is None or not self.program.processing.seals_rows:
            return super()._tasks(move, shares, joins, inputs_of)
        span, left = definition.window.span(before_us, after_us), []

        def split(share: WindowShare) -> WindowInputs:
            inputs = inputs_of(share)
            table = SCHEMA.empty_table() if inputs.panes is None else inputs.panes
            panes = table.column(PANE).to_numpy() if inputs.panes is not None else np.zeros(0, dtype=np.int64)
            old = panes < definition.window.sealed_before(before_us)
            needed = old & (definition.window.last_window(panes) + definition.emit.looks_back >= span.end)
            left.append(keep_rows(table, needed) if needed.any() else None)
            sealed_rows = [keep_rows(table, panes == pane) for pane in np.unique(panes[old])]
            return replace(inputs, panes=None if old.all() else keep_rows(table, ~old), sealed_rows=sealed_rows)

        reports = super()._tasks(move, shares, joins, split)
        return [_with(report, rest) for report, rest in zip(reports, left, strict=True)]


def _with(report: Report, rest: pa.Table | None) -> Report:
    table = together([rest, *report.state.panes])
    panes = present([None if table is None else sorted_by_group(table)])
    return replace(report, state=replace(report.state, panes=panes))


class _SettlingEngine(Engine):
    stages = _Settling


@settings(max_examples=150, deadline=None)
@given(
    rows=streams(),
    chosen=definitions,
    degree=st.sampled_from([1, 1, 3]),
    cuts=st.lists(st.integers(0, 60), max_size=8),
)
def test_a_step_says_and_keeps_the_same(
    rows: list[dict[str, Any]], chosen: dict[str, Any], degree: int, cuts: list[int]
) -> None:
    definition = definition_of(chosen)
    settling, whole = _SettlingEngine(definition, POLICY, GUARD), Engine(definition, POLICY, GUARD)
    state = settling.start()
    for batch in batches(rows, cuts):
        table = pa.Table.from_pylist(batch, SCHEMA)
        stepped = settling.step(state, [table], degree)
        same(stepped, whole.step(state, [table]))
        state = stepped[0]
    same(settling.flush(state, degree), whole.flush(state))
