"""Functions over windows answer like the oracle, whatever the cuts, the order of arrival, the degree, the emission."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from skypane.flow.definition import Definition
from skypane.flow.windows.emit.base import Emission
from skypane.flow.windows.emit.changes import Changes
from skypane.flow.windows.emit.full import Full
from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.policies.fixed_delay import FixedDelay
from skypane.lateness.policy import Lateness
from skypane.local.engine import Engine, StepOutput
from skypane.model.windows import WindowSpec
from skypane.queries.apply import Apply
from skypane.queries.base import Query
from skypane.testing.oracle import Answer, actual_answers, as_text, expected_answers, micros
from tests.support import functions as samples
from tests.support.functions import QUERIES
from tests.support.strategies import SCHEMA, policies, streams, windows


@dataclass(frozen=True)
class Case:
    """A stream, what is asked of it, and how it is cut."""

    rows: list[dict[str, Any]]
    name: str
    spec: tuple[int, int]
    keys: tuple[str, ...]
    policy: Lateness
    degree: int
    cuts: list[int]
    seed: int

    def definition(self, query: Query | None = None, **options: Any) -> Definition:
        return Definition(query or QUERIES[self.name], WindowSpec(*self.spec), "ts", self.keys, **options)

    def run(self, definition: Definition, policy: Lateness | None = None) -> list[StepOutput]:
        """Every step on several tasks, in any order."""
        engine = Engine(definition, policy or self.policy, FutureGuard(3_600_000_000))
        rng, state, outputs = random.Random(self.seed), engine.start(), []
        for low, high in pairwise(sorted({0, len(self.rows), *(cut for cut in self.cuts if cut < len(self.rows))})):
            batch = rng.sample(self.rows[low:high], high - low)
            tasks = [pa.Table.from_pylist(batch[task :: self.degree], SCHEMA) for task in range(self.degree)]
            state, output = engine.step(state, tasks, self.degree)
            outputs.append(output)
        outputs.append(engine.flush(state, self.degree)[1])
        return outputs


cases = st.builds(
    Case,
    streams(),
    st.sampled_from(sorted(QUERIES)),
    windows,
    st.sampled_from([(), ("key",), ("key", "b")]),
    policies,
    st.sampled_from([1, 2, 3]),
    st.lists(st.integers(0, 60), max_size=6),
    st.integers(0, 1000),
)


def accepted_of(rows: list[dict[str, Any]], outputs: list[StepOutput]) -> pa.Table:
    lost = {
        n for output in outputs for table in (*output.late, *output.quarantined) for n in table.column("n").to_pylist()
    }
    return pa.Table.from_pylist([row for row in rows if row["n"] not in lost], SCHEMA)


@settings(max_examples=70, deadline=None)
@given(cases, st.booleans())
def test_answers_equal_the_oracle(case: Case, tiles: bool) -> None:
    definition = case.definition(sliding="tiles" if tiles else "auto")
    outputs = case.run(definition)
    expected = expected_answers(definition, accepted_of(case.rows, outputs))
    answers = actual_answers(definition, [table for output in outputs for table in output.answers])
    assert answers == {where: texts for where, texts in expected.items() if texts}


@settings(max_examples=40, deadline=None)
@given(cases)
def test_changes_fold_to_full_answers(case: Case) -> None:
    # Lists cannot be compared, which is refused.
    full = case.definition(QUERIES["bounds"] if case.name == "moments" else None)
    changes = replace(full, emit=Changes())
    outputs = case.run(changes)
    expected = expected_answers(full, accepted_of(case.rows, outputs))
    assert folded(changes, outputs, expected) == {where: texts for where, texts in expected.items() if texts}


@settings(max_examples=40, deadline=None)
@given(cases, st.sampled_from([Full(), Changes()]))
def test_windows_that_fail_are_set_aside_once(case: Case, emit: Emission) -> None:
    picky = Apply.of(samples.picky, pa.schema([*samples.BOUNDS, ("starts", pa.int64())]))
    outputs = case.run(case.definition(picky, emit=emit, sets_aside=True))
    failed = [row for output in outputs for table in output.failed for row in table.to_pylist()]
    counted = case.definition(QUERIES["bounds"])
    every = expected_answers(counted, accepted_of(case.rows, outputs))
    wanted = {where for where in every if where[-1] // 500_000 % 5 == 3}
    assert sorted(map(repr, wanted)) == sorted(
        repr((*(row[key] for key in case.keys), micros(row["window"]["start"]))) for row in failed
    )
    assert all(row["function"].endswith(":picky") and row["records"] > 0 for row in failed)


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
@given(cases)
def test_revisions_end_at_the_oracle(case: Case) -> None:
    definition, keys = case.definition(allowed_lateness_us=3_000_000), case.keys
    outputs = case.run(definition, FixedDelay("100 milliseconds"))
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
    expected = expected_answers(definition, accepted_of(case.rows, outputs))
    assert answers == {where: texts for where, texts in expected.items() if texts}


def _by_size(records: pa.Table) -> list[dict[str, Any]]:
    """Of one record a row, of two an error, of three nothing, of more the same row each time."""
    if records.num_rows == 2:
        raise ValueError("two")
    return [] if records.num_rows == 3 else [{"rows": min(records.num_rows, 4), "values": [float("nan")]}]


def test_an_answer_that_failed_and_is_gone_is_taken_back() -> None:
    query = Apply.of(_by_size, pa.schema([("rows", pa.int64()), ("values", pa.list_(pa.float64()))]))
    definition = Definition(query, WindowSpec(1_000, 1_000), "ts", ("key",), allowed_lateness_us=10**6, sets_aside=True)
    engine = Engine(definition, FixedDelay("0 seconds"), FutureGuard(None))
    state, seen = engine.start(), []
    for number, times in enumerate([[1, 5_000], [2], [3], [4], [5]]):
        rows = [{"ts": time, "key": "x", "n": number, "a": 1.0, "b": 1} for time in times]
        state, output = engine.step(state, [pa.Table.from_pylist(rows, SCHEMA)])
        answers = [(row["key"], row["revision"], row["rows"]) for table in output.answers for row in table.to_pylist()]
        seen.append((answers, sum(table.num_rows for table in output.failed)))
    assert seen == [([("x", 0, 1)], 0), ([], 1), ([("x", 1, None)], 0), ([("x", 2, 4)], 0), ([], 0)]
