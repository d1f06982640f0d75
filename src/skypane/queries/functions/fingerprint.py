"""Fingerprint: a function as short text that changes when its code does.

What counts: module and name, the source (comments and layout do not), defaults, what it captures, and the functions and
plain constants of its own module that it names, those they name included; of a class what its methods name, and what it
derives from. A lambda, or a function without a source, is known by its bytecode. Libraries are not looked into.
"""

from __future__ import annotations

import ast
import inspect
import re
import sysconfig
import textwrap
from collections.abc import Iterator
from datetime import date, time, timedelta
from decimal import Decimal
from functools import partial
from hashlib import blake2b
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np
import pyarrow as pa

from skypane.queries.functions.calls import name_of

_PLAIN = (int, float, complex, str, bytes, bool, type(None))
_VALUES = (*_PLAIN, Decimal, date, time, timedelta, range, re.Pattern, np.generic)
"""What is known by how it is written."""
_CONTAINERS = (list, tuple, set, frozenset, dict)
_BEHIND = ("__func__", "__wrapped__", "fget", "fset", "fdel", "func")
"""Where class methods, properties and cached ones have the function that was written."""
_TYPED_IN = "__main__"
"""Classes of this module may have no source."""
_STANDARD = sysconfig.get_paths()["stdlib"]


def fingerprint(function: Any) -> str:
    """``module:name#hash``; of a plain value the hash alone."""
    lines: list[str] = []
    _describe(function, lines, {})
    text = "\n".join(lines)
    return f"{name_of(function) if callable(function) else ''}#{blake2b(text.encode(), digest_size=8).hexdigest()}"


def _describe(value: Any, lines: list[str], seen: dict[int, Any]) -> None:
    """All that is known of a value, line by line."""
    if isinstance(value, _VALUES):
        lines.append(repr(value))
        return
    if id(value) in seen:
        return
    seen[id(value)] = value  # kept, so that no other object gets its id
    if isinstance(value, _CONTAINERS):
        _describe_container(value, lines, seen)
        del seen[id(value)]  # equal ones count alike, whether they are the same or not
    elif isinstance(value, partial):
        for part in (value.func, value.args, value.keywords):
            _describe(part, lines, seen)
    elif isinstance(value, MethodType):
        _describe(value.__func__, lines, seen)
        _describe(value.__self__, lines, seen)
    elif isinstance(value, FunctionType):
        _describe_function(value, lines, seen)
    else:
        _describe_object(value, lines, seen)


def _describe_container(value: Any, lines: list[str], seen: dict[int, Any]) -> None:
    """What is in it, between where it begins and where it ends."""
    lines.append(f"{type(value).__name__} [")
    if isinstance(value, dict):
        for name in sorted(value, key=repr):
            _describe(name, lines, seen)
            _describe(value[name], lines, seen)
    else:
        for item in sorted(value, key=repr) if isinstance(value, set | frozenset) else value:
            _describe(item, lines, seen)
    lines.append("]")


def _describe_object(value: Any, lines: list[str], seen: dict[int, Any]) -> None:
    if isinstance(value, np.ndarray) and value.dtype == object:
        _describe(value.tolist(), lines, seen)
    elif hasattr(value, "__wrapped__"):  # a function with a cache
        _describe(value.__wrapped__, lines, seen)
    elif isinstance(value, np.ndarray):
        lines.append(f"{value.dtype} {value.shape} {blake2b(value.tobytes()).hexdigest()}")
    elif isinstance(value, pa.Schema | pa.DataType):
        lines.append(str(value))
    elif isinstance(value, type):
        _describe_class(value, lines, seen)
    else:
        _describe(type(value), lines, seen)
        if _is_users(type(value)):
            _describe(_fields(value), lines, seen)


