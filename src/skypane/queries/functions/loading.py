"""Loading: what ``module:name`` names, from the folder one is in or from what is installed."""

from __future__ import annotations

import sys
import traceback
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from skypane.model.errors import OptionError


def load(name: str) -> tuple[ModuleType, Any]:
    """The module, and what is called so in it."""
    module_name, colon, path = name.partition(":")
    if not colon or not module_name or not path:
        raise OptionError(f"function={name!r} must be written module:name, e.g. spreads:spread for spreads.py.")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    module = _imported(module_name, name)
    found: Any = module
    for part in path.split("."):
        if not hasattr(found, part):
            raise OptionError(f"function={name!r}: {module_name} has no {part!r}.")
        found = getattr(found, part)
    return module, found


def _imported(module_name: str, name: str) -> ModuleType:
    """The module; whatever its code raises is told in words, an exit included."""
    if module_name.startswith("."):
        raise OptionError(f"function={name!r}: modules have names, not paths. Write spreads:spread for spreads.py.")
    try:
        return import_module(module_name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        why = f"{error}" if isinstance(error, ImportError) else f"{type(error).__name__}: {error}{_line(error)}"
        raise OptionError(f"function={name!r}: the module cannot be imported: {why}.") from error


def _line(error: BaseException) -> str:
    """Where it was raised; a syntax error says so itself."""
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, SyntaxError) or not frames:
        return ""
    return f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})"
