"""Streaming answers equal the oracle over accepted records, whatever the cuts, the order, the degree."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pyarrow as pa
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from skypane.flow.definition import Definition
from skypane.flow.windows.emit.changes import Changes
from skypane.kernels import sliding
from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.policies.fixed_delay import FixedDelay
from skypane.lateness.policies.kslack import KSlack
from skypane.lateness.policy import Lateness
from skypane.local.engine import Engine
from skypane.model.windows import WindowSpec
from skypane.queries.aggregates import Aggregates
from skypane.queries.base import Query
from skypane.queries.preferences import Preferences
from skypane.queries.skyline import Skyline
from skypane.queries.top_delta import TopDelta
from skypane.queries.top_k import TopK
from skypane.testing.oracle import Answer, actual_answers, as_text, expected_answers, micros

SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us", "UTC")),
        ("key", pa.string()),
        ("n", pa.int64()),
        ("a", pa.float64()),
        ("b", pa.int64()),
    ]
)

NUMBERS = [-1.5, -0.0, 0.0, 1.0, 2.0, 3.0, 1e300, float("inf"), float("-inf"), float("nan"), None]
INTEGERS = [0, 1, 2, 3, 2**53, 2**53 + 1, -(2**63)]
preferences = Preferences(("a",), ("b",))
queries: st.SearchStrategy[Query] = st.sampled_from(
    [
        Skyline(preferences),
        TopDelta(2, preferences),
        TopK(2, "a"),
        Aggregates.of(
            {
                "n_rows": "count",
                "lo": "min(a)",
                "hi": "max(b)",
                "total": "sum(n)",
                "avg": "mean(n)",
                "sd": "stddev(n)",
            }
        ),
        Aggregates.of(
            {
                "first_a": "first(a)",
                "last_b": "last(b, true)",
                "at_least": "min_by(n, a)",
                "values": "approx_count_distinct(a)",
                "median": "approx_percentile(b, 0.5, 6)",
                "var": "var_pop(n)",
            },
            "ts",
        ),
    ]
)


@st.composite
def streams(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Records in arrival order: event times drift upwards with disorder, a few are null or far ahead.

    Few, to show what is wrong, or many, to find it: Hypothesis alone would draw short streams of equal values.
    """
    count = draw(st.one_of(st.integers(0, 10), st.integers(30, 60)))
    rng = random.Random(draw(st.integers(0, 2**32)))
    step, disorder = (
        draw(st.sampled_from([1, 100_000, 700_000])),
        draw(st.sampled_from([0, 500_000, 4_000_000])),
    )
    rows = []
    for i in range(count):
        time: int | None = i * step - rng.randint(0, disorder) if disorder else i * step
        if rng.random() < 0.02:
            time = None
        elif rng.random() < 0.02:
            time = 10**14
        rows.append(
            {
                "ts": time,
                "key": rng.choice(["x", "y", None]),
                "n": i,
                "a": rng.choice(NUMBERS),
                "b": rng.choice(INTEGERS),
            }
        )
    return rows


windows = st.sampled_from(
    [
        (1_000_000, 1_000_000),
        (1_000_000, 200_000),
        (3_000_000, 2_000_000),
        (500_000, 2_000_000),
        (7, 3),
        (900_000, 1_300_000),
    ]
)
policies: st.SearchStrategy[Lateness] = st.sampled_from([KSlack(), KSlack("1 second"), FixedDelay("300 milliseconds")])


