"""Controllers of degrees: paper 2's logged decisions, and what every controller keeps to."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skypane.model.errors import OptionError
from skypane.tuning.elastic.controllers import (
    Ds2,
    ElasticController,
    Fixed,
    Fuzzy,
    Snapshot,
    Threshold,
    capped,
    multiplied,
)

LOGGED = [
    (5.37, 1, 0, 1, 1, 2, 1),
    (4.08, 1.54, 3.66, 3, 1, 4, 2),
    (3.08, 3.15, 1.44, 5, 3, 6, 5),
    (1.32, 3.23, 3.40, 8, 8, 10, 12),
    (0.69, 5, 5.90, 10, 12, 7, 18),
    (0.43, 5.77, 4.17, 7, 18, 4, 27),
    (1.16, 3.23, 1.25, 3, 41, 4, 55),
    (0.73, 3.92, 0.61, 4, 55, 4, 36),
]
"""Of runs on which nothing was chosen: utilization, shards, utilization, degrees -> degrees."""


@pytest.mark.parametrize(("rho1", "sigma", "rho2", "n", "m", "n_after", "m_after"), LOGGED)
def test_decisions_that_the_authors_logged(
    rho1: float, sigma: float, rho2: float, n: int, m: int, n_after: int, m_after: int
) -> None:
    decision = Fuzzy().decide(Snapshot(rho1, sigma, rho2, n, m))
    assert (decision.pane_degree, decision.window_degree) == (n_after, m_after)
    assert decision.fired


@pytest.mark.parametrize(
    ("degree", "factor", "after"),
    [
        (3, 1.5, 5),  # 4.5 is rounded away from zero
        (5, 0.5, 3),
        (1, 0.5, 1),
        (1, 1.24, 1),
        (1, 1.25, 2),
        (2, 0.562, 1),
        (2, 0.563, 2),
        (2, 1.249, 2),
        (2, 1.25, 3),
        (3, 0.792, 2),
        (3, 0.793, 3),
        (3, 1.169, 3),
        (3, 1.17, 4),
    ],
)
def test_small_degrees_have_borders_of_their_own(degree: int, factor: float, after: int) -> None:
    assert multiplied(degree, factor) == after


def test_too_many_workers_are_scaled_down_alike() -> None:
    assert capped(10, 20, 30) == (10, 20)
    assert capped(20, 40, 30) == (10, 20)
    assert capped(29, 29, 29) == (14, 15)  # both would be 15
    assert capped(1, 5, 2) == (1, 1)


RHOS = st.floats(0.0, 6.0)
DEGREES = st.integers(1, 59)
SNAPSHOTS = st.builds(Snapshot, RHOS, st.floats(1.0, 60.0), RHOS, DEGREES, DEGREES)
CONTROLLERS: list[ElasticController] = [Fuzzy(), Threshold(), Ds2()]


@pytest.mark.parametrize("controller", CONTROLLERS, ids=lambda c: c.name)
@given(SNAPSHOTS)
def test_degrees_stay_possible_and_decisions_repeatable(controller: ElasticController, seen: Snapshot) -> None:
    decision = controller.decide(seen)
    assert min(decision.pane_degree, decision.window_degree) >= 1
    assert decision.pane_degree + decision.window_degree <= 59
    assert controller.decide(seen) == decision


@given(SNAPSHOTS)
def test_fuzzy_changes_a_degree_by_at_most_half(seen: Snapshot) -> None:
    decision = Fuzzy(1_000).decide(seen)
    for before, after in (
        (seen.pane_degree, decision.pane_degree),
        (seen.window_degree, decision.window_degree),
    ):
        assert after <= 1.5 * before + 0.5
        assert after >= 0.5 * before - 0.5


@given(DEGREES, DEGREES)
def test_fuzzy_keeps_what_is_acceptable(n: int, m: int) -> None:
    decision = Fuzzy(1_000).decide(Snapshot(0.9, 1.0, 0.9, n, m))
    assert (decision.pane_degree, decision.window_degree) == (n, m)


def test_the_other_controllers_by_example() -> None:
    seen = Snapshot(rho_panes=1.8, shards_per_pane=2.0, rho_windows=0.45, pane_degree=4, window_degree=4)
    assert Ds2().decide(seen).pane_degree == 8
    assert Ds2().decide(seen).window_degree == 2
    assert Threshold().decide(seen).pane_degree == 6
    assert Threshold().decide(seen).window_degree == 3
    assert (Fixed().decide(seen).pane_degree, Fixed().decide(seen).window_degree) == (4, 4)


def test_the_load_of_the_pane_stage_where_it_is_known() -> None:
    """The splitting holds the utilization at 0.9, but half of the time of eight workers is not used."""
    seen = Snapshot(0.9, 5.0, 0.9, pane_degree=8, window_degree=4, pane_load=0.45)
    assert Fuzzy().decide(seen).pane_degree == 10
    assert Fuzzy(by_load=True).decide(seen).pane_degree == 4
    assert Ds2().decide(seen).pane_degree == 4
    assert Fuzzy(by_load=True).decide(Snapshot(0.9, 5.0, 0.9, 8, 4)).pane_degree == 10


def test_ds2_keeps_a_degree_that_keeps_up() -> None:
    """Nine tenths of the time is what it goes for when it changes; it does not change for a little more."""
    for rho, degree in ((0.89, 10), (0.91, 10), (1.0, 10), (1.01, 12), (0.8, 9)):
        assert Ds2().decide(Snapshot(rho, 1.0, rho, 10, 10)).window_degree == degree
    exact = Ds2(keeps_up=0.9)
    assert exact.decide(Snapshot(0.91, 1.0, 0.91, 10, 10)).window_degree == 11


@given(st.floats(0.5, 20.0), st.lists(st.floats(0.95, 1.05), min_size=12, max_size=40), st.integers(1, 25))
def test_ds2_settles_on_a_load_that_is_measured_badly(load: float, noise: list[float], start: int) -> None:
    degree, degrees = start, []
    for factor in noise:
        degree = Ds2().decide(Snapshot(load * factor / degree, 1.0, load * factor / degree, degree, degree)).pane_degree
        degrees.append(degree)
    moves = [after - before for before, after in pairwise([start, *degrees]) if after != before]
    assert sum((a > 0) != (b > 0) for a, b in pairwise(moves)) <= 1
    assert load * 0.95 <= degrees[-1] <= max(1, math.ceil(load * 1.05 / 0.9))


def test_one_worker_for_two_stages_is_refused() -> None:
    with pytest.raises(OptionError, match="max_workers=1"):
        Fuzzy(1)
