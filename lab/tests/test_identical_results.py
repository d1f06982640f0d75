"""Answers are the same under every strategy, degree and schedule: real records, real partials, virtual workers."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skypane.flow.definition import Definition
from skypane.local.preparation import prepare
from skypane.model.columns import GROUP
from skypane.model.windows import WindowSpec
from skypane.queries.aggregates import Aggregates
from skypane.queries.base import Query
from skypane.queries.preferences import Preferences
from skypane.queries.skyline import Skyline
from skypane.queries.top_delta import TopDelta
from skypane.queries.top_k import TopK
from skypane.testing.oracle import as_text, expected_answers, size_and_slide_us
from skypane.tuning.splitting.splitting_controller import ControlOptions
from skypane_lab.partials import QueryAlgebra
from skypane_lab.record_run import Answer, Batch, Resize, run_records
from skypane_lab.strategies.pane_strategies import PANE_STRATEGIES, pane_strategy
from skypane_lab.strategies.window_strategies import WINDOW_STRATEGIES, window_strategy

PREFERENCES = Preferences.of(["a"], ["b"])
QUERIES: list[Query] = [
    Skyline(PREFERENCES),
    TopDelta(2, PREFERENCES),
    TopK(3, "a"),
    Aggregates.of({"n_rows": "count", "hi": "max(b)", "total": "sum(n)", "avg": "mean(a)"}),
]
SCHEMA = pa.schema([("ts", pa.timestamp("us", "UTC")), ("n", pa.int64()), ("a", pa.float64()), ("b", pa.int64())])
WINDOWS = [(1_000_000, 200_000), (600_000, 400_000), (300_000, 300_000), (200_000, 500_000)]


def batches_of(definition: Definition, rows: list[dict[str, Any]], cuts: list[int]) -> list[Batch]:
    """The rows in order of arrival, a batch every 30 ms."""
    prepared = prepare(definition.query, (), pa.Table.from_pylist(rows, SCHEMA)).drop_columns([GROUP])
    times = prepared.column("ts").cast(pa.int64()).to_numpy()
    panes = definition.window.pane_of(times)
    in_window = np.flatnonzero(definition.window.in_some_window(panes))
    prepared, panes = prepared.take(pa.array(in_window)), panes[in_window]
    borders = sorted({0, len(panes), *(cut for cut in cuts if cut < len(panes))})
    spans = pairwise(borders)
    return [
        Batch(30_000.0 * number, prepared.slice(low, high - low), panes[low:high])
        for number, (low, high) in enumerate(spans)
    ]


def texts(definition: Definition, answers: list[Answer]) -> dict[tuple[Any, ...], list[str]]:
    _, slide_us = size_and_slide_us(definition.window)
    found = {(int(answer.window * slide_us),): as_text(definition, answer.rows.to_pylist()) for answer in answers}
    return {where: rows for where, rows in found.items() if rows}


def schedules(batches: list[Batch]) -> st.SearchStrategy[list[Resize]]:
    """Workers come and go with batches, and between them."""
    times = st.integers(0, 2 * len(batches)).map(lambda half: 15_000.0 * half)
    changes = st.lists(st.builds(Resize, times, st.integers(1, 6), st.integers(1, 6)), max_size=12)
    return changes.map(lambda drawn: sorted(drawn, key=lambda change: change.at_us))


@settings(max_examples=150, deadline=None)
@given(
    data=st.data(),
    query=st.sampled_from(QUERIES),
    spec=st.sampled_from(WINDOWS),
    pane_name=st.sampled_from(PANE_STRATEGIES),
    window_name=st.sampled_from(WINDOW_STRATEGIES),
    degrees=st.tuples(st.integers(1, 6), st.integers(1, 6)),
    record_us=st.sampled_from([0.0, 100.0, 20_000.0]),
    row_us=st.sampled_from([0.0, 10.0, 50_000.0]),
)
def test_answers_equal_the_oracle_in_order(
    data: st.DataObject,
    query: Query,
    spec: tuple[int, int],
    pane_name: str,
    window_name: str,
    degrees: tuple[int, int],
    record_us: float,
    row_us: float,
) -> None:
    definition = Definition(query, WindowSpec(*spec), "ts")
    rng = random.Random(data.draw(st.integers(0, 2**32)))
    count = data.draw(st.integers(1, 150))
    gap_us = rng.choice([1_000, 30_000, 90_000])  # the last leaves panes empty
    rows = [
        {"ts": max(0, i * gap_us - rng.randint(0, 500_000)), "n": i, "a": rng.randint(0, 9) / 2, "b": rng.randint(0, 9)}
        for i in range(count)
    ]
    batches = batches_of(definition, rows, data.draw(st.lists(st.integers(1, 150), max_size=30)))
    if not batches:
        return
    panes = pane_strategy(pane_name, degrees[0], ControlOptions(warm_up_periods=2))
    windows = window_strategy(window_name, degrees[1])
    answers = run_records(
        QueryAlgebra(query, row_us),
        definition.window,
        batches,
        panes,
        windows,
        record_us=record_us,
        period_us=50_000.0,
        schedule=data.draw(schedules(batches)),
    )
    delivered = [answer.window for answer in answers]
    assert delivered == list(range(delivered[0], delivered[-1] + 1))  # in order, each once, none left out
    times = [answer.delivered_us for answer in answers]
    assert times == sorted(times)
    assert texts(definition, answers) == expected_answers(definition, pa.Table.from_pylist(rows, SCHEMA))


@pytest.mark.parametrize("pane_name", PANE_STRATEGIES)
def test_a_burst_is_split_and_the_answer_stays(pane_name: str) -> None:
    """Panes large enough that the adaptive strategies really split them."""
    definition = Definition(QUERIES[0], WindowSpec(400_000, 100_000), "ts")
    rng = random.Random(7)
    sizes = [20, 20, 20, 20, 20, 20, 400, 20, 300, 20]
    rows = [
        {"ts": 100_000 * pane + rng.randint(0, 99_999), "n": 0, "a": rng.random(), "b": rng.randint(0, 99)}
        for pane, size in enumerate(sizes)
        for _ in range(size)
    ]
    batches = batches_of(definition, rows, list(range(10, len(rows), 10)))
    found = {
        degree: texts(
            definition,
            run_records(
                QueryAlgebra(definition.query),
                definition.window,
                batches,
                pane_strategy(pane_name, degree),
                window_strategy("win_fb_merge", degree),
            ),
        )
        for degree in (1, 5)
    }
    assert found[1] == found[5] == expected_answers(definition, pa.Table.from_pylist(rows, SCHEMA))
