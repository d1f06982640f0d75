"""Migrations: stored JSON of older format versions, brought to the present one a version at a time.

Version 2 was written by skypane 0.1. A migration changes the body of a file, a dictionary, and nothing else: files are
stored in the present version when they are next written.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Literal

from skypane.model.errors import CheckpointError

FORMAT_VERSION: Final = 3
FileKind = Literal["query", "manifest", "intent", "folder"]
Body = dict[str, Any]


def _from_2(kind: FileKind, body: Body) -> Body:
    """Queries have an id, and know the places of their sinks; 0.1 did not mark the folders of its sinks."""
    if kind == "query":
        return {**body, "id": uuid.uuid4().hex, "places": {}, "born": 2}
    return body


_MIGRATIONS: Final[Mapping[int, Callable[[FileKind, Body], Body]]] = {2: _from_2}
"""What brings a body of this version to the next one."""


def current(kind: FileKind, body: Mapping[str, Any], path: Path) -> Body:
    """The body of a file as this skypane writes it; a version that nobody can read is refused."""
    present = dict(body)
    version: Any = body.get("version")
    while version in _MIGRATIONS:
        present = _MIGRATIONS[version](kind, present)
        version += 1
    if version != FORMAT_VERSION:
        raise CheckpointError(
            f"The file {path} has format version {version}; this skypane reads versions {min(_MIGRATIONS)} to "
            f"{FORMAT_VERSION}. Use the skypane that wrote it, or start over with a new checkpoint folder."
        )
    return {**present, "version": version}
