"""One key, many tasks: however windows are cut and dealt out, every step does what one task would have done."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from skypane.flow.definition import Definition
from skypane.flow.windows.emit.changes import Changes
from skypane.flow.windows.emit.full import Full
from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.policies.fixed_delay import FixedDelay
from skypane.local.engine import Engine, EngineState, StepOutput
from skypane.model.windows import WindowSpec
from skypane.queries.aggregates import Aggregates
from skypane.scheduling.ownership import OWNERSHIPS, Ownership
from skypane.scheduling.partitioning import PARTITIONINGS, Partitioning
from skypane.tables.rows import together
from skypane.testing.oracle import actual_answers, expected_answers, row_texts
from tests.flow.test_engine_properties import SCHEMA, queries, streams, windows
from tests.flow.test_lateness_properties import accepted_of, batches
from tests.functions.samples import QUERIES

GUARD = FutureGuard(3_600_000_000)
POLICY = FixedDelay("100 milliseconds")
partitionings = st.sampled_from(PARTITIONINGS)
definitions: st.SearchStrategy[dict[str, Any]] = st.builds(
    dict,
    query=st.one_of(queries, st.sampled_from([QUERIES[name] for name in ("bounds", "every other", "extremes")])),
    window=windows.map(lambda spec: WindowSpec(*spec)),
    keys=st.sampled_from([(), (), ("key",)]),
    sliding=st.sampled_from(["auto", "auto", "tiles", "recompute"]),
    processing=st.sampled_from(["out_of_order", "out_of_order", "in_order"]),
    harm_horizon_us=st.sampled_from([0, 300_000, 10**9]),
    lateness=st.sampled_from([0, "changes", 400_000, 3_000_000]),
)


def definition_of(chosen: dict[str, Any]) -> Definition:
    lateness = chosen["lateness"]
    emit = Changes() if lateness == "changes" else Full()
    assume(not (emit.looks_back and chosen["sliding"] == "tiles" and not chosen["query"].selective))
    rest = {name: value for name, value in chosen.items() if name != "lateness"}
    return Definition(**rest, time="ts", emit=emit, allowed_lateness_us=lateness if isinstance(lateness, int) else 0)


def shown(tables: list[pa.Table]) -> list[str]:
    return row_texts([row for table in tables for row in table.to_pylist()])


def same(one: tuple[EngineState, StepOutput], other: tuple[EngineState, StepOutput]) -> None:
    """The same was emitted, and the same is kept."""
    for name in ("answers", "late", "quarantined", "failed"):
        assert shown(getattr(one[1], name)) == shown(getattr(other[1], name)), name
    before, after = one[0], other[0]
    for field in ("progress", "ledger", "windows", "judged", "judged_so_far"):
        assert getattr(before, field) == getattr(after, field), field
    for kind in ("panes", "buffer", "sealed", "revisions", "held"):
        left, right = (together(getattr(state.kept, kind)) for state in (before, after))
        assert _content(left) == _content(right), kind


def _content(table: pa.Table | None) -> list[str]:
    return [] if table is None else sorted(repr(sorted(row.items())) for row in table.to_pylist())


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
