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
    return {**body, "manifest": _manifest_from_2(body["manifest"])} if kind == "manifest" else body


def _manifest_from_2(old: Body) -> Body:
    """The state was not apart from the step that made it, and had its own notation for everything."""
    ledger, routing = old["ledger"], old.get("routing")
    state = {
        "progress": old["progress"],
        "kept": {
            "panes": [_part_from_2(part) for part in old["state"] if part["kind"] == "panes"],
            "buffer": [_part_from_2(part) for part in old["state"] if part["kind"] == "buffer"],
            "sealed": [_past_from_2(part) for part in old["past"] if part["kind"] == "panes"],
            "revisions": [_past_from_2(part) for part in old["past"] if part["kind"] == "revisions"],
        },
        "ledger": {**ledger, "quarantined_by_reason": ledger["quarantined"]},
        "windows": old["windows"],
        "judged": dict(zip(("late", "harmful"), old["judged"], strict=True)),
        "judged_so_far": dict(zip(("late", "harmful"), old["judged_so_far"], strict=True)),
        "clock": {"runs": [[pane, 1, first_us, last_us] for pane, first_us, last_us in old["clock"]]},
        "routing": routing and {**routing, "expected": dict(routing["expected"])},
    }
    return {"step": old["step"], "batch_id": old["batch_id"], "kind": old["kind"], "state": state}


def _part_from_2(part: Body) -> Body:
    return {**part, "rows_by_group": dict(part["rows_by_group"])}


def _past_from_2(part: Body) -> Body:
    return {name: part[name] for name in ("groups", "file", "numbers", "level")}


_HAS: Final[Mapping[FileKind, frozenset[str]]] = {
    "query": frozenset({"id", "query", "places", "born"}),
    "manifest": frozenset({"manifest"}),
    "intent": frozenset({"step", "kind", "now_us"}),
    "folder": frozenset({"kind"}),
}
"""By what a file is known to be what its name says."""
_MIGRATIONS: Final[Mapping[int, Callable[[FileKind, Body], Body]]] = {2: _from_2}
"""What brings a body of this version to the next one."""


def current(kind: FileKind, body: Mapping[str, Any], path: Path) -> Body:
    """The body of a file as this skypane writes it; a version that nobody can read is refused."""
    present = dict(body)
    version: Any = body.get("version")
    while version in _MIGRATIONS:
        try:
            present = _MIGRATIONS[version](kind, present)
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"The file {path} cannot be used. It does not have what version {version} has ({error!r}). Restore it "
                "from a backup, or start over with a new checkpoint folder."
            ) from error
        version += 1
    if version != FORMAT_VERSION:
        raise CheckpointError(
            f"The file {path} has format version {version}; this skypane reads versions {min(_MIGRATIONS)} to "
            f"{FORMAT_VERSION}. Use the skypane that wrote it, or start over with a new checkpoint folder."
        )
    if missing := _HAS[kind] - present.keys():
        raise CheckpointError(
            f"The file {path} cannot be used. It is intact, but it is another file: it has no {sorted(missing)[0]!r}. "
            "Restore it from a backup, or start over with a new checkpoint folder."
        )
    return {**present, "version": version}
