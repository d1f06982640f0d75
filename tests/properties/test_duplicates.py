"""Duplicates, on the whole data path: they might as well not have come, and whatever is accepted is distinct."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skypane.flow.definition import Definition
from skypane.flow.distinct.distinct import Distinct
from skypane.flow.windows.emit.updates import Updates
from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.policies.fixed_delay import FixedDelay
from skypane.lateness.policies.kslack import KSlack
from skypane.local.engine import Engine, EngineState, StepOutput
from skypane.local.preparation import prepared
from skypane.model.columns import ID
from skypane.model.live import LiveSpec
from skypane.model.row_windows import RowWindows
from skypane.model.windows import WindowSpec
from skypane.queries.aggregates import Aggregates
from skypane.queries.preferences import Preferences
from skypane.queries.skyline import Skyline
from skypane.testing.oracle import actual_answers, expected_answers
from tests.support.duplicates import assert_distinct, first_of_each
from tests.support.engine_runs import GUARD, batches, shown
from tests.support.strategies import SCHEMA, definition_of, definitions, policies, streams

Rows = list[dict[str, Any]]
DAY_US = 86_400_000_000
distincts = st.builds(
    Distinct,
    st.sampled_from([("key",), ("key", "b"), ("a",), ("b", "ts")]),
    st.sampled_from([0, 1, 150_000, 2_000_000, 10**15]),
)
cuts = st.lists(st.integers(0, 60), max_size=4)
ROW_WINDOWS = Definition(Skyline(Preferences.of("a", "b")), RowWindows.parse(5, 2), "ts", ("key",))
LIVE = Definition(Skyline(Preferences.of("a", "b")), LiveSpec.parse("1 second"), "ts", ("key",), emit=Updates())


def numbers(tables: list[pa.Table]) -> set[int]:
    return {row["n"] for table in tables for row in table.to_pylist()}


def table(rows: Rows) -> pa.Table:
    return pa.Table.from_pylist(rows, SCHEMA)


@settings(max_examples=120, deadline=None)
@given(
    rows=streams(),
    definition=st.one_of(definitions.map(definition_of), st.sampled_from([ROW_WINDOWS, LIVE])),
    policy=policies,
    distinct=distincts,
    cuts=cuts,
)
def test_duplicates_might_as_well_not_have_come(
    rows: Rows, definition: Definition, policy: Any, distinct: Distinct, cuts: list[int]
) -> None:
    """No answer, no other fate, no watermark and nothing that a policy learns depends on them."""
    finding = Engine(replace(definition, distinct=distinct), policy, FutureGuard(None))
    without = Engine(definition, policy, FutureGuard(None))
    one, other = finding.start(), without.start()
    for batch in batches(rows, cuts):
        one, found = finding.step(one, [table(batch)])
        copies = numbers(found.duplicates)
        other, wanted = without.step(other, [table([row for row in batch if row["n"] not in copies])])
        same_but_for_duplicates(one, found, other, wanted)
    one, found = finding.flush(one)
    other, wanted = without.flush(other)
    same_but_for_duplicates(one, found, other, wanted)


def same_but_for_duplicates(one: EngineState, found: StepOutput, other: EngineState, wanted: StepOutput) -> None:
    for name in ("answers", "late", "quarantined"):
        assert shown(getattr(found, name)) == shown(getattr(wanted, name)), name
    assert replace(one.ledger, duplicate=0) == other.ledger
    assert (one.progress, one.judged) == (other.progress, other.judged)
    assert found.ledger.duplicate == sum(part.num_rows for part in found.duplicates)


@settings(max_examples=100, deadline=None)
@given(rows=streams(), distinct=distincts, cuts=cuts, tasks=st.integers(1, 3))
def test_of_each_batch_the_oldest_records_are_accepted_that_no_batch_before_had(
    rows: Rows, distinct: Distinct, cuts: list[int], tasks: int
) -> None:
    """Where no record is late or in doubt, brute force says which are accepted."""
    rows = [row for row in rows if row["ts"] is not None]
    definition = Definition(Aggregates.of({"n": "count"}), WindowSpec(10**6, 10**6), "ts", distinct=distinct)
    engine = Engine(definition, FixedDelay("9000 days"), FutureGuard(None))
    state, copies = engine.start(), set()
    for batch in batches(rows, cuts):
        state, output = engine.step(state, [table(batch[task::tasks]) for task in range(tasks)])
        copies |= numbers(output.duplicates)
    whole = prepared(definition, table(rows))
    ties = dict(zip(whole.column("n").to_pylist(), whole.column(ID).to_pylist(), strict=True))
    wanted = first_of_each(distinct, batches(rows, cuts), lambda row: ties[row["n"]])
    assert {row["n"] for row in rows} - copies == {row["n"] for row in wanted}
    assert state.ledger.accepted == len(wanted)


@settings(max_examples=120, deadline=None)
@given(rows=streams(), distinct=distincts, cuts=cuts, tasks=st.integers(1, 3), keyed=st.booleans())
def test_what_is_accepted_is_distinct_and_the_answers_are_those_over_it(
    rows: Rows, distinct: Distinct, cuts: list[int], tasks: int, keyed: bool
) -> None:
    """Also with records whose time is in doubt, held and released."""
    rows = [row if n % 9 else {**row, "ts": DAY_US + n % 5} for n, row in enumerate(rows)]
    definition = Definition(
        Aggregates.of({"n": "count", "total": "sum(n)"}), WindowSpec(10**6, 10**6), "ts", ("key",) * keyed
    )
    engine = Engine(replace(definition, distinct=distinct), KSlack(), GUARD)
    state, outputs = engine.start(), []
    for batch in batches(rows, cuts):
        state, output = engine.step(state, [table(batch[task::tasks]) for task in range(tasks)])
        outputs.append(output)
        assert state.ledger.held == sum(part.num_rows for part in state.rows.held)
    state, output = engine.flush(state)
    outputs.append(output)
    lost = {name: [n for o in outputs for n in numbers_of(getattr(o, name))] for name in FATES}
    every_lost = [n for found in lost.values() for n in found]
    assert len(every_lost) == len({*every_lost})
    accepted = [row for row in rows if row["n"] not in {*every_lost}]
    assert state.ledger.accepted == len(accepted)
    assert state.ledger.delivered == len(rows)
    # One that is refused in the end was compared with its copies, too.
    compared = [row for row in rows if row["ts"] is not None and row["n"] not in {*lost["late"], *lost["duplicates"]}]
    assert_distinct(distinct, accepted, [])
    assert_distinct(distinct, compared, [row for row in rows if row["n"] in lost["duplicates"]], allow_twice=True)
    answers = actual_answers(definition, (part for output in outputs for part in output.answers))
    assert answers == expected_answers(definition, table(accepted))


FATES = ("late", "quarantined", "duplicates")


def numbers_of(tables: list[pa.Table]) -> list[int]:
    return [row["n"] for part in tables for row in part.to_pylist()]


def test_the_ids_that_are_remembered_are_bounded() -> None:
    definition = Definition(
        Aggregates.of({"n": "count"}), WindowSpec(10**6, 10**6), "ts", distinct=Distinct(("n",), 5 * 10**6)
    )
    engine = Engine(definition, FixedDelay("1 s"), GUARD)
    state, known = engine.start(), []
    for step in range(60):
        rows = [{"ts": step * 10**6 + n, "key": "x", "n": step * 100 + n, "a": 1.0, "b": 1} for n in range(100)]
        state, output = engine.step(state, [table(rows)])
        assert not output.duplicates
        known.append(sum(part.num_rows for part in state.rows.ids))
    assert max(known) == max(known[:12]) <= 900


@pytest.mark.parametrize("copies", [4, 40])
def test_copies_of_one_record_with_a_wrong_time_do_not_confirm_one_another(copies: int) -> None:
    """The guard believes a time far ahead if five records have it; copies of one record are one."""
    definition = Definition(
        Aggregates.of({"n": "count"}), WindowSpec(10**6, 10**6), "ts", distinct=Distinct(("b",), 60 * 10**6)
    )
    engine = Engine(definition, FixedDelay("1 s"), GUARD)
    state, late = engine.start(), 0
    for step in range(6):
        good = [{"ts": (step * 10 + n) * 10**5, "key": "x", "n": n, "a": 1.0, "b": step * 10 + n} for n in range(10)]
        bad = [{"ts": DAY_US, "key": "x", "n": -1, "a": 1.0, "b": -1}] * copies
        state, output = engine.step(state, [table([*good, *bad])])
        late += output.ledger.late
    assert late == 0
    assert state.ledger.accepted == 60
    assert state.progress.t_max_us is not None
    assert state.progress.t_max_us < DAY_US
