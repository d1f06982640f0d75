"""A tuner never decides an answer: random legal plans at every step do what one task would have done."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skypane.flow.definition import Definition
from skypane.flow.distinct.distinct import Distinct
from skypane.flow.plan import Partitioning
from skypane.flow.shares import CutLimits, WindowCut
from skypane.flow.windows.emit.updates import Updates
from skypane.local.engine import Engine
from skypane.model.live import LiveSpec
from skypane.model.row_windows import RowWindows
from skypane.model.windows import WindowSpec
from skypane.queries.aggregates import Aggregates
from skypane.queries.preferences import Preferences
from skypane.queries.skyline import Skyline
from skypane.queries.top_k import TopK
from skypane.tuning.sharing import stage
from tests.support.engine_runs import GUARD, KINDS, POLICY, batches, same
from tests.support.random_plans import RandomTuner
from tests.support.strategies import SCHEMA, definition_of, definitions, streams

Rows = list[dict[str, Any]]
SKYLINE = Skyline(Preferences.of("a", "b"))
DISTINCT = Distinct(("key", "a"), 1_500_000)


@settings(max_examples=150, deadline=None)
@given(
    rows=streams(),
    chosen=definitions,
    seed=st.integers(0, 10**6),
    cuts=st.lists(st.integers(0, 60), max_size=4),
)
def test_random_plans_change_no_answer_no_count_and_no_state(
    rows: Rows, chosen: dict[str, Any], seed: int, cuts: list[int]
) -> None:
    run_both(definition_of(chosen), rows, seed, cuts)


@pytest.mark.parametrize(
    "definition",
    [
        Definition(SKYLINE, RowWindows.parse(5, 2), "ts", ("key",)),
        Definition(Aggregates.of({"n": "count"}), RowWindows.parse(4), "ts"),
        Definition(SKYLINE, LiveSpec.parse("1 second"), "ts", ("key",), emit=Updates()),
        Definition(TopK(3, "a"), LiveSpec.parse("1 second"), "ts", emit=Updates()),
        Definition(
            SKYLINE, WindowSpec(1_000_000, 200_000), "ts", ("key",), distinct=DISTINCT, allowed_lateness_us=10**6
        ),
        Definition(Aggregates.of({"n": "count"}), RowWindows.parse(4), "ts", distinct=DISTINCT),
        Definition(TopK(3, "a"), LiveSpec.parse("1 second"), "ts", emit=Updates(), distinct=DISTINCT),
    ],
    ids=["rows-skyline", "rows-count", "live-skyline", "live-top-k", "distinct", "distinct-rows", "distinct-live"],
)
@settings(max_examples=30, deadline=None)
@given(rows=streams(), seed=st.integers(0, 10**6), cuts=st.lists(st.integers(0, 60), max_size=4))
def test_so_it_is_with_windows_of_records_and_live_and_without_duplicates(
    definition: Definition, rows: Rows, seed: int, cuts: list[int]
) -> None:
    run_both(definition, rows, seed, cuts)


@settings(max_examples=100, deadline=None)
@given(
    rows=streams(),
    chosen=definitions,
    seed=st.integers(0, 10**6),
    cuts=st.lists(st.integers(0, 60), max_size=4),
)
def test_so_it_is_with_windows_in_any_sets(rows: Rows, chosen: dict[str, Any], seed: int, cuts: list[int]) -> None:
    """One level down: sets of any size, from any window on, to any number of tasks."""
    rng = random.Random(f"sets {seed}")

    def anyhow(limits: CutLimits, partitioning: Partitioning, degree: int) -> WindowCut | None:
        return limits.cut(rng.randint(1, 9), rng.randint(-30, 30), rng.randint(1, 6))

    with mock.patch.object(stage, "cut_windows", anyhow):
        run_both(definition_of(chosen), rows, seed, cuts)


def run_both(definition: Definition, rows: Rows, seed: int, cuts: list[int]) -> None:
    """Each step with a random plan, again with another one, and with one task."""
    rng = random.Random(f"run {seed}")
    tuned = Engine(definition, POLICY, GUARD, tuner=RandomTuner(seed))
    alone = Engine(definition, POLICY, GUARD)
    # A live query prunes the records of a task by one another; how many are left until the next watermark depends on
    # which task had them. What is emitted does not.
    kinds = [kind for kind in KINDS if not (definition.emit.instants and kind == "panes")]
    state = tuned.start()
    for batch in batches(rows, cuts):
        table = pa.Table.from_pylist(batch, SCHEMA)
        parts = [table.slice(0, 7), table.slice(7)]
        stepped = tuned.step(state, parts, degree=rng.randint(1, 4))
        same(stepped, alone.step(replace(state, tuning=None), [table]), kinds)
        again = tuned.step(replace(state, tuning=rng.randrange(10**6)), parts, degree=rng.randint(1, 4))
        same(stepped, again, kinds)
        state = stepped[0]
        if rng.random() < 0.3:  # a restart that has forgotten what was learned
            state = replace(state, tuning=rng.randrange(10**6))
    same(tuned.flush(state, degree=rng.randint(1, 4)), alone.flush(replace(state, tuning=None)), kinds)
