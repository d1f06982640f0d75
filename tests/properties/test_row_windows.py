"""Windows of records equal the oracle over accepted records, whatever the cuts, the order, the degree."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skypane.flow.definition import Definition
from skypane.flow.windows.emit.base import Emission
from skypane.flow.windows.emit.changes import Changes
from skypane.flow.windows.emit.full import Full
from skypane.kernels import sliding
from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.policies.fixed_delay import FixedDelay
from skypane.lateness.policies.kslack import KSlack
from skypane.lateness.policy import Lateness
from skypane.local.engine import Engine, StepOutput
from skypane.model.columns import ID
from skypane.model.groups import Groups
from skypane.model.row_windows import RowWindows
from skypane.queries.aggregates import Aggregates
from skypane.queries.base import Grouped, Query, Row
from skypane.queries.preferences import Preferences
from skypane.queries.skyline import Skyline
from skypane.queries.top_delta import TopDelta
from skypane.queries.top_k import TopK
from skypane.testing.oracle import Answer, actual_answers, as_text, expected_answers, where_of
from tests.support.functions import QUERIES as FUNCTIONS
from tests.support.records import SCHEMA

SECOND_US = 1_000_000


@dataclass(frozen=True)
class SumOfSquares(Query):
    """Somebody's own, which reads what it likes."""

    kind = "sum_of_squares"

    def describe(self) -> Mapping[str, object]:
        return {"type": self.kind}

    def check(self, schema: pa.Schema) -> None:
        assert "n" in schema.names

    def lift(self, rows: pa.Table, groups: Groups) -> Grouped:
        return self._summed(pc.multiply(rows.column("n"), rows.column("n")), groups)

    def combine(self, partials: pa.Table, groups: Groups) -> Grouped:
        return self._summed(partials.column("squares"), groups)

    def lower(self, partials: pa.Table, groups: Groups) -> Grouped:
        return Grouped(partials.select(["squares"]), groups)

    def reference(self, rows: Sequence[Row]) -> list[Row]:
        return [{"squares": sum(row["n"] ** 2 for row in rows)}]

    def _summed(self, values: pa.ChunkedArray, groups: Groups) -> Grouped:
        sums = np.add.reduceat(values.to_numpy(), groups.offsets[:-1]) if len(groups) else np.zeros(0, dtype=np.int64)
        return Grouped(pa.table({"squares": pa.array(sums, pa.int64())}), Groups.from_sizes(np.ones(len(groups))))


preferences = Preferences(("a",), ("b",))
QUERIES: tuple[Query, ...] = (
    Skyline(preferences),
    TopDelta(2, preferences),
    TopK(2, "a"),
    Aggregates.of({"records": "count", "low": "min(a)", "high": "max(b)", "total": "sum(n)"}),
    SumOfSquares(),
    FUNCTIONS["every other"],
    FUNCTIONS["digest, merged in order"],
)
WINDOWS = ((1, 1), (3, 3), (4, 2), (5, 2), (6, 4), (2, 5), (3, 7), (8, 1), (20, 1), (1, 4))
policies: st.SearchStrategy[Lateness] = st.sampled_from([KSlack(), FixedDelay("300 milliseconds")])


