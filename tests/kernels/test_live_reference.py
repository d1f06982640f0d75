"""The closed form of the live skyline against brute force at every instant, and the law that lets parts prune alone."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from skypane.kernels.arrays import Floats, Indices
from skypane.kernels.live_reference import kept, live_intervals, skyline_at


@st.composite
def streams(draw: st.DrawFn) -> tuple[Indices, Floats, int]:
    """Few distinct times and values, so that ties in both, and expiries at the instant of an arrival, are common."""
    count = draw(st.integers(0, 20))
    times = draw(st.lists(st.integers(0, 12), min_size=count, max_size=count))
    rows = draw(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=count, max_size=count))
    return np.array(times, np.int64), np.array(rows, np.float64).reshape(-1, 2), draw(st.integers(1, 8))


@given(streams())
def test_intervals_equal_brute_force_at_every_instant(stream: tuple[Indices, Floats, int]) -> None:
    times, values, within = stream
    enter, leave = live_intervals(times, values, within)
    for instant in range(-1, 22):
        members = np.flatnonzero((enter <= instant) & (instant < leave))
        assert members.tolist() == skyline_at(times, values, within, instant).tolist()


@given(streams(), st.integers(0, 2**20 - 1))
def test_parts_may_leave_out_what_never_enters_in_them(stream: tuple[Indices, Floats, int], sides: int) -> None:
    times, values, within = stream
    left = np.array([bool(sides >> i & 1) for i in range(len(times))], dtype=np.bool_)
    parts = [np.flatnonzero(part) for part in (left, ~left)]
    rest = np.sort(np.concatenate([rows[kept(times[rows], values[rows], within)] for rows in parts]))
    final = rest[kept(times[rest], values[rest], within)]
    assert final.tolist() == np.flatnonzero(kept(times, values, within)).tolist()
    intervals = np.array(live_intervals(times, values, within))
    assert (np.array(live_intervals(times[final], values[final], within)) == intervals[:, final]).all()


def test_ties_are_settled() -> None:
    times = np.array([0, 0, 5, 5, 10], np.int64)
    values = np.array([[1.0], [2.0], [1.0], [1.0], [3.0]])
    enter, leave = live_intervals(times, values, 10)
    assert enter.tolist() == [0, 10, 5, 5, 15]
    assert leave.tolist() == [10, 0, 15, 15, 20]
