"""What cancels out, and how changes are stored with counters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from skypane.flow.windows.partial_changes import PARTIAL, SentRows, partial_column, stored_partial
from skypane.model.columns import COUNTER

VALUE = pa.struct([("tags", pa.list_(pa.string())), ("x", pa.float64())])


def sent(rows: Sequence[tuple[int, int, Any]]) -> SentRows:
    """Of counter, change and value."""
    table = pa.table(
        {
            "window": pa.array([0] * len(rows)),
            "change": pa.array([change for _, change, _ in rows], pa.int8()),
            "value": pa.array([value for _, _, value in rows], VALUE if isinstance(rows[0][2], dict) else None),
        }
    )
    counter = np.array([counter for counter, _, _ in rows])
    return SentRows(table, counter, np.zeros(len(rows), dtype=np.int64))


@pytest.mark.parametrize(
    ("rows", "left"),
    [
        ([(0, 1, "a"), (0, -1, "a")], []),
        ([(0, 1, "a"), (1, -1, "a")], [0, 1]),
        ([(0, 1, "a"), (0, 1, "a"), (0, -1, "a"), (0, 1, "b")], [0, 3]),
        ([(0, -1, None), (0, 1, None), (0, -1, None)], [0]),
        ([(0, 1, 0.0), (0, -1, -0.0)], [0, 1]),
        ([(0, 1, float("nan")), (0, -1, float("nan"))], []),
        ([(0, 1, {"tags": ["u"], "x": 1.0}), (0, -1, {"tags": ["v"], "x": 1.0})], [0, 1]),
        ([(0, 1, {"tags": ["u", None], "x": 1.0}), (0, -1, {"tags": ["u", None], "x": 1.0})], []),
    ],
)
def test_rows_that_are_equal_cancel_out_for_each_counter(rows: list[tuple[int, int, Any]], left: list[int]) -> None:
    changes = sent(rows)
    found = changes.netted(changes.counter)
    assert repr(found.table.to_pylist()) == repr([changes.table.to_pylist()[row] for row in left])
    assert found.counter.tolist() == [rows[row][0] for row in left]


def test_changes_are_stored_with_the_counters_that_go_on() -> None:
    changes = sent([(2, 1, {"tags": ["u"], "x": 1.0}), (0, -1, {"tags": [], "x": None}), (3, 1, {"x": 2.0})])
    partial = changes.table.append_column(COUNTER, pa.array(changes.counter))
    column = partial_column(partial, np.array([3, 1, 2]))  # counter 0 is over
    assert [len(each) for each in column.to_pylist()] == [1, 0, 1]
    read = stored_partial(pa.table({PARTIAL: column}).slice(1))
    assert read is not None
    assert read.to_pylist() == [{"window": 0, "change": 1, "value": {"tags": ["u"], "x": 1.0}, COUNTER: 1}]
    assert stored_partial(pa.table({"other": [1]})) is None
    none = stored_partial(pa.table({PARTIAL: partial_column(partial, np.array([1]))}))
    assert none is not None
    assert none.num_rows == 0
