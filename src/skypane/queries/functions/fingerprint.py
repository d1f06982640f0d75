"""Fingerprint: a function as short text that changes when its code does.

What counts: module and name, the source (comments and layout do not), defaults, what it captures, and the functions and
plain constants of its own module that it names, those they name included. A lambda, or a function without a source, is
known by its bytecode. Libraries that it imports are not looked into.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from functools import partial
from hashlib import blake2b
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np
import pyarrow as pa

from skypane.queries.functions.calls import name_of

_PLAIN = (int, float, complex, str, bytes, bool, type(None))


def fingerprint(function: Any) -> str:
    """``module:name#hash``; of a plain value the hash alone."""
    lines: list[str] = []
    _describe(function, lines, {})
    text = "\n".join(lines)
    return f"{name_of(function) if callable(function) else ''}#{blake2b(text.encode(), digest_size=8).hexdigest()}"


def _describe(value: Any, lines: list[str], seen: dict[int, Any]) -> None:
    """All that is known of a value, line by line."""
    if isinstance(value, _PLAIN):
        lines.append(repr(value))
        return
    if id(value) in seen:
        return
    seen[id(value)] = value  # kept, so that no other object gets its id
    if isinstance(value, partial):
        for part in (value.func, value.args, value.keywords):
            _describe(part, lines, seen)
    elif isinstance(value, MethodType):
        _describe(value.__func__, lines, seen)
        _describe(value.__self__, lines, seen)
    elif isinstance(value, FunctionType):
        _describe_function(value, lines, seen)
    elif isinstance(value, dict):
        for name in sorted(value, key=repr):
            lines.append(repr(name))
            _describe(value[name], lines, seen)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in sorted(value, key=repr) if isinstance(value, set | frozenset) else value:
            _describe(item, lines, seen)
    else:
        _describe_object(value, lines, seen)


def _describe_object(value: Any, lines: list[str], seen: dict[int, Any]) -> None:
    if isinstance(value, np.ndarray):
        lines.append(f"{value.dtype} {value.shape} {blake2b(value.tobytes()).hexdigest()}")
    elif isinstance(value, pa.Schema | pa.DataType):
        lines.append(str(value))
    elif isinstance(value, type):
        lines.append(f"{value.__module__}:{value.__qualname__}")
        lines.append(_source(value) or "")
    else:
        _describe(type(value), lines, seen)
        if _is_users(type(value)):
            _describe(dict(getattr(value, "__dict__", {})), lines, seen)


def _is_users(kind: type) -> bool:
    """Whether objects of the class are looked into: not those of libraries, which may hold anything."""
    return (
        _source(kind) is not None
        and not hasattr(kind, "__array_interface__")
        and "site-packages" not in str(inspect.getsourcefile(kind))
    )


def _describe_function(function: FunctionType, lines: list[str], seen: dict[int, Any]) -> None:
    lines.append(f"{function.__module__}:{function.__qualname__}")
    code = function.__code__
    source = None if code.co_name == "<lambda>" else _source(code)
    if source is None:
        _describe_code(code, lines)
    else:
        lines.append(source)
    for part in (function.__defaults__, function.__kwdefaults__):
        _describe(part, lines, seen)
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        lines.append(name)
        try:
            _describe(cell.cell_contents, lines, seen)
        except ValueError:  # not set yet
            continue
    for name in sorted(_names(code)):
        found = function.__globals__.get(name)
        own = isinstance(found, FunctionType | type) and found.__module__ == function.__module__
        if name in function.__globals__ and (own or isinstance(found, (*_PLAIN, list, tuple, dict, partial))):
            lines.append(name)
            _describe(found, lines, seen)


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
