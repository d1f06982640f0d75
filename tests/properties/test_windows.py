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
from skypane.lateness.policies.kslack import KSlack
from skypane.lateness.policy import Lateness
from skypane.local.engine import Engine
from skypane.model.windows import WindowSpec
from skypane.queries.aggregates import Aggregates
from skypane.queries.base import Query
from skypane.testing.oracle import Answer, actual_answers, as_text, expected_answers, micros
from tests.support.strategies import SCHEMA, policies, queries, streams, windows


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
    assert not state.rows.panes

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
        assert not state.rows.panes or definition.emit.looks_back
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
