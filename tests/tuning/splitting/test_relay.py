"""Relay: it makes a process swing, and reads the gains off the swing."""

from __future__ import annotations

import math

import pytest

from skypane.model.codec import from_text, to_text
from skypane.tuning.splitting.pid import Gains, Pid
from skypane.tuning.splitting.relay import Relay


def swing(gain: float, periods: int = 60) -> Relay:
    """The experiment on a process that adds up the adjustments and answers one period later."""
    relay, level, before = Relay(0.9, step=0.1, hysteresis=0.0), 0.2, 0.2
    for _ in range(periods):
        adjustment, relay = relay.update(before)
        before, level = level, level + gain * adjustment
    return relay


def test_the_gains_follow_from_the_swing() -> None:
    relay = swing(gain=1.0)
    amplitude, period = relay.amplitudes[-1], relay.periods[-1]
    assert amplitude > 0.1
    ultimate = 4 * 0.1 / (math.pi * amplitude / 2)
    gains = relay.gains()
    assert gains is not None
    assert gains.proportional == pytest.approx(0.6 * ultimate)
    assert gains.integral == pytest.approx(1.2 * ultimate / period)
    assert gains.derivative == pytest.approx(0.075 * ultimate * period)


def test_a_process_that_answers_twice_as_strongly_gets_half_the_gains() -> None:
    weak, strong = swing(gain=1.0).gains(adds_up=True), swing(gain=2.0).gains(adds_up=True)
    assert weak is not None
    assert strong is not None
    assert strong.proportional == pytest.approx(weak.proportional / 2, rel=0.25)
    assert strong.integral == weak.integral == 0.0


@pytest.mark.parametrize("gain", [0.2, 1.0, 5.0])
def test_the_gains_found_settle_the_process_they_were_found_on(gain: float) -> None:
    gains = swing(gain).gains(adds_up=True)
    assert gains is not None
    pid, level, before = Pid(gains, 0.9, limit=10.0), 0.2, 0.2
    for _ in range(300):
        output, pid = pid.update(before)
        before, level = level, level + gain * output
    assert level == pytest.approx(0.9, abs=1e-3)


def overshoot(gains: Gains) -> float:
    """How far the process goes beyond the set-point on its way there."""
    pid, level, before, highest = Pid(gains, 0.9, limit=10.0), 0.2, 0.2, 0.2
    for _ in range(300):
        output, pid = pid.update(before)
        before, level = level, level + output
        highest = max(highest, level)
    return highest - 0.9


def test_where_the_output_adds_up_the_gain_of_the_sum_only_makes_it_overshoot() -> None:
    relay = swing(gain=1.0)
    usual, careful = relay.gains(), relay.gains(adds_up=True)
    assert usual is not None
    assert careful is not None
    assert overshoot(usual) > 0.2
    assert overshoot(careful) < 0.05


def test_too_few_cycles_tell_nothing() -> None:
    relay = Relay(0.9)
    for _ in range(50):
        adjustment, relay = relay.update(3.0)
        assert adjustment == -relay.step
    assert relay.gains() is None


def test_noise_within_the_hysteresis_does_not_flip_it() -> None:
    relay = Relay(0.9, hysteresis=0.05)
    for index in range(50):
        adjustment, relay = relay.update(0.9 + 0.04 * (-1) ** index)
        assert adjustment == relay.step
    assert relay.periods == ()


def test_it_survives_json() -> None:
    relay = swing(gain=1.0, periods=17)
    assert from_text(to_text(relay), Relay) == relay
