"""Waiting: how long a caller waits, as seconds or as a duration, within what a clock can count."""

from __future__ import annotations

import threading
from datetime import timedelta

from skypane.model.durations import Duration, parse_duration_us
from skypane.model.errors import OptionError


def timeout_s(timeout: float | Duration | None) -> float | None:
    """Seconds to wait, as Python's locks take them; ``None``: without an end, as for an infinite number."""
    if timeout is None:
        return None
    if isinstance(timeout, str | timedelta):
        return min(parse_duration_us(timeout, "timeout", zero_ok=True) / 1e6, threading.TIMEOUT_MAX)
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout >= 0:  # nor NaN
        raise OptionError(
            f"timeout={timeout!r} must be a number of seconds from 0, a duration such as '5 seconds', or None to wait "
            "without an end."
        )
    return None if timeout > threading.TIMEOUT_MAX else float(timeout)
