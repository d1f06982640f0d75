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
    if module_name.startswith("."):
        raise OptionError(f"function={name!r}: modules have names, not paths. Write spreads:spread for spreads.py.")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = import_module(module_name)
    except (Exception, SystemExit) as error:  # whatever a module of the user's does
        raise OptionError(f"function={name!r}: the module cannot be imported: {_why(error)}.") from error
    found: Any = module
    for part in path.split("."):
        if not hasattr(found, part):
            raise OptionError(f"function={name!r}: {module_name} has no {part!r}.")
        found = getattr(found, part)
    return module, found


def _why(error: BaseException) -> str:
    """What went wrong, and in which line of the module that was read last; a missing module says it itself."""
    if isinstance(error, ModuleNotFoundError | SyntaxError):
        return str(error)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.name == "<module>"]
    where = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno}: {frames[-1].line})" if frames else ""
    return f"{type(error).__name__}: {error}{where}"
