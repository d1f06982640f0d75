"""Meant: which of the names that are known somebody has probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def meant(name: str, known: Iterable[str]) -> str | None:
    """The nearest one, if it is near at all."""
    return next(iter(difflib.get_close_matches(name, list(known), n=1)), None)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The same as a question, with a space before it; nothing if no name is near."""
    near = meant(name, known)
    return "" if near is None else f" Did you mean {near!r}?"
