"""Formats: which stored JSON this version reads, and how it brings older JSON to the format that it writes.

All files of a checkpoint or sink folder have one format number, which only ever counts up. A migration changes the body
of a file, a dictionary, and nothing else; the file has the present format when it is next written. A format without a
migration is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from skypane.model.errors import CheckpointError

FORMAT: Final = 4
FileKind = Literal["query", "manifest", "folder"]
Body = dict[str, Any]
Migration: TypeAlias = Callable[[FileKind, Body], Body]

MIGRATIONS: Final[dict[int, Migration]] = {}
"""By format: the function that brings a body to the next format. No released version wrote one that needs it."""
_FORMAT: Final = "format"
_FORMAT_UP_TO_3: Final = "version"
_HAS: Final[Mapping[FileKind, frozenset[str]]] = {
    "query": frozenset({"id", "questions"}),
    "manifest": frozenset({"step", "questions"}),
    "folder": frozenset({"kind"}),
}
"""By what a file is known to be what its name says."""


def stamped(body: Mapping[str, Any]) -> Body:
    """The body of a file with the format that this version writes."""
    return {_FORMAT: FORMAT, **body}


def current(kind: FileKind, stored: Mapping[str, Any], path: Path) -> Body:
    """The inverse of :func:`stamped`: migrate an older format; refuse one that this version cannot read."""
    body = dict(stored)
    found = body.pop(_FORMAT, None)
    version: Any = body.get(_FORMAT_UP_TO_3) if found is None else found
    while version in MIGRATIONS:
        try:
            body = MIGRATIONS[version](kind, body)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"The file {path} cannot be used. It does not have what format {version} has ({error!r}). Restore it "
                "from a backup, or start over with a new checkpoint folder."
            ) from error
        version += 1
    if version != FORMAT:
        raise CheckpointError(_refusal(kind, stored, path, version))
    if missing := _HAS[kind] - body.keys():
        raise CheckpointError(
            f"The file {path} cannot be used. It is intact, but it is another file: it has no {min(missing)!r}. "
            "Restore it from a backup, or start over with a new checkpoint folder."
        )
    return body


def _refusal(kind: FileKind, body: Mapping[str, Any], path: Path, version: object) -> str:
    owner = body.get("kind", "skypane") if kind == "folder" else "checkpoint"
    folder = path.parent.parent if kind == "manifest" else path.parent
    oldest = min(MIGRATIONS, default=FORMAT)
    reads = f"format {FORMAT}" if oldest == FORMAT else f"formats {oldest} to {FORMAT}"
    return (
        f"The {owner} folder {folder} has format {version} (file {path.name}), and this version of skypane reads "
        f"{reads}. Give a new {owner} folder, or use the skypane version that wrote this one."
    )
