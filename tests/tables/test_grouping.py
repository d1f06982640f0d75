"""Rows are brought into the order of their groups, whichever way is the fastest for the numbers at hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skypane.tables.grouping import sort_by


@pytest.mark.parametrize("most", [3, 2**8, 2**16, 2**17, 2**32, 2**40])
@given(data=st.data())
def test_rows_of_a_group_are_together_and_in_their_order(data: st.DataObject, most: int) -> None:
    numbers = st.lists(st.integers(0, most), max_size=40)
    major = np.array(data.draw(numbers), dtype=np.int64)
    minor = np.array(data.draw(st.lists(st.integers(-3, 3), min_size=len(major), max_size=len(major))), dtype=np.int64)
    order = sort_by(major, minor)
    assert order.rows.tolist() == sorted(range(len(major)), key=lambda row: (major[row], minor[row]))
    found = [(major[row], minor[row]) for row in order.first_rows()]
    assert found == sorted({*zip(major.tolist(), minor.tolist(), strict=True)})
