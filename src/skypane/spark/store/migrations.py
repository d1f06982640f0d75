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
_MANY = 1_000_000


def _from_2(kind: FileKind, body: Body) -> Body:
    """Queries have an id, and know the places of their sinks; 0.1 did not mark the folders of its sinks.

    A step that the clock decided closed everything.
    """
    if kind == "query":
        _refuse_other_partials(body["query"])
        return {**body, "id": uuid.uuid4().hex, "places": {}, "born": 2}
    if kind == "intent":
        return {**body, "ending": "all"}
    return {**body, "manifest": _manifest_from_2(body["manifest"])} if kind == "manifest" else body


def _refuse_other_partials(query: Body) -> None:
    """What 0.1 kept of some queries cannot be brought to what is kept now: scores as doubles, other record ids."""
    asked = query["query"]
    what = {"top_k": "a top-k's scores", "top_delta": "a top-delta's ties"}.get(asked["type"])
    has_decimals = any(kind.startswith("decimal") for kind in query["columns"].values())
    adds_up = any(text.startswith(("sum", "mean", "avg")) for text in asked.get("outputs", {}).values())
    if has_decimals and adds_up:
        what = "sums of decimals"
    if what is not None:
        raise CheckpointError(
            f"The checkpoint was written by skypane 0.1, which kept {what} in a form that is not exact. End the query "
            "with 0.1, or start over with a new checkpoint folder."
        )


def _manifest_from_2(old: Body) -> Body:
    """The state was not apart from the step that made it, and had its own notation for everything."""
    ledger, routing = old["ledger"], old.get("routing")
    state = {
        "progress": _progress_from_2(old["progress"]),
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


def _progress_from_2(progress: Body) -> Body:
    """Partitions did not count their records: those that are known have been there for long."""
    partitions = {name: [*known, _MANY] for name, known in progress["partitions"].items()}
    return {**progress, "partitions": partitions}


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
        except (AttributeError, KeyError, TypeError, ValueError) as error:
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
            f"The file {path} cannot be used. It is intact, but it is another file: it has no {min(missing)!r}. "
            "Restore it from a backup, or start over with a new checkpoint folder."
        )
    return {**present, "version": version}
