"""What to say when a function of the user's fails: which one, of which key and window, where in its code."""

from __future__ import annotations

import traceback
from typing import Any

from skypane.model.errors import FunctionError
from skypane.model.window import Window
from skypane.queries.functions.calls import Call
from skypane.queries.functions.returned import ReturnedWrongError

_LONGEST = 2_000


def error_text(call: Call, error: BaseException) -> str:
    """One line: what was raised, and where in the function's own file; text that every file can hold."""
    if isinstance(error, ReturnedWrongError):
        return _storable(str(error))
    said = " ".join(_message(error).split())[:_LONGEST]
    code = getattr(call.function, "__code__", None)
    frames = [f for f in traceback.extract_tb(error.__traceback__) if code and f.filename == code.co_filename]
    where = f" (line {frames[-1].lineno}: {frames[-1].line})" if frames and frames[-1].line else ""
    return _storable(f"{type(error).__name__}: {said}{where}")


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as another:  # noqa: BLE001 - the error is the user's, and so is what it says
        return f"(its message cannot be shown: {type(another).__name__})"


def _storable(text: str) -> str:
    """Halves of characters, which are in no encoding, written out."""
    return text.encode(errors="backslashreplace").decode()


def function_error(function: str, text: str, key: dict[str, Any], window: Window | None) -> FunctionError:
    """The error that ends the query."""
    whose = ", ".join(f"{name}={value!r}" for name, value in key.items()) or "no key"
    said = text if text.startswith("returned ") else f"raised {text}"
    where = "" if window is None else f", window {window}"
    return FunctionError(
        f"The function {function} {said}, for {whose}{where}. Nothing of this step was committed: fix the function "
        "and start again with accept_changed_code=True, or set such windows aside with start(failed=...)."
    )
