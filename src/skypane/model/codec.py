"""Codec: dataclasses to plain JSON and back, checked against their types; for all that travels or is stored.

``typed`` and ``from_text`` are fast, and ignore keys that the type does not have: they read what the same version
wrote, such as the reports of tasks. ``strict`` and ``lenient`` read what another version may have written.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any, TypeVar, get_type_hints

import msgspec

from skypane.model.errors import DataError

T = TypeVar("T")


def plain(value: object) -> Any:
    """Dictionaries, lists, numbers and text: what JSON can hold."""
    return msgspec.to_builtins(value, str_keys=True)


def typed(body: Any, kind: type[T]) -> T:
    """The inverse of :func:`plain`; a body that does not fit is refused, with where."""
    try:
        return msgspec.convert(body, kind, str_keys=True)
    except msgspec.ValidationError as error:
        raise DataError(f"This is not a {_name(kind)}: {error}.") from error


def strict(body: Any, kind: type[T]) -> T:
    """Like :func:`typed`, but the body has exactly the keys of the type, at any depth; an error has the path of others.

    Otherwise a field that was renamed would be read as its default. Sets of dataclasses are not supported.
    """
    value = typed(body, kind)
    known = _with_all_fields(value)
    for path in _keys_apart("$", body, known):
        raise DataError(f"This is not a {_name(kind)}: Object contains unknown field `{path}`.")
    for path in _keys_apart("$", known, body):
        raise DataError(f"This is not a {_name(kind)}: Object missing required field `{path}`.")
    return value


def lenient(body: Any, kind: type[T]) -> T | None:
    """Read what can be read and forget the rest, with a line in the log; ``None`` if all of it is forgotten.

    Of a dataclass, each field is read by :func:`strict` and forgotten by itself.
    """
    if not (is_dataclass(kind) and isinstance(body, Mapping)):
        return _or_forget(_name(kind), lambda: strict(body, kind))
    types, read_fields = get_type_hints(kind), {}

    def read(name: str) -> None:
        read_fields[name] = strict(body[name], types[name])

    for name in body:
        _or_forget(f"{_name(kind)}.{name}", partial(read, name))
    return _or_forget(_name(kind), lambda: kind(**read_fields))


def to_text(value: object) -> str:
    """One line of JSON."""
    return msgspec.json.encode(value).decode()


def from_text(text: str, kind: type[T]) -> T:
    """The inverse of :func:`to_text`."""
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError as error:  # also of a text that does not fit the type
        raise DataError(f"This is not a {_name(kind)}: {error}.") from error


def _name(kind: type[object]) -> str:
    return getattr(kind, "__name__", str(kind))


def _with_all_fields(value: Any) -> Any:
    """Like :func:`plain`, which leaves out a field that was not read and has a plain default."""
    if is_dataclass(value):
        return {each.name: _with_all_fields(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _with_all_fields(part) for key, part in value.items()}
    return [_with_all_fields(part) for part in value] if isinstance(value, (list, tuple)) else value


def _keys_apart(path: str, body: Any, known: Any) -> Iterator[str]:
    """The paths of the keys that the one has and the other has not."""
    if body == known:
        return
    if isinstance(body, Mapping) and isinstance(known, Mapping):
        for key, part in body.items():
            if key in known:
                yield from _keys_apart(f"{path}.{key}", part, known[key])
            else:
                yield f"{path}.{key}"
    elif isinstance(body, (list, tuple)) and isinstance(known, (list, tuple)):
        for index, (part, known_part) in enumerate(zip(body, known, strict=False)):
            yield from _keys_apart(f"{path}[{index}]", part, known_part)


def _or_forget(name: str, read: Callable[[], T]) -> T | None:
    try:
        return read()
    except Exception as error:  # noqa: BLE001 - a class may raise anything about a value that does not fit
        message = "Forgot %s, which this version of skypane cannot read: %r"
        logging.getLogger("skypane").warning(message, name, error)
        return None
