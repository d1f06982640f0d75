"""Key groups are dealt out completely, once each, in balance."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from skypane.model.columns import GROUP, KEY_GROUPS
from skypane.tuning.sharing.ranges import PIECES_PER_WORKER, balanced_ranges, equal_ranges, task_ranges

weights = st.dictionaries(st.integers(0, KEY_GROUPS - 1), st.integers(1, 10_000), max_size=40)


@settings(deadline=None)  # the first table makes pyarrow import pandas
@given(rows=weights, degree=st.integers(1, 300))
def test_every_group_is_in_one_range(rows: dict[int, int], degree: int) -> None:
    ranges = balanced_ranges(rows, degree)
    assert [r.first for r in ranges] == [0, *(r.end for r in ranges[:-1])]
    assert ranges[-1].end == KEY_GROUPS
    assert len(ranges) <= max(1, min(degree, len(rows)))
    groups = np.repeat(np.array(sorted(rows), dtype=np.int32), 1)
    table = pa.table({GROUP: pa.array(groups)})
    assert [g for r in ranges for g in r.slice_of(table).column(GROUP).to_pylist()] == sorted(rows)


@given(degree=st.integers(1, 16))
def test_equal_groups_are_spread_evenly(degree: int) -> None:
    sizes = [r.end - r.first for r in balanced_ranges(dict.fromkeys(range(KEY_GROUPS), 7), degree)]
    assert len(sizes) == degree
    assert max(sizes) - min(sizes) <= 1


def test_a_heavy_group_does_not_take_others_along() -> None:
    ranges = balanced_ranges({0: 1, 100: 1_000_000, 200: 1}, 3)
    assert sum(r.first <= 100 < r.end for r in ranges) == 1
    assert len(ranges) >= 2


@given(rows=weights, degree=st.integers(1, 300))
def test_round_robin_does_not_look_at_the_rows(rows: dict[int, int], degree: int) -> None:
    ranges = task_ranges(rows, degree, "round_robin")
    assert ranges == equal_ranges(degree)
    assert [r.first for r in ranges] == [0, *(r.end for r in ranges[:-1])]
    assert ranges[-1].end == KEY_GROUPS
    assert len(ranges) == min(degree, KEY_GROUPS)
    assert max(r.end - r.first for r in ranges) - min(r.end - r.first for r in ranges) <= 1


@given(degree=st.integers(1, 16))
def test_feedback_leaves_pieces_for_free_workers(degree: int) -> None:
    rows = dict.fromkeys(range(KEY_GROUPS), 7)
    assert len(task_ranges(rows, degree, "feedback")) == PIECES_PER_WORKER * degree
    assert len(task_ranges(rows, degree, "ranges")) == degree
