"""Idleness: a stream is silent only as far as somebody has looked for its records."""

from __future__ import annotations

from typing import Any, cast

from skypane.spark.idleness import Idleness, SparkLook


class Clock:
    """Goes on when it is told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class Looks:
    """Finds nothing when it is told to."""

    asked = 0
    nothing = False

    def ask(self) -> None:
        self.asked += 1
        self.nothing = False

    def found_nothing(self) -> bool:
        return self.nothing


def test_a_stream_is_idle_when_nothing_is_found_after_the_timeout() -> None:
    clock, looks = Clock(), Looks()
    idle = Idleness(60, clock)
    clock.now, looks.nothing = 59, True
    assert not idle.is_over(looks)
    assert looks.asked == 0
    clock.now = 60
    assert not idle.is_over(looks), "what was found before says nothing"
    assert not idle.is_over(looks)
    looks.nothing = True
    assert idle.is_over(looks)
    assert looks.asked == 1


def test_it_begins_anew_with_records() -> None:
    """Frozen, or between two steps, for five minutes: the first look finds what waits."""
    clock, looks = Clock(), Looks()
    idle = Idleness(60, clock)
    clock.now = 300
    assert not idle.is_over(looks)
    idle.anew()
    looks.nothing = True
    clock.now = 359
    assert not idle.is_over(looks)
    clock.now = 360
    assert not idle.is_over(looks), "asked again, nobody has looked yet"


def test_without_a_timeout_nobody_asks() -> None:
    clock, looks = Clock(), Looks()
    idle = Idleness(None, clock)
    clock.now, looks.nothing = 1e9, True
    assert not idle.is_over(looks)
    assert looks.asked == 0


class Execution:
    """The flag of Spark's stream execution: set by a look that finds nothing, reset by whoever waits for one."""

    flag = True

    def __init__(self) -> None:
        setattr(self, "noNewData_$eq", lambda value: setattr(self, "flag", value))

    def noNewData(self) -> bool:  # noqa: N802 - Spark's name
        return self.flag


class Query:
    """As much of a streaming query as is looked at."""

    def __init__(self, *, active: bool) -> None:
        self.execution = Execution()
        self.status = {"isTriggerActive": active}
        self._jsq = self

    def streamingQuery(self) -> Execution:  # noqa: N802 - Spark's name
        return self.execution


def test_a_look_from_before_does_not_count() -> None:
    query = Query(active=False)
    look = SparkLook(cast("Any", query))
    look.ask()
    assert not look.found_nothing()
    query.execution.flag = True
    assert look.found_nothing()


def test_a_look_that_was_under_way_does_not_count() -> None:
    """Spark listed the files, then the process was frozen: what came since is not among them."""
    query = Query(active=True)
    look = SparkLook(cast("Any", query))
    look.ask()
    query.execution.flag = True
    assert not look.found_nothing()
    assert not look.found_nothing()
    query.execution.flag = True
    assert look.found_nothing()
