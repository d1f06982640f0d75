"""Answers that leave before their step ends: all of them, once, each key's windows with no more disorder than asked."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from skypane.flow.definition import Definition
from skypane.flow.windows.emit.base import Emission
from skypane.flow.windows.emit.changes import Changes
from skypane.flow.windows.emit.full import Full
from skypane.flow.windows.emit.updates import Updates
from skypane.local.delivery import Delivery
from skypane.local.engine import Engine
from skypane.model.live import LiveSpec
from skypane.model.row_windows import RowWindows
from skypane.model.windows import WindowSpec
from skypane.queries.aggregates import Aggregates
from skypane.queries.preferences import Preferences
from skypane.queries.skyline import Skyline
from skypane.queries.top_k import TopK
from skypane.scheduling.partitioning import PARTITIONINGS, Partitioning
from skypane.testing.oracle import micros, row_texts
from tests.flow.test_engine_properties import SCHEMA, streams
from tests.flow.test_lateness_properties import batches
from tests.flow.test_one_key import GUARD, POLICY
from tests.scheduling.test_k_ordered import k_ordered


@settings(max_examples=60, deadline=None)
@given(
    rows=streams(),
    query=st.sampled_from([TopK(2, "a"), Aggregates.of({"n_rows": "count", "total": "sum(n)"})]),
    spec=st.sampled_from([(1_000_000, 200_000), (3_000_000, 2_000_000), (900_000, 1_300_000)]),
    keys=st.sampled_from([(), ("key",)]),
    kind=st.sampled_from([(Full(), 0), (Full(), 3_000_000), (Changes(), 0)]),
    partitioning=st.sampled_from(PARTITIONINGS),
    degree=st.integers(1, 6),
    disorder=st.integers(0, 4),
    cuts=st.lists(st.integers(0, 60), max_size=3),
)
def test_what_is_delivered_is_what_the_step_answers(
    rows: list[dict[str, Any]],
    query: TopK | Aggregates,
    spec: tuple[int, int],
    keys: tuple[str, ...],
    kind: tuple[Emission, int],
    partitioning: Partitioning,
    degree: int,
    disorder: int,
    cuts: list[int],
) -> None:
    emit, allowed_us = kind
    definition = Definition(query, WindowSpec(*spec), "ts", keys, emit=emit, allowed_lateness_us=allowed_us)
    engine = Engine(definition, POLICY, GUARD, None, partitioning)
    state = engine.start()
    for batch in [*batches(rows, cuts), None]:
        got: list[pa.Table] = []
        delivery = Delivery(got.append, disorder)
        if batch is None:
            state, output = engine.flush(state, degree, delivery=delivery)
        else:
            state, output = engine.step(state, [pa.Table.from_pylist(batch, SCHEMA)], degree, delivery=delivery)
        assert row_texts([row for table in got for row in table.to_pylist()]) == row_texts(
            [row for table in output.answers for row in table.to_pylist()]
        )
        left: dict[tuple[Any, ...], list[int]] = defaultdict(list)
        for row in (row for table in got for row in table.to_pylist() if not row.get("revision")):
            order, start = left[tuple(row[key] for key in keys)], micros(row["window"]["start"])
            if not order or order[-1] != start:
                order.append(start)
        assert all(k_ordered(order, disorder) for order in left.values())


@settings(max_examples=30, deadline=None)
@given(
    rows=streams(),
    definition=st.sampled_from(
        [
            Definition(Aggregates.of({"n_rows": "count"}), RowWindows(3, 2, 1_000_000), "ts", ("key",)),
            Definition(Aggregates.of({"n_rows": "count"}), RowWindows(3, 2), "ts", emit=Changes()),
            Definition(
                Skyline(Preferences(("a",), ("b",))), LiveSpec.parse("1 second"), "ts", ("key",), emit=Updates()
            ),
        ]
    ),
    degree=st.integers(1, 3),
    cuts=st.lists(st.integers(0, 60), max_size=3),
)
def test_answers_without_windows_of_time_are_delivered_too(
    rows: list[dict[str, Any]], definition: Definition, degree: int, cuts: list[int]
) -> None:
    engine = Engine(definition, POLICY, GUARD)
    state = engine.start()
    for batch in [*batches(rows, cuts), None]:
        got: list[pa.Table] = []
        if batch is None:
            state, output = engine.flush(state, degree, delivery=Delivery(got.append))
        else:
            tasks = [pa.Table.from_pylist(batch, SCHEMA)]
            state, output = engine.step(state, tasks, degree, delivery=Delivery(got.append))
        assert [row for table in got for row in table.to_pylist()] == [
            row for table in output.answers for row in table.to_pylist()
        ]