@st.composite
def streams(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Records in arrival order: times with ties and disorder, with pauses in which keys may be forgotten."""
    rng = random.Random(draw(st.integers(0, 2**32)))
    step_us, disorder_us = draw(st.sampled_from([(0, 0), (30_000, 0), (100_000, 500_000), (400_000, 4_000_000)]))
    pauses = draw(st.sampled_from([0.0, 0.1]))
    rows, now_us = [], draw(st.sampled_from([-3 * SECOND_US, 0]))
    for n in range(draw(st.integers(0, 70))):
        now_us += step_us + (5 * SECOND_US if rng.random() < pauses else 0)
        time = now_us - rng.randint(0, disorder_us) if disorder_us else now_us
        a = rng.choice([-1.5, -0.0, 0.0, 1.0, 2.0, float("inf")])
        row = {"n": n, "ts": time if rng.random() > 0.02 else None, "city": rng.choice(["x", "y", None])}
        rows.append({**row, "zone": rng.choice([1, 2]), "a": a, "b": rng.choice([0, 1, 2, 3, 2**53, 2**53 + 1])})
    return rows


def define(
    query: Query, window: tuple[int, int], keys: tuple[str, ...], sliding: str, ttl_us: int | None
) -> Definition:
    return Definition(query, RowWindows(*window, ttl_us), "ts", keys, sliding=sliding)


definitions = st.builds(
    define,
    st.sampled_from(QUERIES),
    st.sampled_from(WINDOWS),
    st.sampled_from([(), ("city",), ("city", "zone")]),
    st.sampled_from(["auto", "tiles", "recompute"]),
    st.sampled_from([None, 0, SECOND_US, 4 * SECOND_US]),
)
cuts = st.lists(st.integers(0, 70), max_size=6)


def table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), SCHEMA)


def batches_of(rows: Sequence[dict[str, Any]], cuts: Sequence[int]) -> list[Sequence[dict[str, Any]]]:
    borders = sorted({0, len(rows), *(c for c in cuts if c < len(rows))})
    return [rows[low:high] for low, high in pairwise(borders)]


def expected(definition: Definition, rows: Sequence[dict[str, Any]], outputs: Sequence[StepOutput]) -> Answer:
    """The answers over accepted records that are not empty."""
    lost = {r["n"] for o in outputs for t in (*o.late, *o.quarantined) for r in t.to_pylist()}
    answers = expected_answers(definition, table([row for row in rows if row["n"] not in lost]))
    return {where: rows for where, rows in answers.items() if rows}


@settings(max_examples=120, deadline=None)
@given(
    rows=streams(),
    definition=definitions,
    policy=policies,
    degree=st.sampled_from([1, 2, 4]),
    big_key_rows=st.sampled_from([2, sliding.BIG_KEY_ROWS]),
    cuts=cuts,
    seed=st.integers(0, 1000),
)
def test_answers_equal_the_oracle_over_accepted_records(
    rows: list[dict[str, Any]],
    definition: Definition,
    policy: Lateness,
    degree: int,
    big_key_rows: int,
    cuts: list[int],
    seed: int,
) -> None:
    sliding.BIG_KEY_ROWS = big_key_rows
    engine, rng = Engine(definition, policy, FutureGuard(3_600_000_000)), random.Random(seed)
    state, outputs = engine.start(), []
    for batch in batches_of(rows, cuts):
        tasks = [table([r for r in batch if r["n"] % degree == d]) for d in range(degree)]
        rng.shuffle(tasks)
        before = state
        state, output = engine.step(before, tasks, degree)
        again, repeated = engine.step(before, [table(rng.sample(list(batch), len(batch)))], 1)
        assert again.progress == state.progress
        assert actual_answers(definition, repeated.answers) == actual_answers(definition, output.answers)
        outputs.append(output)
    state, output = engine.flush(state, degree)
    outputs.append(output)
    answers = actual_answers(definition, [t for o in outputs for t in o.answers])
    assert answers == expected(definition, rows, outputs)
    assert state.ledger.delivered == len(rows)
    # All that is open has been told: to end once more tells nothing.
    assert not engine.flush(state, degree)[1].answers


@settings(max_examples=70, deadline=None)
@given(
    rows=streams(),
    definition=definitions.filter(lambda d: d.sliding != "tiles" or d.query.selective),
    degree=st.sampled_from([1, 3]),
    cuts=cuts,
)
def test_changes_fold_to_the_full_answers(
    rows: list[dict[str, Any]], definition: Definition, degree: int, cuts: list[int]
) -> None:
    emitted = []
    for each in (definition, replace(definition, emit=Changes())):
        engine = Engine(each, KSlack(), FutureGuard(3_600_000_000))
        state, tables = engine.start(), []
        for batch in batches_of(rows, cuts):
            state, output = engine.step(state, [table(batch)], degree)
            tables += output.answers
        emitted.append([*tables, *engine.flush(state, degree)[1].answers])
    full = actual_answers(definition, emitted[0])
    assert folded(definition, emitted[1], full) == full


def folded(definition: Definition, changes: Sequence[pa.Table], wanted: Mapping[tuple[Any, ...], Any]) -> Any:
    """Apply the changes of each key in the order of its windows; the first window of a life begins with nothing."""
    by_window: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in (row for each in changes for row in each.to_pylist()):
        by_window[where_of(definition, row)].append(row)
    answers, keys = {}, len(definition.keys)
    current: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    # By start of the life's windows, then rank: lives of a key follow each other.
    for where in sorted({*by_window, *wanted}, key=lambda w: (w[keys], w[keys + 2])):
        if where[keys + 2] == 0:
            current[where[:keys]] = []
        held = current[where[:keys]]
        for row in sorted(by_window[where], key=lambda r: int(r["change"])):
            change = row.pop("change")
            del row["window"]
            if change == 1:
                held.append(row)
            else:
                del held[[repr(one) for one in held].index(repr(row))]
        if held:
            answers[where] = as_text(definition, held)
    return answers


@settings(max_examples=40, deadline=None)
@given(
    rows=streams(),
    definition=definitions.filter(lambda d: not d.query.runs_functions and (d.sliding != "tiles" or d.query.selective)),
    degree=st.sampled_from([1, 3]),
    cuts=cuts,
    pauses=st.sets(st.integers(0, 6)),
)
def test_changes_add_up_to_the_newest_answer_at_every_point(
    rows: list[dict[str, Any]], definition: Definition, degree: int, cuts: list[int], pauses: set[int]
) -> None:
    """Of the newest window that was sent, partial or complete; those of complete windows to the newest of them."""
    full, changes = (
        Engine(each, FixedDelay("300 milliseconds"), FutureGuard(None))
        for each in (definition, replace(definition, emit=Changes()))
    )
    states = [full.start(), changes.start()]
    readers = [Reader(definition, partial=partial) for partial in (True, False)]
    for number, batch in enumerate([*batches_of(rows, cuts), []]):
        endings: list[Any] = ["step", *(["idle"] if number in pauses else []), *([] if batch else ["all"])]
        for ending in endings:
            outputs = []
            for at, engine in enumerate((full, changes)):
                taken = engine.step(states[at], [table(batch)], degree) if ending == "step" else None
                states[at], output = taken or engine.flush(states[at], degree, ending=ending)
                outputs.append(output)
            for reader in readers:
                reader.read(*outputs)
                assert reader.added_up == reader.newest


@dataclass
class Reader:
    """Somebody who adds changes up, and somebody who looks at whole answers."""

    definition: Definition
    partial: bool
    """Whether they look at partial windows, too."""
    added_up: dict[tuple[Any, ...], Counter[str]] = field(default_factory=dict)
    newest: dict[tuple[Any, ...], Counter[str]] = field(default_factory=dict)
    lives: dict[tuple[Any, ...], Any] = field(default_factory=dict)

    def read(self, full: StepOutput, changes: StepOutput) -> None:
        seen: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        for where, window, text, _ in self._rows(full):
            key = where[: len(self.definition.keys)]
            if seen.get(key) != where:
                self.newest[key] = Counter()
            seen[key] = where
            self.newest[key][text] += 1
            del window
        for where, window, text, change in self._rows(changes):
            key = where[: len(self.definition.keys)]
            if window["first"] == 0 and self.lives.get(key) != window["start"]:
                self.added_up[key], self.lives[key] = Counter(), window["start"]
            self.added_up[key][text] += change
            assert self.added_up[key][text] >= 0
            self.added_up[key] += Counter()  # without those that are gone

    def _rows(self, output: StepOutput) -> Iterator[tuple[Any, dict[str, Any], str, int]]:
        for row in (row for each in output.answers for row in each.to_pylist()):
            where, window, change = where_of(self.definition, row), row.pop("window"), row.pop("change", 1)
            if self.partial or not window["partial"]:
                yield where, window, repr(row), change


@settings(max_examples=50, deadline=None)
@given(rows=streams(), definition=definitions, cuts=cuts, pauses=st.sets(st.integers(0, 6)))
def test_what_is_told_in_a_pause_changes_nothing_else(
    rows: list[dict[str, Any]], definition: Definition, cuts: list[int], pauses: set[int]
) -> None:
    """Complete windows are answered once, as without the pause, given which records are accepted."""
    engine = Engine(definition, FixedDelay("300 milliseconds"), FutureGuard(None))
    state, outputs = engine.start(), []
    for number, batch in enumerate(batches_of(rows, cuts)):
        state, output = engine.step(state, [table(batch)])
        outputs.append(output)
        if number in pauses:
            state, output = engine.flush(state, ending="idle")
            outputs.append(output)
            assert not engine.flush(state, ending="idle")[1].answers
    outputs.append(engine.flush(state)[1])
    answers = actual_answers(definition, [t for o in outputs for t in o.answers])
    wanted = expected(definition, rows, outputs)
    assert {where: rows for where, rows in answers.items() if where in wanted} == wanted
    assert all(where[-1] for where in answers.keys() - wanted.keys())


def test_a_million_keys_are_not_looked_at_one_by_one() -> None:
    """Counters stay few where keys are forgotten, and their names are not used twice while they live."""
    definition = Definition(Aggregates.of({"n": "count"}), RowWindows(2, 1, SECOND_US), "ts", ("city",))
    engine = Engine(definition, FixedDelay("0 seconds"), FutureGuard(None))
    state = engine.start()
    for step in range(8):
        rows = [
            {"n": k, "ts": step * 2 * SECOND_US + k, "city": f"{step}-{k}", "zone": 1, "a": 1.0, "b": 1}
            for k in range(50)
        ]
        state, _ = engine.step(state, [table(rows)])
        kept = sum(each.num_rows for each in state.rows.counters)
        assert kept <= 100
        names = [name for each in state.rows.counters for name in each.column("__sp_counter").to_pylist()]
        assert len(names) == len(set(names)) == kept


def test_a_time_to_live_may_be_as_long_as_durations_are() -> None:
    definition = Definition(Aggregates.of({"n_rows": "count"}), RowWindows(3, 3, 2**63 - 1), "ts", ("city",))
    engine = Engine(definition, FixedDelay("0 seconds"), FutureGuard(None))
    state, seen = engine.start(), []
    for first in (0, 2):
        rows = [
            {"n": n, "ts": (1_700_000_000 + n) * SECOND_US, "city": "x", "zone": 1, "a": 1.0, "b": 1}
            for n in (first, first + 1)
        ]
        state, output = engine.step(state, [table(rows)])
        seen.append([row["n_rows"] for each in output.answers for row in each.to_pylist()])
    assert seen == [[], [3]]


def test_record_ids_are_not_kept_once_they_have_said_who_comes_first_also_where_they_were() -> None:
    query = next(query for query in QUERIES if query.kind == "skyline")
    engine = Engine(Definition(query, RowWindows(3, 1), "ts", ("city",)), FixedDelay("0 seconds"), FutureGuard(None))

    def batch(first: int) -> pa.Table:
        return table(
            [{"n": n, "ts": n * SECOND_US, "city": "x", "zone": 1, "a": 1.0, "b": n % 3} for n in (first, first + 1)]
        )

    state, _ = engine.step(engine.start(), [batch(0)])
    (panes,) = state.rows.panes
    assert ID not in panes.column_names
    with_ids = panes.append_column(ID, pa.array(range(panes.num_rows), pa.int64()))
    old = replace(state, rows=replace(state.rows, panes=(with_ids,)))
    for known in (state, old):
        _, output = engine.step(known, [batch(2)])
        answers = [row["n"] for each in output.answers for row in each.to_pylist()]
        assert answers == [2]


@pytest.mark.parametrize("emit", [Full(), Changes()])
def test_windows_of_a_key_come_in_order_also_those_of_its_next_life(emit: Emission) -> None:
    query, window = Aggregates.of({"high": "max(n)"}), RowWindows(2, 1, SECOND_US)
    engine = Engine(Definition(query, window, "ts", emit=emit), FixedDelay("0 seconds"), FutureGuard(None))
    times = [0, 1, 2, 7, 8, 9]
    rows = [{"n": t, "ts": t * SECOND_US, "city": "x", "zone": 1, "a": 1.0, "b": 1} for t in times]
    state, output = engine.step(engine.start(), [table(rows)])
    told = [row for each in (*output.answers, *engine.flush(state)[1].answers) for row in each.to_pylist()]
    seen = [(row["window"]["first"], row["high"]) for row in told if row.get("change", 1) == 1]
    partial = [(2, 2), (2, 9)] if emit.name == "full" else []  # those of changes are equal to the answer before
    complete = [(0, 1), (1, 2), (0, 8), (1, 9)]
    assert seen == sorted([*complete, *partial], key=lambda place: (place[1], place[0]))


@pytest.mark.parametrize("size", [0, -1, 1.5, True, 2**31])
def test_sizes_that_cannot_be_meant_are_refused(size: Any) -> None:
    with pytest.raises(ValueError, match="window_rows"):
        RowWindows.parse(size)
    with pytest.raises(ValueError, match="slide"):
        RowWindows.parse(3, size)
