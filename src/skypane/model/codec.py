"""Codec: dataclasses to plain JSON and back, checked against their types; for all that travels or is stored."""

from __future__ import annotations

from typing import Any, TypeVar

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
        raise DataError(f"This is not a {getattr(kind, '__name__', kind)}: {error}.") from error


def to_text(value: object) -> str:
    """One line of JSON."""
    return msgspec.json.encode(value).decode()


def from_text(text: str, kind: type[T]) -> T:
    """The inverse of :func:`to_text`."""
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError as error:  # also of a text that does not fit the type
        raise DataError(f"This is not a {getattr(kind, '__name__', kind)}: {error}.") from error
