"""Utilization: equations 4 and 5 of paper 1."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skypane.tuning.splitting.utilization import Measurement, WorkerLoad, utilization


def test_by_hand() -> None:
    # Mean cost 1,000,000 us / 200 records = 5,000 us.
    # Capacities: 150 + 400,000 / 5,000 = 230 and 50 + 600,000 / 5,000 = 170.
    loads = [WorkerLoad(600_000, 150, 180), WorkerLoad(400_000, 50, 60)]
    expected = 180**2 / (240 * 230) + 60**2 / (240 * 170)
    assert utilization(Measurement(1_000_000, loads)) == pytest.approx(expected)


@given(
    shares=st.lists(st.integers(0, 1000), min_size=2, max_size=8).filter(lambda s: sum(s) > 0),
    cost_us=st.floats(1, 100),
)
def test_at_equal_costs_an_even_distribution_has_the_lowest_utilization(shares: list[int], cost_us: float) -> None:
    """Paper 2, proposition 1: the lower bound is scheduled / (capacity * workers)."""
    period_us = 1_000_000.0
    loads = [WorkerLoad(min(period_us, n * cost_us), min(n, period_us / cost_us), n) for n in shares]
    measured = utilization(Measurement(period_us, loads))
    assert measured is not None
    assert measured >= sum(shares) / (period_us / cost_us * len(shares)) * (1 - 1e-9)


def test_idle_workers_do_not_hide_an_overloaded_one() -> None:
    loads = [WorkerLoad(1_000_000, 100, 300), WorkerLoad(0, 0, 0), WorkerLoad(0, 0, 0)]
    assert utilization(Measurement(1_000_000, loads)) == pytest.approx(3.0)


@pytest.mark.parametrize("load", [WorkerLoad(0, 0, 0), WorkerLoad(500, 0, 10), WorkerLoad(500, 5, 0)])
def test_nothing_can_be_told_without_arrivals_or_work(load: WorkerLoad) -> None:
    assert utilization(Measurement(1_000, [load])) is None
