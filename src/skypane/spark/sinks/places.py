"""Places: which folders and names of one query get in each other's way."""

from __future__ import annotations

from pathlib import Path

from skypane.model.errors import OptionError
from skypane.spark.store.checkpoint import FOLDERS

_STAGING = "_staging"


def check_apart(name: str, place: Path | str, other_name: str, other: Path | str) -> None:
    """Refuse two places that are one, or of which one is where the other keeps or reads its own files.

    The first may be the checkpoint; all others are sinks.
    """
    if isinstance(place, str) or isinstance(other, str):
        if place == other:
            raise OptionError(f"{name} and {other_name} write to the same {place}. Give each its own.")
        return
    place, other = place.resolve(), other.resolve()
    if place == other:
        raise OptionError(f"{name} and {other_name} write to the same folder {place}. Give each its own.")
    if other.is_relative_to(place) and _harms(name, other.relative_to(place)):
        _refuse(other_name, other, name, place)
    if place.is_relative_to(other) and _harms(other_name, place.relative_to(other)):
        _refuse(name, place, other_name, other)


def _harms(outer: str, inside: Path) -> bool:
    """Whether what is inside a folder would be taken for a part of it; Spark does not read what starts with ``_``."""
    first = inside.parts[0]
    return first in FOLDERS if outer == "checkpoint" else first == _STAGING or not first.startswith(("_", "."))


def _refuse(inner_name: str, inner: Path, outer_name: str, outer: Path) -> None:
    raise OptionError(
        f"{inner_name} is in {inner}, inside the folder {outer} of {outer_name}, which would take its files for its "
        "own. Give each a folder beside the other."
    )
