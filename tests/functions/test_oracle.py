"""Functions over windows answer like the oracle, whatever the cuts, the order of arrival, the degree, the emission."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from skypane.flow.definition import Definition
from skypane.flow.windows.emit.changes import Changes
from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.policies.fixed_delay import FixedDelay
from skypane.lateness.policy import Lateness
from skypane.local.engine import Engine, StepOutput
from skypane.model.windows import WindowSpec
from skypane.testing.oracle import Answer, actual_answers, as_text, expected_answers, micros
from tests.flow.test_engine_properties import SCHEMA, policies, streams, windows
from tests.functions.samples import QUERIES

names = st.sampled_from(sorted(QUERIES))
keys_of = st.sampled_from([(), ("key",), ("key", "b")])
degrees = st.sampled_from([1, 2, 3])
cut_lists = st.lists(st.integers(0, 60), max_size=6)


def run(
    definition: Definition, policy: Lateness, rows: list[dict[str, Any]], cuts: list[int], degree: int, seed: int
) -> list[StepOutput]:
    """Every step on several tasks, in any order."""
    engine, rng = Engine(definition, policy, FutureGuard(3_600_000_000)), random.Random(seed)
    state, outputs = engine.start(), []
    for low, high in pairwise(sorted({0, len(rows), *(cut for cut in cuts if cut < len(rows))})):
        batch = rng.sample(rows[low:high], high - low)
        tasks = [pa.Table.from_pylist(batch[task::degree], SCHEMA) for task in range(degree)]
        state, output = engine.step(state, tasks, degree)
        outputs.append(output)
    outputs.append(engine.flush(state, degree)[1])
    return outputs


def accepted_of(rows: list[dict[str, Any]], outputs: list[StepOutput]) -> pa.Table:
    lost = {
        n for output in outputs for table in (*output.late, *output.quarantined) for n in table.column("n").to_pylist()
    }
    return pa.Table.from_pylist([row for row in rows if row["n"] not in lost], SCHEMA)


@settings(max_examples=70, deadline=None)
@given(streams(), names, windows, keys_of, policies, degrees, cut_lists, st.integers(0, 1000), st.booleans())
def test_answers_equal_the_oracle(
    rows: list[dict[str, Any]],
    name: str,
    spec: tuple[int, int],
    keys: tuple[str, ...],
    policy: Lateness,
    degree: int,
    cuts: list[int],
    seed: int,
    tiles: bool,
) -> None:
    definition = Definition(QUERIES[name], WindowSpec(*spec), "ts", keys, sliding="tiles" if tiles else "auto")
    outputs = run(definition, policy, rows, cuts, degree, seed)
    expected = {
        where: texts for where, texts in expected_answers(definition, accepted_of(rows, outputs)).items() if texts
    }
    assert actual_answers(definition, [table for output in outputs for table in output.answers]) == expected


@settings(max_examples=40, deadline=None)
@given(streams(), names, windows, keys_of, policies, degrees, cut_lists, st.integers(0, 1000))
def test_changes_fold_to_full_answers(
    rows: list[dict[str, Any]],
    name: str,
    spec: tuple[int, int],
    keys: tuple[str, ...],
    policy: Lateness,
    degree: int,
    cuts: list[int],
    seed: int,
) -> None:
    full = Definition(QUERIES[name if name != "moments" else "bounds"], WindowSpec(*spec), "ts", keys)
    changes = replace(full, emit=Changes())
    outputs = run(changes, policy, rows, cuts, degree, seed)
    expected = expected_answers(full, accepted_of(rows, outputs))
    assert folded(changes, outputs, expected) == {where: texts for where, texts in expected.items() if texts}


def folded(definition: Definition, outputs: list[StepOutput], like: Answer) -> Answer:
    """The answers of these windows, from what comes and goes."""
    changes: dict[tuple[Any, ...], dict[int, list[tuple[int, str]]]] = defaultdict(lambda: defaultdict(list))
    for row in (row for output in outputs for table in output.answers for row in table.to_pylist()):
        text = as_text(definition, [{n: v for n, v in row.items() if n != "change"}])[0]
        key = tuple(row[k] for k in definition.keys)
        changes[key][micros(row["window"]["start"])].append((row["change"], text))
    answers: Answer = {}
    for key, by_start in changes.items():
        now: Counter[str] = Counter()
        # Windows without records are not there: nothing is in them, and nothing comes.
        for start in sorted({*by_start, *(where[-1] for where in like if where[:-1] == key)}):
            for change, text in by_start.get(start, []):
                now[text] += change
            assert min(now.values(), default=0) >= 0
            where = (*key, start)
            if +now:
                answers[where] = sorted(now.elements())
    return answers


@settings(max_examples=40, deadline=None)
@given(streams(), names, windows, keys_of, degrees, cut_lists, st.integers(0, 1000))
def test_revisions_end_at_the_oracle(
    rows: list[dict[str, Any]],
    name: str,
    spec: tuple[int, int],
    keys: tuple[str, ...],
    degree: int,
    cuts: list[int],
    seed: int,
) -> None:
    definition = Definition(QUERIES[name], WindowSpec(*spec), "ts", keys, allowed_lateness_us=3_000_000)
    outputs = run(definition, FixedDelay("100 milliseconds"), rows, cuts, degree, seed)
    latest: dict[tuple[Any, ...], tuple[int, list[dict[str, Any]]]] = {}
    for output in outputs:
        here: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
        for row in (row for table in output.answers for row in table.to_pylist()):
            where = (*(row[k] for k in keys), micros(row["window"]["start"]), row["revision"])
            here[where].append(row)
        for numbered, group in sorted(here.items(), key=lambda item: item[0][-1]):
            where, revision = numbered[:-1], numbered[-1]
            before = latest.get(where, (-1, []))[0]
            # A window that was empty at first has no answer of its own to be corrected.
            assert revision == before + 1 or (before < 0 and revision == 1), (where, before)
            latest[where] = (revision, [{n: v for n, v in row.items() if n != "revision"} for row in group])
    own = definition.query.added_columns()
    answers = {
        where: as_text(definition, group)
        for where, (revision, group) in latest.items()
        if not (revision and all(row[name] is None for row in group for name in own))
    }
    expected = expected_answers(definition, accepted_of(rows, outputs))
    assert answers == {where: texts for where, texts in expected.items() if texts}
