"""PID: equation 3 term by term, and nothing piles up while nothing can be done."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skypane.model.codec import from_text, to_text
from skypane.model.errors import OptionError
from skypane.tuning.splitting.pid import OWED_PERIODS, Gains, Pid

numbers = st.floats(-10, 10)


@given(measured=st.lists(st.floats(0.8, 1.0), min_size=1, max_size=20), gains=st.tuples(*[st.floats(0, 0.05)] * 3))
def test_the_output_is_equation_3(measured: list[float], gains: tuple[float, float, float]) -> None:
    pid = Pid(Gains(*gains), 0.9, limit=1000.0)
    errors: list[float] = []
    for value in measured:
        output, pid = pid.update(value)
        errors.append(0.9 - value)
        change = errors[-1] - errors[-2] if len(errors) > 1 else 0.0
        assert output == pytest.approx(gains[0] * errors[-1] + gains[1] * sum(errors) + gains[2] * change, abs=1e-9)


@given(measured=st.lists(numbers, max_size=30), limit=st.floats(0.01, 2))
def test_the_output_keeps_its_limit(measured: list[float], limit: float) -> None:
    pid = Pid(Gains(1.0, 0.5, 2.0), 0.9, limit)
    for value in measured:
        output, pid = pid.update(value)
        assert abs(output) <= limit


def test_a_long_overload_is_forgotten_at_once_when_the_actuator_was_at_its_end() -> None:
    pid = Pid(Gains(0.1, 0.1, 0.0), 0.9, limit=0.3)
    for _ in range(1000):
        _, pid = pid.update(3.0, blocked=-1)
    assert pid.error_sum == 0.0
    output, _ = pid.update(0.5)
    assert output > 0


def test_without_a_block_the_sum_never_asks_for_more_than_the_limit() -> None:
    pid = Pid(Gains(0.0, 0.1, 0.0), 0.9, limit=0.3)
    for _ in range(1000):
        _, pid = pid.update(3.0)
    assert pid.error_sum == pytest.approx(-3.0)
    outputs = []
    for _ in range(40):
        output, pid = pid.update(0.5)
        outputs.append(output)
    assert outputs[-1] > 0  # it came back after a few periods, not after a thousand


def test_what_the_limit_cuts_off_is_made_up_for() -> None:
    pid, outputs = Pid(Gains(0.1, 0.0, 0.0), 0.9, limit=0.3), []
    for measured in (7.9, 0.9, 0.9, 0.9):
        output, pid = pid.update(measured)
        outputs.append(output)
    assert outputs == pytest.approx([-0.3, -0.3, -0.1, 0.0])


def test_what_is_made_up_for_is_bounded_and_forgotten_at_the_end_of_the_actuator() -> None:
    _, pid = Pid(Gains(0.1, 0.0, 0.0), 0.9, limit=0.3).update(1000.0)
    assert pid.owed == pytest.approx(-0.3 * OWED_PERIODS)
    _, pid = pid.update(0.9, blocked=-1)
    assert pid.owed == 0.0


def test_errors_that_push_away_from_the_end_count() -> None:
    pid = Pid(Gains(0.0, 0.1, 0.0), 0.9, limit=0.3)
    _, pid = pid.update(0.5, blocked=-1)
    assert pid.error_sum == pytest.approx(0.4)


def test_it_holds_a_process_at_the_set_point() -> None:
    pid, alpha, rho = Pid(Gains(0.3, 0.0, 0.1), 0.9, limit=0.3), 1.0, 2.0
    for _ in range(200):
        output, pid = pid.update(rho)
        alpha += output
        rho = 0.5 * rho + 0.5 * (0.4 + 0.8 * alpha)  # answers with a lag
    assert rho == pytest.approx(0.9, abs=1e-6)


@given(measured=st.lists(numbers, max_size=10))
def test_it_survives_json(measured: list[float]) -> None:
    pid = Pid(Gains(0.3, 0.2, 0.1), 0.9, 0.3)
    for value in measured:
        _, pid = pid.update(value)
    assert from_text(to_text(pid), Pid) == pid


def test_a_limit_must_be_above_zero() -> None:
    with pytest.raises(OptionError, match="limit of a PID must be above 0"):
        Pid(Gains(1, 1, 1), 0.9, 0.0)
