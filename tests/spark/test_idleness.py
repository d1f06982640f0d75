"""Idleness: a stream is silent only as far as somebody has looked for its records."""

from __future__ import annotations

from skypane.spark.idleness import Idleness


class Clock:
    """Goes on when it is told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_stream_is_idle_after_the_timeout() -> None:
    clock = Clock()
    idle = Idleness(60, clock=clock)
    clock.now = 59
    assert not idle.is_over()
    idle.anew()
    clock.now = 118
    assert not idle.is_over()
    clock.now = 119
    assert idle.is_over()
    assert not Idleness(None, clock=clock).is_over()


def test_records_that_come_between_two_looks_are_not_silence() -> None:
    """A trigger of ten minutes: whatever comes after a step is seen ten minutes later."""
    clock = Clock()
    idle = Idleness(60, between_looks_s=600, clock=clock)
    clock.now = 601
    assert not idle.is_over()
    clock.now = 660
    assert idle.is_over()


def test_a_query_that_gathers_records_does_not_call_the_stream_silent() -> None:
    clock = Clock()
    idle = Idleness(60, clock=clock)
    with idle.not_looking():
        clock.now = 300
        assert not idle.is_over()
    assert not idle.is_over()
    clock.now = 360
    assert idle.is_over()
