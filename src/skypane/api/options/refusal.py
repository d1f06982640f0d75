"""Refusal: an option that a step does not have is refused with the right name, or with the step that takes it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Final, ParamSpec, TypeVar

from skypane.api.by_name import POLICIES
from skypane.api.calls import refuse_misfit
from skypane.api.options.declarations import OPTIONS, option_at
from skypane.api.options.option import Option
from skypane.api.options.spelling import MOVED, call, has_own_step, in_python
from skypane.model.errors import OptionError
from skypane.model.suggestions import nearest

P = ParamSpec("P")
R = TypeVar("R")

_SECTIONS: Final[Mapping[str, str]] = {"lateness": "lateness", "parallel": "parallel", "start": "run", "emit": "query"}
"""The section of each step."""


_EXAMPLES: Final[Mapping[str, str]] = {
    "lateness": ".lateness(sp.FixedDelay('10 seconds'))",
    "parallel": ".parallel(degree=4)",
    "emit": ".emit('changes')",
    "start": ".start(sink=sp.ParquetSink('answers'), checkpoint='checkpoint')",
}
"""What a call of each step looks like."""
_OF_SPARK: Final[Mapping[str, str]] = {
    "processingTime": "trigger='5 seconds'",
    "once": "available_now=True",
    "checkpointLocation": "checkpoint='checkpoint'",
    "queryName": "name='...'",
    "path": "sink=sp.ParquetSink('answers')",
    "format": "sink=sp.FormatSink('json', path='answers')",
}
"""What Spark calls options of ``start``."""


def refuses_unknown(step: Callable[P, R]) -> Callable[P, R]:
    """Refuse arguments that a step does not take with an :class:`OptionError` that says what to write."""
    known = [name for name in inspect.signature(step).parameters if name != "self"]

    @wraps(step)
    def refusing(*args: P.args, **kwargs: P.kwargs) -> R:
        refuse_unknown(step.__name__, kwargs, known)
        refuse_misfit(step, _EXAMPLES[step.__name__], args, kwargs)
        return step(*args, **kwargs)

    return refusing


def refuse_unknown(step: str, given: Mapping[str, object], known: Iterable[str]) -> None:
    """Raise an :class:`OptionError` if an option is not one of the step."""
    known = list(known)
    unknown = {name: value for name, value in given.items() if name not in known}
    for name in unknown:
        raise OptionError(_elsewhere(step, name, unknown) or _of_policy(step, name) or _unknown(step, name, known))


def _elsewhere(step: str, name: str, unknown: Mapping[str, object]) -> str | None:
    """The call that takes the option now, with the others that it takes, too."""
    option = _option(step, name)
    if option is None:
        return None
    found = {other: _option(step, other) for other in unknown}
    together = {
        one: _written(unknown[other]) for other, one in found.items() if one is not None and call(one) == call(option)
    }
    names = ", ".join(other for other, one in found.items() if one in together)
    verb = "is not an option" if len(together) == 1 else "are not options"
    return f"{names} {verb} of .{step}(...): write {in_python(together)}."


def _option(step: str, name: str) -> Option | None:
    """The option that a name stands for in another call, or stood for in this one."""
    moved = MOVED.get(f"{_SECTIONS[step]}.{name}")
    if moved is not None:
        return option_at(moved)
    return next((option for option in OPTIONS if option.name == name and has_own_step(option)), None)


def _written(value: object) -> str:
    return repr(value) if value is None or isinstance(value, str | int | float) else "..."


def _of_policy(step: str, name: str) -> str | None:
    """In files they stand beside ``policy``; in Python they are its arguments."""
    policies = [make for make in POLICIES.values() if name in inspect.signature(make).parameters]
    if step != "lateness" or not policies:
        return None
    ways = " or ".join(f".lateness(sp.{getattr(make, '__name__', make)}({name}=...))" for make in policies)
    return f"{name} is a setting of a lateness policy: write {ways}."


def _unknown(step: str, name: str, known: list[str]) -> str:
    moved = [old.rpartition(".")[2] for old in MOVED if old.startswith(f"{_SECTIONS[step]}.")]
    if step == "start" and name in _OF_SPARK:
        return f"start({name}=...) is unknown: write .start({_OF_SPARK[name]})."
    if step == "start" and name == "outputMode":
        return "start(outputMode=...) is unknown: answers are appended; .emit('changes') sends differences instead."
    near = nearest(name, [*known, *moved])
    option = None if near is None or near in known else _option(step, near)
    wanted = f"{near!r}" if option is None else in_python({option: "..."})
    question = "" if near is None else f" Did you mean {wanted}?"
    return f"{step}({name}=...) is unknown.{question} The options are: {', '.join(known)}."
