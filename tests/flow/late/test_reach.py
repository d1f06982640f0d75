"""The windows that keep a record are found without asking every window, whatever selects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from skypane.flow.definition import Definition
from skypane.flow.late.reach import reach
from skypane.kernels import sliding
from skypane.model.columns import ID, PANE, PREFIX
from skypane.model.groups import Groups, Int64Array
from skypane.model.windows import WindowSpec
from skypane.queries.aggregates import Aggregates
from skypane.queries.base import Query, Row, Selection
from skypane.queries.preferences import Preferences
from skypane.queries.skyline import Skyline
from skypane.queries.top_delta import TopDelta
from skypane.queries.top_k import TopK

SCORE = f"{PREFIX}score"


class BestOfEach(Selection):
    """A selection that somebody else might write: of every colour the rows with the largest ``a``."""

    kind = "best_of_each"

    def describe(self) -> Mapping[str, object]:
        return {"type": self.kind}

    def check(self, schema: pa.Schema) -> None:
        del schema

    def inputs(self) -> Sequence[str]:
        return ("colour", "a")

    def select(self, rows: pa.Table, groups: Groups) -> Int64Array:
        colours, values, group = rows.column("colour").to_pylist(), rows.column("a").to_pylist(), groups.row_ids()
        best: dict[Any, float] = defaultdict(lambda: -np.inf)
        for where, value in zip(zip(group.tolist(), colours, strict=True), values, strict=True):
            best[where] = max(best[where], value)
        places = zip(zip(group.tolist(), colours, strict=True), values, strict=True)
        return np.array([i for i, (where, value) in enumerate(places) if value == best[where]], dtype=np.int64)

    def reference(self, rows: Sequence[Row]) -> list[Row]:
        return [r for r in rows if all(o["a"] <= r["a"] for o in rows if o["colour"] == r["colour"])]


PREFERENCES = Preferences(("a",), ("b",))
QUERIES = [
    TopK(1, "a"),
    TopK(3, "a"),
    BestOfEach(),
    Skyline(PREFERENCES),
    TopDelta(1, PREFERENCES),
    Aggregates.of({"n": "count"}),
]
rows_strategy = st.lists(
    st.fixed_dictionaries(
        {
            PANE: st.integers(-3, 25),
            "key": st.sampled_from(["x", "y", None]),
            "colour": st.sampled_from(["red", "blue"]),
            "a": st.sampled_from([0.0, 1.0, 2.0, 3.0, 4.0, 5.0]),
            "b": st.integers(0, 3),
            "wanted": st.booleans(),
        }
    ),
    min_size=1,
    max_size=40,
)


@settings(max_examples=250, deadline=None)
@given(
    rows=rows_strategy,
    query=st.sampled_from(QUERIES),
    shape=st.sampled_from([(1, 1), (4, 1), (6, 4), (7, 3), (2, 5), (16, 1), (1_000, 1)]),
    keys=st.sampled_from([(), ("key",)]),
    big_key_rows=st.sampled_from([2, sliding.BIG_KEY_ROWS]),
)
def test_the_windows_that_keep_a_row_are_those_that_select_it(
    rows: list[dict[str, Any]], query: Query, shape: tuple[int, int], keys: tuple[str, ...], big_key_rows: int
) -> None:
    sliding.BIG_KEY_ROWS = big_key_rows
    window = WindowSpec(*shape)
    shape = window.shape
    rows = [{**row, ID: number, SCORE: row["a"]} for number, row in enumerate(rows)]
    table = pa.Table.from_pylist(rows).append_column("ts", pa.array([0] * len(rows), pa.timestamp("us")))
    found = reach(Definition(query, window, "ts", keys), table, table.column("wanted").to_numpy(zero_copy_only=False))
    kept = {(row, w) for row, first, last in zip(*found, strict=True) for w in range(first, last + 1)}
    assert sum(int(last - first + 1) for _, first, last in zip(*found, strict=True)) == len(kept), "found twice"
    for number, row in enumerate(rows):
        # Of windows that overlap much, those at the ends and in the middle.
        own = range(-((shape[0] - 1 - row[PANE]) // shape[1]), row[PANE] // shape[1] + 1)
        for w in own if len(own) < 50 else (*own[:40], own[len(own) // 2], *own[-40:]):
            assert ((number, w) in kept) == (row["wanted"] and selects(query, rows, row, w, shape, keys))


def selects(
    query: Query, rows: list[dict[str, Any]], row: dict[str, Any], w: int, shape: tuple[int, int], keys: tuple[str, ...]
) -> bool:
    """Whether the query selects the row from all rows of its key in the window."""
    start, end = w * shape[1], w * shape[1] + shape[0]
    members = [r for r in rows if start <= r[PANE] < end and all(r[k] == row[k] for k in keys)]
    # Top-delta keeps the skyline, from which it is cut.
    judge = Skyline(PREFERENCES) if isinstance(query, TopDelta) else query
    return not query.selective or row[ID] in {r[ID] for r in judge.reference(members)}
