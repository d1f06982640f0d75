"""Calls: a user's function - its name, its parameters, and the form in which it gets records.

One rule, that of Spark's ``applyInPandas``: how many positional parameters without a default it has. With one it gets
the records; with two, key and records; with three, key, window and records. How the records come, the annotation of
their parameter says: an Arrow table unless it names another kind.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import FunctionType, MethodType
from typing import Any, Final, get_origin, get_type_hints

import narwhals.stable.v2 as nw
import pyarrow as pa

from skypane.model.errors import OptionError
from skypane.model.window import Window
from skypane.tables.zones import with_place_zones

Records = Any
_TABLE = "an Arrow table"
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _arrays(table: pa.Table) -> dict[str, Any]:
    return {name: table.column(name).to_numpy() for name in table.column_names}


def _polars(table: pa.Table) -> Any:
    return nw.to_native(nw.from_arrow(with_place_zones(table), backend="polars"))


FORMS: Final[Mapping[str, Callable[[pa.Table], Records]]] = {
    _TABLE: lambda table: table,
    "NumPy arrays by column": _arrays,
    "a pandas DataFrame": lambda table: table.to_pandas(),
    "a polars DataFrame": _polars,
}
"""How records are handed over."""
_BY_NAME: Final = {
    "Table": _TABLE,
    "Any": _TABLE,
    "dict": "NumPy arrays by column",
    "Dict": "NumPy arrays by column",
    "Mapping": "NumPy arrays by column",
    "DataFrame": "a pandas DataFrame",
}


@dataclass(frozen=True, eq=False)
class Call:
    """A function with up to three parameters: optionally key and window, then its subject."""

    function: Callable[..., Any]
    parameters: int
    form: str
    """How it gets records, in words: one of :data:`FORMS`."""

    @classmethod
    def of(
        cls, function: object, what: str, *, min_arguments: int = 1, max_arguments: int = 3, takes_records: bool = True
    ) -> Call:
        """Look at the function; ``what`` is the option that errors name."""
        if not callable(function):
            raise OptionError(f"{what}={function!r} must be a function.")
        wanted = _wanted(function, what)
        if not min_arguments <= len(wanted) <= max_arguments:
            rule = _RULES[min_arguments, max_arguments]
            raise OptionError(f"{what}={name_of(function)} has {len(wanted)} parameters without a default. {rule}")
        return cls(function, len(wanted), _form(function, wanted[-1], what) if takes_records else _TABLE)

    @property
    def name(self) -> str:
        """Where it is found: ``module:name``."""
        return name_of(self.function)

    def __call__(self, key: Any, window: Window | None, subject: Any) -> Any:
        """Call the function with the parameters that it has; records come in the form that it declares."""
        subject = FORMS[self.form](subject)
        arguments = (key, window, subject) if self.parameters == 3 else (key, subject)[2 - self.parameters :]
        return self.function(*arguments)


_RULES: Final = {
    (1, 3): "Write fn(records), fn(key, records) or fn(key, window, records).",
    (2, 2): "It must have two.",
}


def name_of(function: Any) -> str:
    """``module:name`` of anything that can be called."""
    if isinstance(function, partial):
        return name_of(function.func)
    owner = function if hasattr(function, "__qualname__") else type(function)
    return f"{owner.__module__}:{owner.__qualname__}"


def _wanted(function: Callable[..., Any], what: str) -> list[str]:
    """The positional parameters that have no default."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a function written in C may not tell
        return ["records"]
    missing = [p for p in parameters if p.default is p.empty]
    for parameter in missing:
        if parameter.kind is parameter.KEYWORD_ONLY:
            raise OptionError(f"{what}={name_of(function)}: its parameter {parameter.name!r} needs a default.")
    return [p.name for p in missing if p.kind in _POSITIONAL]


def _form(function: Callable[..., Any], parameter: str, what: str) -> str:
    annotation = _annotation(function, parameter)
    if annotation is None:
        return _TABLE
    text = annotation if isinstance(annotation, str) else _type_name(annotation)
    if text.startswith(("polars.", "pl.")):
        return "a polars DataFrame"
    short = text.split("[")[0].split(".")[-1]
    if short not in _BY_NAME:
        raise OptionError(
            f"{what}={name_of(function)}: {parameter!r} is annotated as {text}. Records come as a pyarrow.Table, as a "
            "dict of NumPy arrays, or as a pandas.DataFrame or polars.DataFrame; annotate it as one of these."
        )
    return _BY_NAME[short]


def _type_name(annotation: Any) -> str:
    kind = get_origin(annotation) or annotation
    return f"{getattr(kind, '__module__', '')}.{getattr(kind, '__name__', kind)}"


def _annotation(function: Any, parameter: str) -> Any:
    """What the parameter is annotated with; the text of it where that cannot be resolved."""
    while isinstance(function, partial):
        function = function.func
    is_plain = isinstance(function, FunctionType | MethodType)
    target = function if is_plain else type(function).__call__
    plain = getattr(target, "__annotations__", {})
    try:
        return get_type_hints(target).get(parameter)
    except Exception:  # noqa: BLE001 - whatever a forward reference runs into; the text will do
        return plain.get(parameter)
