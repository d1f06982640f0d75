"""One key, many tasks: however tasks share its windows, every step does what one task would have done."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skypane.flow.definition import Definition
from skypane.flow.plan import OWNERSHIPS, PARTITIONINGS, Ownership, Partitioning
from skypane.local.engine import Engine
from skypane.model.windows import WindowSpec
from skypane.queries.aggregates import Aggregates
from skypane.testing.oracle import actual_answers, expected_answers
from tests.support.engine_runs import GUARD, POLICY, accepted_of, batches, same
from tests.support.strategies import SCHEMA, definition_of, definitions, streams

partitionings = st.sampled_from(PARTITIONINGS)


@settings(max_examples=150, deadline=None)
@given(
    rows=streams(),
    chosen=definitions,
    partitioning=partitionings,
    ownership=st.sampled_from(OWNERSHIPS),
    degree=st.integers(2, 9),
    cuts=st.lists(st.integers(0, 60), max_size=4),
)
def test_every_step_does_what_one_task_would_have_done(
    rows: list[dict[str, Any]],
    chosen: dict[str, Any],
    partitioning: Partitioning,
    ownership: Ownership,
    degree: int,
    cuts: list[int],
) -> None:
    """Windows are shared, or the joins of skylines."""
    definition = definition_of(chosen)
    cut, alone = Engine(definition, POLICY, GUARD, None, partitioning, ownership), Engine(definition, POLICY, GUARD)
    state, outputs = cut.start(), []
    for batch in batches(rows, cuts):
        table = pa.Table.from_pylist(batch, SCHEMA)
        stepped = cut.step(state, [table], degree)
        same(stepped, alone.step(state, [table]))
        state, output = stepped
        outputs.append(output)
    stepped = cut.flush(state, degree)
    same(stepped, alone.flush(state))
    outputs.append(stepped[1])
    if chosen["lateness"] == 0:
        answers = actual_answers(definition, [table for output in outputs for table in output.answers])
        expected = expected_answers(definition, accepted_of(rows, outputs))
        assert answers == {where: texts for where, texts in expected.items() if texts}


@pytest.mark.parametrize(
    ("partitioning", "degree", "replication"),
    [("batch", 1, 1.0), ("batch", 2, 46 / 37), ("window", 2, 71 / 37), ("window", 4, 136 / 37), ("pane", 4, 64 / 37)],
)
def test_replication_is_how_many_tasks_read_a_row(partitioning: Partitioning, degree: int, replication: float) -> None:
    """37 records, one a second, in 35 windows of 10 s every second; the last two are in none of them."""
    rows = [{"ts": second * 1_000_000, "key": "x", "n": second, "a": 1.0, "b": 1} for second in range(37)]
    definition = Definition(
        Aggregates.of({"rows": "count"}), WindowSpec(10_000_000, 1_000_000), "ts", sliding="recompute"
    )
    engine = Engine(definition, POLICY, GUARD, None, partitioning)
    _, output = engine.step(engine.start(), [pa.Table.from_pylist(rows, SCHEMA)], degree)
    assert output.replication == replication
