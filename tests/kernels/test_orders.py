"""Orders found by counting are those found by sorting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skypane import kernels


@settings(deadline=None)
@given(st.lists(st.integers(0, 9), max_size=40))
def test_counting_is_a_stable_sort(codes: list[int]) -> None:
    rows, offsets = kernels.counting_order(codes, 10)
    assert rows.tolist() == np.argsort(np.array(codes, dtype=np.int64), kind="stable").tolist()
    assert np.diff(offsets).tolist() == [codes.count(code) for code in sorted({*codes})]


items = st.tuples(st.integers(-5, 5), st.integers(-5, 5), st.integers(0, 4))


@settings(deadline=None)
@given(st.lists(items, max_size=30))
def test_members_are_in_the_order_of_number_and_key(drawn: list[tuple[int, int, int]]) -> None:
    low, high, key = (np.array([item[index] for item in drawn], dtype=np.int64) for index in range(3))
    found = kernels.window_members(low, high, key, 10**6)
    assert found is not None
    members, offsets, numbers = found
    wanted = sorted((number, code, item) for item, (a, b, code) in enumerate(drawn) for number in range(a, b + 1))
    assert members.tolist() == [item for _, _, item in wanted]
    groups = sorted({(number, code) for number, code, _ in wanted})
    assert numbers.tolist() == [number for number, _ in groups]
    assert np.diff(offsets).tolist() == [sum(line[:2] == group for line in wanted) for group in groups]


def test_counting_is_refused_where_sorting_takes_less() -> None:
    assert kernels.window_members([0, 10**9], [0, 10**9], [0, 0], 4) is None


def test_codes_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="from 0 to 2"):
        kernels.counting_order([3], 3)
    with pytest.raises(ValueError, match="negative"):
        kernels.window_members([0], [0], [-1], 4)
