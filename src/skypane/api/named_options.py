"""Named options: an option that a step does not have is refused with the one that was meant, or where it belongs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Final, ParamSpec, TypeVar

from skypane.api.by_name import POLICIES
from skypane.api.options import ELASTIC, MOVED, options_of
from skypane.model.errors import OptionError
from skypane.model.meant import did_you_mean

P = ParamSpec("P")
R = TypeVar("R")

_STEPS: Final[Mapping[str, str]] = {"lateness": "lateness", "parallel": "parallel", "run": "start"}
"""The sections whose options are arguments of a step, and that step."""


def names_options(method: Callable[P, R]) -> Callable[P, R]:
    """Refuse unknown options of a step in words, rather than with Python's own error."""
    known = [name for name in inspect.signature(method).parameters if name != "self"]

    @wraps(method)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        refuse_unknown(method.__name__, kwargs, known)
        return method(*args, **kwargs)

    return checked


def refuse_unknown(step: str, given: Mapping[str, object], known: Iterable[str]) -> None:
    """Options of this step only."""
    known = list(known)
    unknown = {name: value for name, value in given.items() if name not in known}
    for name in unknown:
        raise OptionError(
            _moved(step, name)
            or _of_elastic(step, unknown)
            or _of_policy(step, name)
            or _of_another_step(step, name)
            or f"{step}({name}=...) is unknown.{did_you_mean(name, known)} The options are: {', '.join(known)}."
        )


def _moved(step: str, name: str) -> str | None:
    if step != "start" or name not in MOVED:
        return None
    now, as_what = MOVED[name]
    return f"start({name}=...) has moved: write .{now}({as_what}=...) before .start(...)."


def _of_elastic(step: str, unknown: Mapping[str, object]) -> str | None:
    """In files they stand beside ``elastic``; in Python they are one object."""
    names = [option.name for option in ELASTIC if option.name in unknown]
    if step != "parallel" or not names:
        return None
    settings = ", ".join(f"{name}={unknown[name]!r}" for name in names)
    says = "is a setting" if len(names) == 1 else "are settings"
    return f"{', '.join(names)} {says} of elastic degrees: write .parallel(elastic=sp.Elastic({settings}))."


def _of_policy(step: str, name: str) -> str | None:
    """In files they stand beside ``policy``; in Python they are its arguments."""
    policies = [make for make in POLICIES.values() if name in inspect.signature(make).parameters]
    if step != "lateness" or not policies:
        return None
    ways = " or ".join(f".lateness(sp.{getattr(make, '__name__', make)}({name}=...))" for make in policies)
    return f"{name} is a setting of a lateness policy: write {ways}."


def _of_another_step(step: str, name: str) -> str | None:
    """Whether a step beside this one has it."""
    for section, other in _STEPS.items():
        has = any(option.name == name and not option.of_policy for option in options_of(section))
        if has and other != step:
            elastic = any(option.name == name for option in ELASTIC)
            written = f"elastic=sp.Elastic({name}=...)" if elastic else f"{name}=..."
            return f"{name} is no option of .{step}(...): write .{other}({written})."
    return None
