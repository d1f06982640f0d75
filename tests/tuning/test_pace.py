"""Pace: in a simulated engine answers keep within the bound where they can, with steps as large as it allows."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skypane.tuning.pace import Pace


def simulate(pace: Pace, rate: float, fixed_us: float, record_us: float, own_us: float, steps: int = 60) -> float:
    """The longest wait of a record in the last steps: until its batch is cut, and for the step."""
    cut, since, worst = own_us, 0.0, 0.0
    for number in range(steps):
        interval = cut - since
        records = round(rate * interval)
        took = fixed_us + record_us * records
        pace.stepped(records, took, interval)
        if number >= steps // 2:
            worst = max(worst, interval + took)
        since, cut = cut, cut + took + pace.gather_us + own_us
        pace.between(own_us)
    return worst


@settings(deadline=None)
@given(
    max_us=st.integers(100_000, 5_000_000),
    rate=st.floats(0.001, 0.2),
    load=st.floats(0.01, 0.6),
    fixed=st.floats(0.02, 0.15),
    own=st.floats(0.01, 0.1),
)
def test_the_bound_is_kept_where_it_can_be(max_us: int, rate: float, load: float, fixed: float, own: float) -> None:
    pace = Pace(max_us)
    worst = simulate(pace, rate, fixed * max_us, load / rate, own * max_us)
    least = (fixed + own) * max_us / (1 - load)
    if 2 * least < 0.8 * max_us:
        assert worst <= max_us
        assert worst >= 0.6 * max_us  # no smaller than they have to be


def test_where_none_is_short_enough_steps_follow_each_other() -> None:
    pace = Pace(100_000)
    simulate(pace, 0.05, 200_000, 1, 50_000)
    assert pace.gather_us == 0
    assert pace.latency_us() > 100_000


@settings(deadline=None)
@given(max_us=st.integers(1, 100_000), fixed_us=st.floats(1e5, 1e6), load=st.floats(0.0, 0.8))
def test_what_is_predicted_is_what_answers_take_where_the_bound_cannot_be_kept(
    max_us: int, fixed_us: float, load: float
) -> None:
    pace, rate = Pace(max_us), 0.05
    worst = simulate(pace, rate, fixed_us, load / rate, 10_000, steps=120)
    assert pace.gather_us == 0
    assert 0.8 * worst < pace.latency_us() < 1.25 * worst


def test_steps_that_do_not_keep_up_are_told() -> None:
    pace = Pace(500_000)
    simulate(pace, 0.01, 50_000, 120, 10_000, steps=10)
    assert pace.gather_us == 0
    assert "answers come later and later" in pace.explain()


def test_more_records_need_shorter_gathering() -> None:
    slow, fast = Pace(500_000), Pace(500_000)
    simulate(slow, 0.01, 50_000, 5, 20_000)
    simulate(fast, 0.1, 50_000, 5, 20_000)
    assert fast.gather_us < slow.gather_us
    assert "ms predicted" in fast.explain()
    assert "first steps" in Pace(1).explain()


def test_an_idle_stream_is_not_taken_for_a_slow_engine() -> None:
    pace = Pace(500_000)
    simulate(pace, 0.01, 50_000, 5, 20_000)
    before = pace.gather_us
    pace.between(60_000_000)
    pace.stepped(1_000, 55_000, 200_000)
    assert pace.gather_us == pytest.approx(before, rel=0.3)


@settings(deadline=None)
@given(fixed_us=st.floats(1e3, 2e5), record_us=st.floats(0.5, 20), behind=st.floats(1.0, 20.0))
def test_steps_that_are_not_too_large_keep_the_bound_while_records_wait(
    fixed_us: float, record_us: float, behind: float
) -> None:
    pace = Pace(500_000, slide_us=100_000)
    simulate(pace, 0.2 / record_us, fixed_us, record_us, 1_000)
    most = pace.max_records()
    if most is None:
        assert 2 * fixed_us > 0.85 * 500_000
        return
    # Far behind, steps of so many follow each other: a record that misses one waits for two.
    took_us = 1_000 + fixed_us + record_us * min(most, behind * most)
    assert 2 * took_us <= 500_000
    assert f"{most:,} records" in pace.explain()


def test_windows_of_a_step_are_those_that_end_between_two_cuts() -> None:
    pace, live = Pace(500_000, slide_us=50_000), Pace(500_000)
    for each in (pace, live):
        simulate(each, 0.01, 50_000, 5, 20_000)
    assert pace.windows() == pytest.approx(pace.interval_us() / 50_000)
    assert f"answers {pace.windows():.1f} windows of a key at a time" in pace.explain()
    assert live.windows() is None
    assert "windows" not in live.explain()
