"""Runs: a query in the in-process engine, with windows, steps, tasks and degrees as they come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import pyarrow as pa
from hypothesis import strategies as st

from skypane.flow.definition import Definition
from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.policies.fixed_delay import FixedDelay
from skypane.local.engine import Engine
from skypane.local.preparation import prepare
from skypane.model.windows import WindowSpec
from skypane.queries.base import Query, Row
from skypane.testing.law import expect
from skypane.testing.oracle import EPOCH, actual_answers, expected_answers, usable
from skypane.tuning.patterns.base import Pattern

STEP_US, GRAIN_US = 1_000_000, 250_000
"""The times of a step begin at a multiple of the first, and reach into the next step: disorder, but nothing is late."""
GRAINS = 2 * STEP_US // GRAIN_US
WINDOWS_US = ((1_000_000, 1_000_000), (1_000_000, 250_000), (500_000, 1_000_000), (4_000_000, 250_000))
"""Tumbling, sliding, hopping, and of so many panes that they are combined in tiles."""


@dataclass(frozen=True)
class Run:
    """A stream, step by step and task by task, and how it is asked."""

    steps: Sequence[Sequence[pa.Table]]
    time: str
    key: str
    keyed: bool
    window_us: tuple[int, int]
    sliding: str
    degree: int

    def definition(self, query: Query) -> Definition:
        """The continuous query."""
        keys = (self.key,) if self.keyed else ()
        return Definition(query, WindowSpec(*self.window_us), self.time, keys, sliding=self.sliding)


def answers_equal_reference_in_every_window(query: Query, run: Run) -> None:
    """Run as a stream, every window of every key answers what the reference says about its usable records."""
    expect_reference(query, run)


def expect_reference(query: Query, run: Run, pattern: Pattern | None = None) -> None:
    """The answers of a run are those of the reference, however tasks share the work."""
    definition = run.definition(query)
    engine = Engine(definition, FixedDelay("1 second"), FutureGuard(None), pattern=pattern)
    state, answers = engine.start(), []
    for tasks in run.steps:
        state, output = engine.step(state, tasks, run.degree)
        answers += output.answers
    state, output = engine.flush(state, run.degree)
    answers += output.answers
    records = pa.concat_tables([table for tasks in run.steps for table in tasks])
    accepted = records.filter(usable(query, prepare(query, definition.keys, records)))
    expect(state.ledger.accepted, accepted.num_rows)
    expect(state.ledger.quarantined, records.num_rows - accepted.num_rows)
    expected = {where: rows for where, rows in expected_answers(definition, accepted).items() if rows}
    expect(actual_answers(definition, answers), expected)


def runs(schema: pa.Schema, row: st.SearchStrategy[Row]) -> st.SearchStrategy[Run]:
    """Streams of such rows, with a time and a key; up to four steps, each of up to three tasks."""
    time, key = _free(schema, "ts"), _free(schema, "key")
    full = schema.append(pa.field(time, pa.timestamp("us", "UTC"))).append(pa.field(key, pa.string()))
    record = st.tuples(row, st.integers(0, GRAINS - 1), st.sampled_from(["x", "y", None]))
    tasks = st.lists(st.lists(record, max_size=5), min_size=1, max_size=3)

    def tables(number: int, step: list[list[tuple[Row, int, str | None]]]) -> list[pa.Table]:
        def stamped(own: Row, grain: int, name: str | None) -> Row:
            since = timedelta(microseconds=number * STEP_US + grain * GRAIN_US)
            return {**own, time: EPOCH + since, key: name}

        return [pa.Table.from_pylist([stamped(*one) for one in task], full) for task in step]

    steps = st.lists(tasks, min_size=1, max_size=4).map(lambda drawn: [tables(n, s) for n, s in enumerate(drawn)])
    return st.builds(
        Run,
        steps,
        st.just(time),
        st.just(key),
        st.booleans(),
        st.sampled_from(WINDOWS_US),
        st.sampled_from(["auto", "tiles", "recompute"]),
        st.sampled_from([1, 2, 4]),
    )


def _free(schema: pa.Schema, name: str) -> str:
    while name in schema.names:
        name += "_"
    return name