@settings(max_examples=150, deadline=None)
@given(
    rows=streams(),
    query=queries,
    spec=windows,
    keys=st.sampled_from([(), ("key",)]),
    policy=policies,
    degree=st.sampled_from([1, 2, 4]),
    slide=st.sampled_from(["auto", "tiles", "recompute"]),
    big_key_rows=st.sampled_from([2, sliding.BIG_KEY_ROWS]),
    cuts=st.lists(st.integers(0, 60), max_size=6),
    seed=st.integers(0, 1000),
)
def test_answers_equal_the_oracle_over_accepted_records(
    rows: list[dict[str, Any]],
    query: Query,
    spec: tuple[int, int],
    keys: tuple[str, ...],
    policy: Lateness,
    degree: int,
    slide: str,
    big_key_rows: int,
    cuts: list[int],
    seed: int,
) -> None:
    sliding.BIG_KEY_ROWS = big_key_rows
    definition = Definition(query, WindowSpec(*spec), "ts", keys, sliding=slide)
    engine = Engine(definition, policy, FutureGuard(3_600_000_000))
    rng = random.Random(seed)
    state, outputs = engine.start(), []
    borders = sorted({0, len(rows), *(c for c in cuts if c < len(rows))})
    for low, high in pairwise(borders):
        batch = rows[low:high]
        tasks = [pa.Table.from_pylist([r for r in batch if r["n"] % degree == d], SCHEMA) for d in range(degree)]
        rng.shuffle(tasks)
        before = state
        state, output = engine.step(before, tasks, degree)
        assert output.ledger.delivered == len(batch)
        # The same batch in one task, in another order, decides and answers the same.
        shuffled = pa.Table.from_pylist(rng.sample(batch, len(batch)), SCHEMA)
        again, repeated = engine.step(before, [shuffled], 1)
        assert again.progress == state.progress
        assert repeated.ledger == output.ledger
        assert actual_answers(definition, repeated.answers) == actual_answers(definition, output.answers)
        outputs.append(output)
    state, output = engine.flush(state, degree)
    outputs.append(output)
    assert not state.kept.panes

    assert state.ledger.delivered == len(rows)
    lost = {r["n"] for o in outputs for t in (*o.late, *o.quarantined) for r in t.to_pylist()}
    assert len(lost) == state.ledger.late + state.ledger.quarantined
    accepted = pa.Table.from_pylist([r for r in rows if r["n"] not in lost], SCHEMA)
    answers = actual_answers(definition, [t for o in outputs for t in o.answers])
    assert answers == expected_answers(definition, accepted)


@settings(max_examples=150, deadline=None)
@given(
    rows=streams(),
    query=queries,
    slide=st.sampled_from(["auto", "tiles", "recompute"]),
    spec=windows,
    keys=st.sampled_from([(), ("key",)]),
    degree=st.sampled_from([1, 3]),
    big_key_rows=st.sampled_from([2, sliding.BIG_KEY_ROWS]),
    cuts=st.lists(st.integers(0, 60), max_size=6),
)
def test_changes_fold_to_the_full_answers(
    rows: list[dict[str, Any]],
    query: Query,
    slide: str,
    spec: tuple[int, int],
    keys: tuple[str, ...],
    degree: int,
    big_key_rows: int,
    cuts: list[int],
) -> None:
    sliding.BIG_KEY_ROWS = big_key_rows
    assume(slide != "tiles" or not isinstance(query, Aggregates))
    full = Definition(query, WindowSpec(*spec), "ts", keys, sliding=slide)
    emitted = []
    for definition in (full, replace(full, emit=Changes())):
        engine = Engine(definition, KSlack(), FutureGuard(3_600_000_000))
        state, tables = engine.start(), []
        borders = sorted({0, len(rows), *(c for c in cuts if c < len(rows))})
        for low, high in pairwise(borders):
            state, output = engine.step(state, [pa.Table.from_pylist(rows[low:high], SCHEMA)], degree)
            tables += output.answers
        state, output = engine.flush(state, degree)
        emitted.append([*tables, *output.answers])
        # With changes, what is in the last answer stays in the state until a later window lets it go.
        assert not state.kept.panes or definition.emit.looks_back
    assert folded(full, emitted[1], actual_answers(full, emitted[0])) == actual_answers(full, emitted[0])


def folded(definition: Definition, changes: list[pa.Table], windows_wanted: Answer) -> Answer:
    """Apply the changes of each key in order, and note the answer of each wanted window after it."""
    by_window: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for table in changes:
        for row in table.to_pylist():
            where = (*(row[k] for k in definition.keys), micros(row["window"]["start"]))
            by_window[where].append(row)
    answers: Answer = {}
    current: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for where in sorted({*by_window, *windows_wanted}, key=lambda w: w[-1]):
        held = current[where[:-1]]
        for row in sorted(by_window[where], key=lambda r: int(r["change"])):
            change = row.pop("change")
            del row["window"]
            if change == 1:
                held.append(row)
            else:
                # To the last bit: what leaves is what came.
                del held[[repr(one) for one in held].index(repr(row))]
        if where in windows_wanted:
            answers[where] = as_text(definition, held)
        else:
            assert not held, "an answer that full emission does not have must be empty"
    return answers
