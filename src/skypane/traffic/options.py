"""Options: name, allowed range, default and help of everything that describes a stream, defined once."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from skypane.model.durations import parse_duration_us
from skypane.model.errors import OptionError
from skypane.model.suggestions import nearest


@dataclass(frozen=True)
class Option:
    """One option: ``parse`` turns its text into a value, or raises ValueError."""

    name: str
    default: str
    allowed: str
    help: str
    parse: Callable[[str], Any]

    def value(self, text: str) -> Any:
        """The parsed value of ``text``; the error names the option and the range."""
        try:
            return self.parse(text)
        except ValueError:
            raise OptionError(f"option {self.name}={text!r}: must be {self.allowed}") from None


def number(low: float, high: float, *, open_low: bool = False, whole: bool = False) -> Callable[[str], float]:
    """A parser of numbers from ``low`` to ``high``."""

    def parse(text: str) -> float:
        plain = text.strip().replace("_", "")
        # Whole numbers not through float: a 63-bit seed keeps its last digits.
        value = int(plain) if re.fullmatch(r"[+-]?[0-9]+", plain) else float(plain)
        if not math.isfinite(value) or value > high or value < low or (open_low and value == low):
            raise ValueError(text)
        if whole and value != int(value):
            raise ValueError(text)
        return int(value) if whole else float(value)

    return parse


def duration_us(low: str, high: str, *, zero: bool = False) -> Callable[[str], int]:
    """A parser of durations: seconds, or what the rest of skypane takes for a duration."""
    low_us, high_us = seconds_or_duration_us(low), seconds_or_duration_us(high)

    def parse(text: str) -> int:
        value = seconds_or_duration_us(text)
        if not (low_us <= value <= high_us or (zero and value == 0)):
            raise ValueError(text)
        return value

    return parse


def seconds_or_duration_us(text: str) -> int:
    """``'200 ms'``, ``'1 minute 30 seconds'``, ``'1.5'`` (seconds) in microseconds."""
    try:
        seconds = float(text)
    except ValueError:
        return parse_duration_us(text, "duration", zero_ok=True)
    return round(number(0, 1e12)(str(seconds)) * 1_000_000)


def choice(*names: str) -> Callable[[str], str]:
    """A parser of one of the names."""

    def parse(text: str) -> str:
        name = text.strip().lower()
        if name not in names:
            raise ValueError(text)
        return name

    return parse


def choices(*names: str) -> Callable[[str], tuple[str, ...]]:
    """A parser of one or several of the names, with commas between."""
    one = choice(*names)
    return lambda text: tuple(one(part) for part in text.split(","))


def flag(text: str) -> bool:
    """``true`` or ``false``."""
    return {"true": True, "false": False}[choice("true", "false")(text)]


def instant_us(text: str) -> int | None:
    """An ISO 8601 instant (UTC where no zone is given) in microseconds since the epoch; None for ``now``."""
    if text.strip().lower() in ("", "now"):
        return None
    at = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    at = at.replace(tzinfo=timezone.utc) if at.tzinfo is None else at
    since = at - datetime(1970, 1, 1, tzinfo=timezone.utc)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def rate_steps(text: str) -> tuple[tuple[int, float], ...]:
    """``'0:40000, 60:10000'``: at which second which rate starts."""
    steps: list[tuple[int, float]] = []
    for part in text.split(",") if text.strip() else []:
        at, _, rate = part.partition(":")
        steps.append((seconds_or_duration_us(at), number(0, 1e9)(rate)))
    starts = [start for start, _ in steps]
    if steps and (starts[0] != 0 or starts != sorted(set(starts))):
        raise ValueError(text)
    return tuple(steps)


def parse_options(options: Iterable[Option], given: Mapping[str, object]) -> dict[str, Any]:
    """All values by name, defaults filled in; an unknown name is an error that suggests the nearest one."""
    known = {option.name: option for option in options}
    texts = {name.lower().replace("-", "_"): text for name, text in given.items()}
    for name in texts:
        if name not in known:
            near = nearest(name, known)
            hint = f"did you mean {near!r}?" if near else f"known options: {', '.join(known)}"
            raise OptionError(f"unknown option {name!r}: {hint}")
    return {
        name: option.value(_as_text(texts[name]) if name in texts else option.default) for name, option in known.items()
    }


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def as_markdown(options: Iterable[Option]) -> str:
    """The options as a table for the documentation."""
    rows = [f"| `{option.name}` | {_code(option.default)} | {option.allowed} | {option.help} |" for option in options]
    return "\n".join(["| option | default | allowed | meaning |", "| --- | --- | --- | --- |", *rows])


def _code(text: str) -> str:
    return f"`{text}`" if text else ""