def _describe_class(kind: type, lines: list[str], seen: dict[int, Any]) -> None:
    """Its name; of a class of the user's also its source, what it derives from, and what its methods name."""
    lines.append(f"{kind.__module__}:{kind.__qualname__}")
    source = _source(kind) if _is_users(kind) else ""
    lines.append(source or "")
    if source == "":
        return
    for base in kind.__bases__:
        _describe(base, lines, seen)
    for name, function in _methods(kind):
        lines.append(name)
        if source is None:
            _describe(function, lines, seen)
        else:
            _describe_reach(function, lines, seen)


def _methods(kind: type) -> Iterator[tuple[str, FunctionType]]:
    """The functions that are written in a class, those behind properties and the like included.

    Not those that a decorator made, such as that of dataclasses: the next Python may make them otherwise.
    """
    file = _file(kind)
    for name, part in sorted(vars(kind).items()):
        for function in (part, *(getattr(part, attribute, None) for attribute in _BEHIND)):
            if isinstance(function, FunctionType) and file == _file(function.__code__):
                yield name, function


def _fields(value: Any) -> dict[str, Any]:
    slots = {name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())}
    own = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    return {**own, **getattr(value, "__dict__", {})}


def _is_standard(kind: type) -> bool:
    """Whether a class comes with Python, or is written in C; one that was typed in has no file either."""
    file = _file(kind)
    if file is None:
        return kind.__module__ != _TYPED_IN
    return file.startswith(_STANDARD) and "site-packages" not in file


def _is_users(kind: type) -> bool:
    """Whether objects of the class are looked into: not those of libraries, which may hold anything."""
    return (
        not _is_standard(kind)
        and (_source(kind) is not None or kind.__module__ == _TYPED_IN)
        and not hasattr(kind, "__array_interface__")
        and "site-packages" not in str(_file(kind))
    )


def _file(thing: Any) -> str | None:
    """Where it is written."""
    try:
        return inspect.getsourcefile(thing)
    except (TypeError, OSError):
        return None


def _describe_function(function: FunctionType, lines: list[str], seen: dict[int, Any]) -> None:
    lines.append(f"{function.__module__}:{function.__qualname__}")
    code = function.__code__
    source = None if code.co_name == "<lambda>" else _source(code)
    if source is None:
        _describe_code(code, lines)
    else:
        lines.append(source)
    _describe_reach(function, lines, seen)


def _describe_reach(function: FunctionType, lines: list[str], seen: dict[int, Any]) -> None:
    """What a function needs beside its own code: defaults, what it captured, what it names."""
    code = function.__code__
    for part in (function.__defaults__, function.__kwdefaults__):
        _describe(part, lines, seen)
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        lines.append(name)
        try:
            _describe(cell.cell_contents, lines, seen)
        except ValueError:  # not set yet
            continue
    for name in sorted(_names(code)):
        if name in function.__globals__ and _counts(found := function.__globals__[name], function.__module__):
            lines.append(name)
            _describe(found, lines, seen)


def _counts(found: Any, module: str) -> bool:
    """Whether something that a function names is looked into: values, and what its own module has made."""
    if isinstance(found, FunctionType | type) or hasattr(found, "__wrapped__"):
        return bool(getattr(found, "__module__", None) == module)
    return isinstance(found, (*_VALUES, *_CONTAINERS, np.ndarray, partial)) or type(found).__module__ == module


def _names(code: CodeType) -> set[str]:
    """Global names, those of functions inside included."""
    inner = (_names(const) for const in code.co_consts if isinstance(const, CodeType))
    return {*code.co_names}.union(*inner)


def _describe_code(code: CodeType, lines: list[str]) -> None:
    lines.append(code.co_code.hex())
    lines.append(repr((code.co_names, code.co_varnames, code.co_freevars)))
    for const in code.co_consts:
        if isinstance(const, CodeType):
            _describe_code(const, lines)
        else:
            _describe(const, lines, {})


def _source(thing: Any) -> str | None:
    """The source without comments and layout; ``None`` if there is none."""
    try:
        return ast.unparse(ast.parse(textwrap.dedent(inspect.getsource(thing))))
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
