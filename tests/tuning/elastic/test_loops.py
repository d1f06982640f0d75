"""Two loops on one clock: the outer one sees the means of the inner one's samples, once in its period."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skypane.model.codec import from_text, to_text
from skypane.model.errors import OptionError
from skypane.tuning.elastic.controllers import Ds2, Fuzzy
from skypane.tuning.elastic.damping import Damped
from skypane.tuning.elastic.loops import Decided, InnerSample, Loops, LoopState

LOOPS = Loops(Damped(Ds2(), dwell_periods=1), outer_us=1_000_000.0, inner_us=250_000.0)


def decided(loops: Loops, samples: list[InnerSample], state: LoopState) -> tuple[LoopState, list[Decided]]:
    decisions = []
    for sample in samples:
        state, decision = loops.sample(state, sample)
        decisions += [decision] if decision else []
    return state, decisions


def test_the_controller_sees_means_of_the_period() -> None:
    samples = [
        InnerSample(250_000.0, 0.5, 0.0, panes=1, shards=3),
        InnerSample(250_000.0, 1.5, None),
        InnerSample(250_000.0, 2.5, 0.8, panes=2, shards=3, pane_lag_us=9.0),
        InnerSample(250_000.0, 1.5, 1.0, pane_lag_us=7.0, window_lag_us=5.0),
    ]
    state, [first] = decided(LOOPS, samples, LOOPS.start(3, 2))
    seen = first.seen
    assert (seen.rho_panes, seen.shards_per_pane) == (1.5, 2.0)
    assert seen.rho_windows == pytest.approx(0.6)
    assert (seen.pane_degree, seen.window_degree, seen.pane_lag_us, seen.window_lag_us) == (3, 2, 7.0, 5.0)
    assert (state.pane_degree, state.window_degree) == (5, 2)
    _, [second] = decided(LOOPS, samples[1:2] * 4, state)
    assert (second.seen.shards_per_pane, second.seen.rho_windows, second.seen.pane_degree) == (1.0, 0.0, 5)


def test_samples_of_any_length_count_by_their_length() -> None:
    loops = Loops(Damped(Ds2()), outer_us=1_000_000.0)
    _, [only] = decided(
        loops, [InnerSample(600_000.0, 1.0, 1.0), InnerSample(1_800_000.0, 2.0, 1.0)], loops.start(1, 1)
    )
    assert only.seen.rho_panes == pytest.approx(1.75)


SAMPLES = st.builds(
    InnerSample,
    st.just(250_000.0),
    st.none() | st.floats(0, 3),
    st.none() | st.floats(0, 3),
    st.just(1),
    st.integers(1, 5),
)


@given(st.lists(SAMPLES, max_size=20))
def test_stored_state_goes_on_as_if_nothing_had_happened(samples: list[InnerSample]) -> None:
    loops = Loops(Damped(Fuzzy()), outer_us=1_000_000.0, inner_us=250_000.0)
    state = loops.start(4, 4)
    decisions = 0
    for sample in samples:
        again = from_text(to_text(state), LoopState)
        assert loops.sample(again, sample) == loops.sample(state, sample)
        state, decision = loops.sample(state, sample)
        decisions += decision is not None
    assert decisions == len(samples) // 4


def test_periods_that_do_not_fit_are_refused() -> None:
    with pytest.raises(OptionError, match="whole multiple of the sampling period of 0\\.3 s"):
        Loops(Damped(Ds2()), outer_us=1_000_000.0, inner_us=300_000.0)
