"""Live answers equal brute force at every instant, whatever the cuts, the order, the degree."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skypane.flow.definition import Definition
from skypane.flow.live.choice import live_set
from skypane.flow.plan import OWNERSHIPS, Ownership
from skypane.flow.windows.emit.base import Emission
from skypane.flow.windows.emit.intervals import Intervals
from skypane.flow.windows.emit.updates import Updates
from skypane.kernels import sliding
from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.policies.fixed_delay import FixedDelay
from skypane.lateness.policies.harm import Harm
from skypane.lateness.policies.kslack import KSlack
from skypane.lateness.policy import Lateness
from skypane.local.engine import Engine, StepOutput
from skypane.local.preparation import prepare
from skypane.model.live import LiveSpec
from skypane.queries.base import Query
from skypane.queries.preferences import Preferences
from skypane.queries.skyline import Skyline
from skypane.queries.top_k import TopK
from skypane.testing.oracle import micros, usable
from tests.support.live_oracle import (
    expected_history,
    folded_updates,
    history_of_intervals,
    instants_of,
)

SCHEMA = pa.schema(
    [("ts", pa.timestamp("us", "UTC")), ("key", pa.string()), ("a", pa.float64()), ("b", pa.int64()), ("c", pa.int64())]
)
preferences = Preferences(("a", "c"), ("b",))
queries: st.SearchStrategy[Query] = st.sampled_from([Skyline(preferences), TopK(1, "a"), TopK(3, "b")])
policies: st.SearchStrategy[Lateness] = st.sampled_from(
    [KSlack(), KSlack("2 us"), FixedDelay("3 us"), FixedDelay("30 us"), Harm(0.2, max_slack="20 us")]
)
lives = st.sampled_from([(1, 1), (4, 1), (7, 3), (10, 4), (25, 2), (6, 50)])


@st.composite
def streams(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Records in arrival order; few different times and values, so that ties of both are common."""
    rng = random.Random(draw(st.integers(0, 2**32)))
    pace, disorder, values = draw(st.sampled_from([(1, 0, 3), (3, 5, 3), (1, 12, 4), (4, 9, 9), (9, 40, 3)]))
    rows = []
    for i in range(draw(st.integers(0, 40))):
        row = {
            "ts": None if rng.random() < 0.02 else i // pace - rng.randint(0, disorder),
            "key": rng.choice(["x", "x", "y", None]),
            "a": float("nan") if rng.random() < 0.02 else float(rng.randint(0, values)),
            "b": rng.choice([rng.randint(0, values), 2**53 + rng.randint(0, 1)]),
            "c": rng.randint(0, values),
        }
        rows += [row] * (2 if rng.random() < 0.1 else 1)
    return rows


def table_of(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, SCHEMA)


def texts(tables: list[pa.Table]) -> Counter[str]:
    """The records of some tables, told apart by what they say."""
    return Counter(repr(row) for table in tables for row in table.select(SCHEMA.names).to_pylist())


def run(
    definition: Definition,
    policy: Lateness,
    rows: list[dict[str, Any]],
    cuts: list[int],
    degree: int,
    seed: int,
    ownership: Ownership = "rr",
) -> tuple[list[StepOutput], pa.Table]:
    """The steps' outputs, and the records that were accepted."""
    guard, rng = FutureGuard(3_600_000_000), random.Random(seed)
    engine = Engine(definition, policy, guard, ownership=ownership)
    state, outputs = engine.start(), []
    for low, high in pairwise(sorted({0, len(rows), *(cut for cut in cuts if cut < len(rows))})):
        batch = rng.sample(rows[low:high], high - low)
        tasks = [table_of(batch[task::degree]) for task in range(degree)]
        before = state
        state, output = engine.step(before, tasks, degree)
        again, repeated = engine.step(before, [table_of(rows[low:high])], 1)
        assert again.progress == state.progress
        assert repeated.ledger == output.ledger
        assert repeated.joiners == 1
        assert texts(repeated.answers) == texts(output.answers)
        outputs.append(output)
    state, output = engine.flush(state, degree)
    assert not state.rows.panes
    assert state.ledger.delivered == len(rows)
    outputs.append(output)
    every = table_of(rows)
    lost = texts([table for o in outputs for table in (*o.late, *o.quarantined)])
    kept = []
    for index, row in enumerate(every.to_pylist()):
        if lost[repr(row)]:
            lost[repr(row)] -= 1
        else:
            kept.append(index)
    assert not +lost
    return outputs, every.take(pa.array(kept, pa.int64()))


def answers_of(outputs: list[StepOutput]) -> list[pa.Table]:
    return [table for output in outputs for table in output.answers]


@pytest.mark.parametrize("emission", [Updates(), Intervals()], ids=lambda emission: emission.name)
@settings(max_examples=150, deadline=None)
@given(
    rows=streams(),
    query=queries,
    life=lives,
    keys=st.sampled_from([(), ("key",)]),
    policy=policies,
    degree=st.integers(1, 4),
    ownership=st.sampled_from(OWNERSHIPS),
    big_key_rows=st.sampled_from([2, sliding.BIG_KEY_ROWS]),
    cuts=st.lists(st.integers(0, 40), max_size=6),
    seed=st.integers(0, 1000),
)
def test_the_answer_at_every_instant_equals_brute_force(
    emission: Emission,
    rows: list[dict[str, Any]],
    query: Query,
    life: tuple[int, int],
    keys: tuple[str, ...],
    policy: Lateness,
    degree: int,
    ownership: Ownership,
    big_key_rows: int,
    cuts: list[int],
    seed: int,
) -> None:
    sliding.BIG_KEY_ROWS = big_key_rows
    definition = Definition(query, LiveSpec(*life), "ts", keys, emit=emission, harm_horizon_us=40)
    outputs, accepted = run(definition, policy, rows, cuts, degree, seed, ownership)
    read = folded_updates if emission.name == "updates" else history_of_intervals
    instants = instants_of(definition, accepted)
    assert read(definition, answers_of(outputs), instants) == expected_history(definition, accepted)


