"""What a late record costs does not grow with how much windows overlap, in rows that the query is asked about."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pytest

from skypane.flow.definition import Definition
from skypane.flow.late.judge import judge
from skypane.flow.late.revisions import revise
from skypane.model.columns import GROUP, ID, PANE, PREFIX
from skypane.model.groups import Groups, Int64Array
from skypane.model.windows import WindowSpec
from skypane.queries.aggregates import Aggregates
from skypane.queries.base import Grouped, Query
from skypane.queries.top_k import TopK

K = 3


@dataclass(frozen=True)
class CountedTopK(TopK):
    """Remembers how many rows it was asked to select from."""

    asked: list[int] = field(default_factory=list)

    def select(self, rows: pa.Table, groups: Groups) -> Int64Array:
        self.asked.append(rows.num_rows)
        return super().select(rows, groups)


@dataclass(frozen=True)
class CountedAggregates(Aggregates):
    """Remembers how many rows it was asked to combine."""

    asked: list[int] = field(default_factory=list)

    def combine(self, partials: pa.Table, groups: Groups) -> Grouped:
        self.asked.append(partials.num_rows)
        return super().combine(partials, groups)


def past_of(panes: Int64Array, scores: Int64Array) -> pa.Table:
    count = len(panes)
    return pa.table(
        {
            GROUP: np.zeros(count, dtype=np.int32),
            PANE: panes,
            f"{PREFIX}score": scores.astype(np.float64),
            ID: np.arange(count) + int(panes[0]),
            f"{PREFIX}out0_n": np.ones(count, dtype=np.int64),
        }
    )


def definition_of(query: Query, panes_per_window: int) -> Definition:
    return Definition(query, WindowSpec(panes_per_window, 1), "ts", harm_horizon_us=10**9, allowed_lateness_us=10**9)


@pytest.mark.parametrize("score", [0, 500, 10**9])
def test_a_late_record_is_judged_by_a_few_times_the_rows_that_it_shares_windows_with(score: int) -> None:
    width = 2_000
    query = CountedTopK(K, "x")
    past = past_of(np.repeat(np.arange(2 * width), K), np.random.default_rng(1).integers(0, 1_000, 2 * width * K))
    late = past_of(np.array([width]), np.array([score]))
    harmful = judge(definition_of(query, width), late, past, 0)
    # In every window a dozen of the others have a larger score than 990.
    assert harmful.to_pylist() == [score > 990]
    assert sum(query.asked) < 5 * past.num_rows


@pytest.mark.parametrize("query", [CountedTopK(K, "x"), CountedAggregates(Aggregates.of({"n": "count"}).outputs)])
def test_a_record_that_corrects_all_its_windows_costs_a_few_rows_for_each(
    query: CountedTopK | CountedAggregates,
) -> None:
    width = 2_000
    past = past_of(np.arange(2 * width), np.random.default_rng(1).integers(0, 1_000, 2 * width))
    late = past_of(np.array([width]), np.array([10**9]))
    revised = revise(definition_of(query, width), late, past, None, 10 * width)
    assert revised is not None
    assert revised.answers.window_ids.tolist() == list(range(1, width + 1))
    assert sum(query.asked) < 100 * K * width, "twice as many tiles as a window needs, for each"


def test_a_record_that_corrects_nothing_costs_no_answer() -> None:
    width = 2_000
    query = CountedTopK(K, "x")
    past = past_of(np.arange(2 * width), np.random.default_rng(1).integers(0, 1_000, 2 * width))
    late = past_of(np.array([width]), np.array([-1]))
    assert revise(definition_of(query, width), late, past, None, 10 * width) is None
    assert sum(query.asked) < 5 * past.num_rows


def test_a_record_without_values_corrects_no_sum_not_even_in_its_last_bit() -> None:
    query = Aggregates.of({"total": "sum(x)", "avg": "mean(x)", "sd": "stddev(x)"})
    rng = np.random.default_rng(1)

    def partials(panes: list[int], values: list[float | None]) -> pa.Table:
        inputs = {f"{PREFIX}in{i}": pa.array(values, pa.float64()) for i in range(3)}
        lifted = query.lift(pa.table(inputs), Groups.from_sizes([1] * len(panes))).table
        return lifted.append_column(PANE, pa.array(panes)).append_column(GROUP, pa.array([0] * len(panes), pa.int32()))

    definition = definition_of(query, 40)
    others = [pane for pane in range(100) if pane != 50]
    past = partials(others, (rng.random(99) * 10.0 ** rng.integers(-9, 9, 99)).tolist())
    assert revise(definition, partials([50], [None]), past, None, 1_000) is None
    revised = revise(definition, partials([50], [1.0]), past, None, 1_000)
    assert revised is not None
    assert revised.answers.window_ids.tolist() == list(range(11, 51))
