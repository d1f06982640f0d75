"""Whole numbers as people give them: Python's own, and those of NumPy and pandas."""

from __future__ import annotations

import operator
from typing import Any

from skypane.model.errors import OptionError

MOST = 2**31 - 1


def whole_number(value: Any, option: str) -> int:
    """The number, from 1 on; ``option`` is the name used in the error message."""
    try:
        number = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = -1
    if not 1 <= number <= MOST:
        raise OptionError(f"{option}={value!r} must be a whole number from 1 to {MOST}.")
    return number