@settings(max_examples=50, deadline=None)
@given(rows=streams(), query=queries, life=lives, cuts=st.lists(st.integers(0, 40), max_size=4))
def test_without_expiries_only_those_are_missing(
    rows: list[dict[str, Any]], query: Query, life: tuple[int, int], cuts: list[int]
) -> None:
    found = []
    for emission in (Updates(), Updates(expiries=False)):
        definition = Definition(query, LiveSpec(*life), "ts", ("key",), emit=emission)
        outputs, _ = run(definition, KSlack(), rows, cuts, 1, 0)
        found.append([row for table in answers_of(outputs) for row in table.to_pylist()])
    assert list(map(repr, found[1])) == [repr(row) for row in found[0] if row["cause"] != "expired"]


@settings(max_examples=100, deadline=None)
@given(
    rows=streams(),
    query=queries,
    life=lives,
    big_key_rows=st.sampled_from([2, sliding.BIG_KEY_ROWS]),
    seed=st.integers(0, 1000),
)
def test_tasks_may_leave_out_what_is_never_in_their_answers(
    rows: list[dict[str, Any]], query: Query, life: tuple[int, int], big_key_rows: int, seed: int
) -> None:
    """The pruning law: keep(keep(A) + keep(B)) = keep(A + B)."""
    sliding.BIG_KEY_ROWS = big_key_rows
    definition = Definition(query, LiveSpec(*life), "ts", ("key",), emit=Updates())
    timed = table_of([row for row in rows if row["ts"] is not None])
    everything = prepare(query, ("key",), timed)
    everything = everything.filter(usable(query, everything))
    live, rng = live_set(definition, life[0]), random.Random(seed)
    mask = pa.array([rng.random() < 0.5 for _ in range(everything.num_rows)], pa.bool_())
    halves = [live.prune(part) for part in (everything.filter(mask), everything.filter(pa.compute.invert(mask)))]
    assert texts([live.prune(pa.concat_tables(halves))]) == texts([live.prune(everything)])


NUMBERED = SCHEMA.append(pa.field("n", pa.int64()))


def ever_in(definition: Definition, known: pa.Table) -> set[int]:
    """The numbers of the records that are in the answer at some instant, were these all."""
    found = set()
    rows = prepare(definition.query, definition.keys, known).to_pylist()
    for key in {tuple(row[name] for name in definition.keys) for row in rows}:
        own = [row for row in rows if tuple(row[name] for name in definition.keys) == key]
        for instant in instants_of(definition, known):
            live = [row for row in own if 0 <= instant - micros(row["ts"]) < definition.window.reach_us]
            found |= {row["n"] for row in definition.query.reference(live)}
    return found


@settings(max_examples=100, deadline=None)
@given(
    rows=streams(),
    query=queries,
    life=lives,
    keys=st.sampled_from([(), ("key",)]),
    horizon_us=st.sampled_from([1, 9, 10**9]),
    degree=st.sampled_from([1, 3]),
    cuts=st.lists(st.integers(0, 40), max_size=8),
)
def test_harmful_are_the_late_records_that_would_ever_have_been_in_the_answer(
    rows: list[dict[str, Any]],
    query: Query,
    life: tuple[int, int],
    keys: tuple[str, ...],
    horizon_us: int,
    degree: int,
    cuts: list[int],
) -> None:
    window = LiveSpec(*life)
    definition = Definition(query, window, "ts", keys, emit=Updates(), harm_horizon_us=horizon_us)
    engine = Engine(definition, FixedDelay("3 us"), FutureGuard(3_600_000_000))
    state, accepted = engine.start(), []
    numbered = [{**row, "n": n} for n, row in enumerate(rows)]
    for low, high in pairwise(sorted({0, len(rows), *(cut for cut in cuts if cut < len(rows))})):
        tasks = [pa.Table.from_pylist(numbered[low:high][task::degree], NUMBERED) for task in range(degree)]
        state, output = engine.step(state, tasks, degree)
        late = [row for table in output.late for row in table.to_pylist()]
        unused = {row["n"] for table in output.quarantined for row in table.to_pylist()}
        judged_from = {r["n"]: window.sealed_before(micros(r["watermark"]) - horizon_us) for r in late}
        accepted += [row for row in numbered[low:high] if row["n"] not in {*judged_from, *unused}]
        # Those that are too old to be judged are taken for none of the others.
        old = {row["n"] for row in late if micros(row["ts"]) // window.pane_us < judged_from[row["n"]]}
        asked = [row for row in numbered[low:high] if row["n"] in judged_from.keys() - old]
        harmful = ever_in(definition, pa.Table.from_pylist([*accepted, *asked], NUMBERED))
        assert {row["n"]: row["harmful"] for row in late} == {
            n: None if n in old else n in harmful for n in judged_from
        }
