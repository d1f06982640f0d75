"""Durations: from what people write ("1 minute 30 seconds", a timedelta) to whole microseconds, and back."""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

from skypane.model.errors import OptionError

Duration: TypeAlias = "str | timedelta"

_UNIT_US = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
_SHORT = {
    "us": "microsecond",
    "ms": "millisecond",
    "s": "second",
    "sec": "second",
    "min": "minute",
    "h": "hour",
    "d": "day",
}
_PART = re.compile(r"\s*(\d{1,40}(?:\.\d{1,40})?)\s*([a-zA-Z]+)\s*,?")
_INT64_MAX = 2**63 - 1


def parse_duration_us(value: Duration, option: str, *, zero_ok: bool = False) -> int:
    """Whole microseconds of a duration; ``option`` is the name used in the error message."""
    micros = value // timedelta(microseconds=1) if isinstance(value, timedelta) else _parse_text(value, option)
    if micros < 0 or (micros == 0 and not zero_ok):
        raise OptionError(f"{option}={value!r} must be {'zero or more' if zero_ok else 'longer than zero'}.")
    if micros > _INT64_MAX:
        raise OptionError(f"{option}={value!r} is longer than 292,000 years; give a shorter duration.")
    return micros


def _parse_text(value: object, option: str) -> int:
    if not isinstance(value, str):
        raise OptionError(f"{option}={value!r} is not a duration. {_help(option)}")
    return _parse(value, option)


def _help(option: str) -> str:
    return f"Give {option} as text such as '200 milliseconds' or '1 minute 30 seconds', or as a timedelta."


@lru_cache(maxsize=256)  # policies keep what the user wrote, and ask for it in every step
def _parse(value: str, option: str) -> int:
    help_text = _help(option)
    text = value.strip().lower().removeprefix("interval").strip()
    total, position = Fraction(0), 0  # in binary 1.001 milliseconds would not be 1001 microseconds
    while match := _PART.match(text, position):
        unit = match.group(2)
        name = _SHORT.get(unit, unit.rstrip("s"))
        if name in {"month", "year"}:
            raise OptionError(f"{option}={value!r}: a {name} has no fixed length. Use days, e.g. '30 days'.")
        if name not in _UNIT_US:
            raise OptionError(f"{option}={value!r}: unknown unit {unit!r}. {help_text}")
        total += Fraction(match.group(1)) * _UNIT_US[name]
        position = match.end()
    if position == 0 or text[position:].strip():
        raise OptionError(f"{option}={value!r} is not a duration. {help_text}")
    if total != int(total):
        raise OptionError(f"{option}={value!r} is finer than a microsecond, the resolution of Spark's timestamps.")
    return int(total)


def format_duration_us(micros: int) -> str:
    """The shortest exact text for a duration: 1500000 -> '1500 ms', 2000000 -> '2 s'."""
    for short, unit in (
        ("d", "day"),
        ("h", "hour"),
        ("min", "minute"),
        ("s", "second"),
        ("ms", "millisecond"),
    ):
        if micros and micros % _UNIT_US[unit] == 0:
            return f"{micros // _UNIT_US[unit]} {short}"
    return f"{micros} us"
