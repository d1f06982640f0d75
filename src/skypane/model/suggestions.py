"""Suggestions: the known name that is nearest to a misspelt one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is nearest, whatever its case, if one is near at all."""
    spelled = {one.lower(): one for one in reversed(list(known))}
    near = difflib.get_close_matches(name.lower(), list(reversed(spelled)), n=1)
    return spelled[near[0]] if near else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A question with the nearest name and a space before it; nothing if no name is near."""
    near = nearest(name, known)
    return "" if near is None else f" Did you mean {near!r}?"
