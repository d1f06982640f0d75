"""Parameters: give a command one option for each of a table, beside those of its own signature."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def with_parameters(
    command: Callable[..., None],
    extra: Sequence[inspect.Parameter],
    into: str,
    collect: Callable[[Mapping[str, Any]], object],
) -> Callable[..., None]:
    """The command with the extra options; what was given for them arrives collected, as the parameter ``into``.

    typer builds options from a function's signature, so this is a function with another signature.
    """
    own = [p for p in inspect.signature(command, eval_str=True).parameters.values() if p.name != into]

    def wrapped(**given: Any) -> None:
        collected = collect({p.name: given.pop(p.name) for p in extra})
        command(**given, **{into: collected})

    wrapped.__name__, wrapped.__doc__ = command.__name__, command.__doc__
    parameters = [*own, *extra]
    wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # typer looks for it
    wrapped.__annotations__ = {p.name: p.annotation for p in parameters}
    return wrapped


def keyword(name: str, annotation: object, default: object = None) -> inspect.Parameter:
    """Parse one extra option."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
