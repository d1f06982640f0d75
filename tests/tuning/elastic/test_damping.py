"""Damping: what is followed at once, what waits, and that a replay from stored state decides the same."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skypane.model.codec import from_text, to_text
from skypane.model.errors import OptionError
from skypane.tuning.elastic.controllers import (
    Ds2,
    ElasticController,
    ElasticDecision,
    Fixed,
    Fuzzy,
    Snapshot,
    Threshold,
)
from skypane.tuning.elastic.damping import Damped, Dwell
from skypane.tuning.elastic.fuzzy import Fired

QUIET = Snapshot(rho_panes=0.45, shards_per_pane=1.0, rho_windows=0.9, pane_degree=8, window_degree=4)
BUSY = replace(QUIET, rho_panes=1.8)


@dataclass(frozen=True)
class Says:
    """A controller that wants what it is told."""

    pane_degree: int
    window_degree: int
    name: str = "says"

    def decide(self, seen: Snapshot) -> ElasticDecision:
        del seen
        return ElasticDecision(self.pane_degree, self.window_degree)


def panes_over(damped: Damped, *seen: Snapshot) -> list[int]:
    """Pane degrees after each period; each period starts with the degree of the one before."""
    dwell, degree, degrees = Dwell(), seen[0].pane_degree, []
    for one in seen:
        decision, dwell = damped.decide(dwell, replace(one, pane_degree=degree))
        degree = decision.pane_degree
        degrees.append(degree)
    return degrees


def test_growth_is_followed_at_once() -> None:
    assert panes_over(Damped(Ds2()), BUSY) == [16]


def test_fewer_must_be_wanted_for_some_periods_in_a_row() -> None:
    assert panes_over(Damped(Ds2(), dwell_periods=3), QUIET, QUIET, QUIET, QUIET) == [8, 8, 4, 4]
    enough = replace(QUIET, rho_panes=0.9)
    assert panes_over(Damped(Ds2(), dwell_periods=3), QUIET, QUIET, enough, QUIET, QUIET, QUIET) == [8] * 5 + [4]


def test_only_down_to_the_most_that_was_wanted_meanwhile() -> None:
    quieter = replace(QUIET, rho_panes=0.1)
    assert panes_over(Damped(Ds2(), dwell_periods=2), QUIET, quieter) == [8, 4]
    assert panes_over(Damped(Ds2(), dwell_periods=2), quieter, QUIET) == [8, 4]


def test_nothing_is_given_up_while_the_stage_is_behind() -> None:
    behind = replace(QUIET, pane_lag_us=2e6)
    damped = Damped(Ds2(), dwell_periods=2, tolerated_lag_us=1e6)
    assert panes_over(damped, behind, behind, behind, QUIET) == [8, 8, 8, 4]
    assert panes_over(damped, replace(QUIET, pane_lag_us=1e6), QUIET) == [8, 4]
    decision, _ = damped.decide(Dwell(), behind)
    assert decision.held == ("pane degree stays at 8, not 4: 2 s behind",)


def test_a_change_that_is_not_worth_it_is_not_followed() -> None:
    seen = replace(QUIET, pane_degree=30, rho_panes=0.9 * 28 / 30)
    assert panes_over(Damped(Ds2(), dwell_periods=1), seen) == [30]
    assert panes_over(Damped(Ds2(), dwell_periods=1, dead_band=0.0), seen) == [28]
    assert panes_over(Damped(Ds2(), dwell_periods=1), replace(seen, rho_panes=0.9 * 27 / 30)) == [27]
    assert panes_over(Damped(Ds2(), dwell_periods=1), replace(seen, pane_degree=10, rho_panes=0.9 * 9 / 10)) == [9]


def test_neither_is_a_small_one_to_more_unless_the_stage_is_behind() -> None:
    seen = replace(QUIET, pane_degree=30)
    assert panes_over(Damped(Says(32, 4)), seen) == [30]
    assert panes_over(Damped(Says(33, 4)), seen) == [33]
    assert panes_over(Damped(Says(32, 4), tolerated_lag_us=1e6), replace(seen, pane_lag_us=2e6)) == [32]
    decision, _ = Damped(Says(32, 4)).decide(Dwell(), seen)
    assert decision.held == ("pane degree stays at 30, not 32: too small a change",)
    assert Damped(Says(30, 4)).decide(Dwell(), seen)[0].held == ()


def test_degrees_keep_within_their_limits() -> None:
    assert panes_over(Damped(Ds2(), max_degree=10), BUSY, BUSY) == [10, 10]
    assert panes_over(Damped(Ds2(), dwell_periods=1, min_degree=6), QUIET, QUIET) == [6, 6]
    # also if they were changed meanwhile: by a restart with other options
    assert panes_over(Damped(Fixed(), max_degree=5), BUSY) == [5]


def test_workers_that_the_other_stage_needs_go_at_once() -> None:
    seen = Snapshot(0.3, 1.0, 3.0, pane_degree=8, window_degree=8)
    decision, _ = Damped(Says(4, 12), dwell_periods=5, max_workers=16).decide(Dwell(), seen)
    assert (decision.pane_degree, decision.window_degree) == (4, 12)
    decision, _ = Damped(Says(4, 12), dwell_periods=5).decide(Dwell(), seen)
    assert (decision.pane_degree, decision.window_degree) == (8, 12)


class Confused:
    """A controller that somebody has not finished."""

    name = "confused"

    def __init__(self, says: Any) -> None:
        self.says = says

    def decide(self, seen: Snapshot) -> ElasticDecision:
        del seen
        return cast("ElasticDecision", self.says)


@pytest.mark.parametrize("says", [None, (2, 2), ElasticDecision(2.5, 2), ElasticDecision(2, True)])  # type: ignore[arg-type]
def test_what_is_no_decision_is_refused_by_the_controllers_name(says: Any) -> None:
    with pytest.raises(OptionError, match=r"the controller 'confused' decided .*: decide\(\) must return an Elastic"):
        Damped(Confused(says)).decide(Dwell(), QUIET)


RHOS = st.floats(0.0, 4.0)
LAGS = st.sampled_from([0.0, 5e6])
SEEN = st.builds(Snapshot, RHOS, st.floats(1.0, 9.0), RHOS, st.just(1), st.just(1), LAGS, LAGS)
CONTROLLERS: list[ElasticController] = [Fuzzy(), Threshold(), Ds2(), Fixed()]


@given(st.sampled_from(CONTROLLERS), st.integers(1, 4), st.lists(SEEN, min_size=1, max_size=12))
def test_stored_state_decides_the_same_and_laws_hold(
    controller: ElasticController, periods: int, seen: list[Snapshot]
) -> None:
    damped = Damped(controller, periods, min_degree=2, max_degree=40, max_workers=59)
    dwell, degrees, grown = Dwell(), (5, 5), -99
    for time, one in enumerate(seen):
        now = replace(one, pane_degree=degrees[0], window_degree=degrees[1])
        decision, after = damped.decide(dwell, now)
        assert damped.decide(from_text(to_text(dwell), Dwell), now) == (decision, after)
        assert min(decision.pane_degree, decision.window_degree) >= 2
        assert max(decision.pane_degree, decision.window_degree) <= 40
        assert decision.pane_degree + decision.window_degree <= 59
        moved = decision.window_degree > degrees[1]
        if decision.pane_degree < degrees[0] and not moved:
            assert not now.pane_lag_us
            assert time - grown >= periods
        grown = time if decision.pane_degree > degrees[0] else grown
        dwell, degrees = after, (decision.pane_degree, decision.window_degree)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"dwell_periods": 0}, "dwell_periods=0"),
        ({"dead_band": 1}, "dead_band=1"),
        ({"min_degree": 0}, "min_degree=0"),
        ({"min_degree": 3, "max_degree": 2}, "max_degree=2"),
        ({"min_degree": 3, "max_workers": 5}, "max_workers=5"),
    ],
)
def test_limits_that_cannot_be_kept_are_refused(options: dict[str, int], says: str) -> None:
    with pytest.raises(OptionError, match=says):
        Damped(Fixed(), **options)


@pytest.mark.parametrize("fired", [("because",), None, 3, (object(),), ((1, 1.0),), (("a rule", float("nan")),)])
def test_reasons_that_could_not_be_read_again_are_refused(fired: Any) -> None:
    """They are stored with the decision: a checkpoint that nobody can read would be lost."""
    damped = Damped(Confused(ElasticDecision(1, 1, fired)))
    with pytest.raises(OptionError, match=r"the controller 'confused' decided .*: fired must be pairs of a text and"):
        damped.decide(Dwell(), BUSY)


def test_reasons_of_ones_own_are_kept() -> None:
    decision, _ = Damped(Confused(ElasticDecision(9, 4, cast("Any", [("a rule", 1)])))).decide(Dwell(), BUSY)
    assert decision.fired == (Fired("a rule", 1.0),)
