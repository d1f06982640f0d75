"""Columns of more bytes than Arrow can have in one piece: answers are the same, however small a piece is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skypane.flow.definition import Definition
from skypane.flow.panes import worker
from skypane.flow.panes.admission import Frontier
from skypane.flow.program import Program
from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.policies.fixed_delay import FixedDelay
from skypane.lateness.progress import Progress
from skypane.local.engine import Engine, StepOutput
from skypane.local.preparation import prepare
from skypane.model.groups import Groups, Int64Array
from skypane.model.windows import WindowSpec
from skypane.queries.base import Query
from skypane.queries.top_k import TopK
from skypane.tables import take
from skypane.testing.oracle import actual_answers, as_text
from tests.support.strategies import SCHEMA, queries, streams, windows


def run(definition: Definition, rows: Sequence[dict[str, Any]], piece_bytes: int) -> list[StepOutput]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(take, "PIECE_BYTES", piece_bytes)
        engine = Engine(definition, FixedDelay("100 milliseconds"), FutureGuard(3_600_000_000))
        state, outputs = engine.start(), []
        for low in range(0, len(rows), 10):
            state, output = engine.step(state, [pa.Table.from_pylist(list(rows[low : low + 10]), SCHEMA)])
            outputs.append(output)
        return [*outputs, engine.flush(state)[1]]


@settings(max_examples=60, deadline=None)
@given(
    rows=streams(),
    query=queries,
    spec=windows,
    slide=st.sampled_from(["auto", "tiles", "recompute"]),
    processing=st.sampled_from(["out_of_order", "in_order"]),
    allowed_us=st.sampled_from([0, 3_000_000]),
)
def test_answers_do_not_depend_on_the_size_of_pieces(
    rows: list[dict[str, Any]], query: Query, spec: tuple[int, int], slide: str, processing: str, allowed_us: int
) -> None:
    definition = Definition(
        query,
        WindowSpec(*spec),
        "ts",
        ("key",),
        sliding=slide,
        processing=processing,
        harm_horizon_us=0 if allowed_us else 10**9,
        allowed_lateness_us=allowed_us,
    )
    rows = [{**row, "key": row["key"] and row["key"] * 10} for row in rows]
    for one, other in zip(run(definition, rows, 30), run(definition, rows, take.PIECE_BYTES), strict=True):
        assert one.ledger == other.ledger
        if not allowed_us:
            assert actual_answers(definition, one.answers) == actual_answers(definition, other.answers)
        for ours, theirs in ((one.answers, other.answers), (one.late, other.late)):
            assert as_text(definition, [r for t in ours for r in t.to_pylist()]) == as_text(
                definition, [r for t in theirs for r in t.to_pylist()]
            )


def test_large_records_are_lifted_before_they_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    lifted: list[int] = []

    class Counted(TopK):
        def select(self, rows: pa.Table, groups: Groups) -> Int64Array:
            lifted.append(rows.num_rows)
            return super().select(rows, groups)

    monkeypatch.setattr(worker, "LIFT_BYTES", 10_000)
    query = Counted(1, "a")
    definition = Definition(query, WindowSpec(1_000_000, 1_000_000), "ts")
    task = worker.PaneWorker(Program.of(definition), Frontier(Progress(), FutureGuard(None)))
    for low in range(0, 100, 10):
        rows = [{"ts": n, "key": "x" * 400, "n": n, "a": n * 1.0, "b": 1} for n in range(low, low + 10)]
        task.feed(prepare(query, (), pa.Table.from_pylist(rows, SCHEMA)))
    assert [row["n"] for table in task.finish().partials for row in table.to_pylist()] == [99]
    assert max(lifted) <= 40, "of records with 400 bytes or more"
