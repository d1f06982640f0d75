"""Calls: a call whose arguments do not fit is refused with what to write, rather than with Python's own words."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from skypane.model.errors import OptionError
from skypane.model.suggestions import did_you_mean

P = ParamSpec("P")
R = TypeVar("R")


def called(example: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Refuse arguments that do not fit with an :class:`OptionError` that shows an example of the call."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            refuse_misfit(function, example, args, kwargs)
            return function(*args, **kwargs)

        return checked

    return decorate


def refuse_misfit(function: Callable[..., object], example: str, args: Any, kwargs: Any) -> None:
    """Raise an :class:`OptionError` if the function cannot be called like this."""
    signature = inspect.signature(function)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        names = [name for name in signature.parameters if name != "self"]
        unknown = next((name for name in kwargs if name not in names), None)
        why = f"{error}." if unknown is None else f"{unknown}= is unknown.{did_you_mean(unknown, names)}"
        raise OptionError(f"{function.__name__}(): {why} Write e.g. {example}.") from None
