"""How long to wait may be said in seconds or as a duration; what is neither is refused by name."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest

from skypane.model.errors import OptionError
from skypane.spark.waiting import timeout_s


@pytest.mark.parametrize(
    ("timeout", "seconds"),
    [
        (None, None),
        (0, 0.0),
        (2.5, 2.5),
        ("5 seconds", 5.0),
        (timedelta(minutes=1), 60.0),
        ("0 s", 0.0),
        (float("inf"), None),
        (1e10, None),
        (10**400, None),
        ("100000 days", 8_640_000_000.0),
    ],
)
def test_seconds_and_durations(timeout: Any, seconds: float | None) -> None:
    assert timeout_s(timeout) == seconds


@pytest.mark.parametrize("timeout", ["5", "soon", -1, float("nan"), True, [5], timedelta(seconds=-1)])
def test_anything_else_is_refused_by_name(timeout: Any) -> None:
    with pytest.raises(OptionError, match="timeout="):
        timeout_s(timeout)


def test_the_longest_wait_is_one_that_locks_take() -> None:
    event = threading.Event()
    event.set()
    assert event.wait(timeout_s("100000000 days"))
    assert event.wait(timeout_s(threading.TIMEOUT_MAX))
