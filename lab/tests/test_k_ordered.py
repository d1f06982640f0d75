"""KOrdered: the results leave k-ordered, all of them, and none waits that need not."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skypane.model.errors import OptionError
from skypane_lab.k_ordered import KOrdered
from tests.support.orders import k_ordered


@st.composite
def arrivals(draw: st.DrawFn) -> list[int]:
    """Windows 0 .. n - 1 in any order, mostly not far from their places."""
    count, spread = draw(st.integers(0, 60)), draw(st.sampled_from([0, 2, 5, 100]))
    rng = random.Random(draw(st.integers(0, 2**32)))
    return sorted(range(count), key=lambda window: window + rng.uniform(0, spread))


@settings(max_examples=400, deadline=None)
@given(windows=arrivals(), k=st.integers(0, 8), first=st.integers(-5, 5))
def test_they_leave_k_ordered_and_none_is_stuck(windows: list[int], k: int, first: int) -> None:
    collector: KOrdered[str] = KOrdered(first, k)
    left: list[int] = []
    for number, window in enumerate(windows):
        leaving = collector.add(first + window, str(window))
        assert all(result == str(at - first) for at, result in leaving)
        left += [at - first for at, _ in leaving]
        assert collector.held == number + 1 - len(left)
        # What everyone before has left does not wait.
        assert set(left) >= set(range(next(w for w in range(len(windows) + 1) if w not in windows[: number + 1])))
    assert sorted(left) == list(range(len(windows)))
    assert not collector.held
    assert k_ordered(left, k)


@settings(max_examples=400, deadline=None)
@given(windows=arrivals(), k=st.integers(0, 8), slack=st.integers(0, 3))
def test_what_comes_k_ordered_is_never_delayed(windows: list[int], k: int, slack: int) -> None:
    first: KOrdered[None] = KOrdered(0, k)
    as_ordered = [window for one in windows for window, _ in first.add(one, None)]
    again: KOrdered[None] = KOrdered(0, k + slack)
    for window in as_ordered:
        assert again.add(window, None) == [(window, None)]


def test_none_in_order_waits_and_others_wait_for_the_oldest() -> None:
    collector: KOrdered[str] = KOrdered(0)
    assert collector.add(1, "b") == []
    assert collector.add(2, "c") == []
    assert collector.held == 2
    assert collector.add(0, "a") == [(0, "a"), (1, "b"), (2, "c")]


def test_with_some_disorder_a_result_goes_while_the_missing_ones_still_fit() -> None:
    collector: KOrdered[str] = KOrdered(0, k=2)
    assert collector.add(1, "b") == [(1, "b")]
    assert collector.add(2, "c") == [(2, "c")]
    assert collector.add(3, "d") == []
    assert collector.add(0, "a") == [(0, "a"), (3, "d")]


def test_what_came_already_and_less_than_no_disorder_are_refused() -> None:
    collector: KOrdered[str] = KOrdered(0, k=1)
    collector.add(0, "a")
    collector.add(2, "c")
    with pytest.raises(ValueError, match="window 0 was delivered"):
        collector.add(0, "a")
    with pytest.raises(OptionError, match="k=-1"):
        KOrdered(0, k=-1)
