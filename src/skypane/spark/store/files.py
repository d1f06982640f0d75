"""Files: Arrow IPC with checksums and atomic writes - everything a step stores goes through here."""

from __future__ import annotations

import json
import uuid
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from skypane.model.errors import CheckpointError
from skypane.spark.store.disk import disk, read_bytes, write_bytes


@dataclass(frozen=True)
class FileRef:
    """A complete file: its name, its number of rows, and the checksum that detects damage."""

    name: str
    rows: int
    bytes: int
    crc32: int

    def __post_init__(self) -> None:
        """A name that leads elsewhere did not come from us."""
        if not isinstance(self.name, str) or self.name in {"", ".", ".."} or {"/", "\0"} & {*self.name}:
            raise CheckpointError(f"It names the file {self.name!r}, which is not one of its folder.")


def unique_name(stem: str, suffix: str) -> str:
    """A file name that no other attempt of the same task uses."""
    return f"{stem}-{uuid.uuid4().hex[:16]}{suffix}"


def write_table(folder: Path, stem: str, table: pa.Table) -> FileRef:
    """Write a table under an attempt-unique name; the folder is to be synced before the name is stored anywhere."""
    stream = pa.BufferOutputStream()
    with pa.ipc.new_file(stream, table.schema) as writer:
        writer.write_table(table)
    body = stream.getvalue()
    name = unique_name(stem, ".arrow")
    write_bytes(folder / name, body)
    return FileRef(name, table.num_rows, body.size, zlib.crc32(body))


def read_table(folder: Path, ref: FileRef) -> pa.Table:
    """Read a table back; refuse a file that is missing or damaged."""
    path = folder / ref.name
    remedy = "Restore the file from a backup, or start over with a new checkpoint folder."
    try:
        with disk().reader(path) as file:
            body = file.read_buffer()
    except OSError as error:
        raise CheckpointError(f"The state file {path} cannot be read ({error}). {remedy}") from error
    if body.size != ref.bytes or zlib.crc32(body) != ref.crc32:
        raise CheckpointError(f"The state file {path} is damaged: its checksum does not match. {remedy}")
    return pa.ipc.open_file(pa.BufferReader(body)).read_all()


def checksum(path: Path) -> tuple[int, int]:
    """How many bytes a file has, and their checksum."""
    with disk().mapped(path) as file:
        body = file.read_buffer()
    return body.size, zlib.crc32(body)


def map_table(path: str) -> pa.Table:
    """Read a table written by this step; the pages stay in the file cache."""
    return pa.ipc.open_file(disk().mapped(Path(path))).read_all()


def write_json(path: Path, body: Mapping[str, Any], *, between: Sequence[Any] = ()) -> None:
    """Replace a JSON file in one atomic step; ``between`` are called when the new one is written but not in place."""
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    sealed = f'{{"body": {text},\n"crc32": {zlib.crc32(text.encode())}}}\n'
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}")
    write_bytes(temporary, sealed.encode())
    for call in between:
        call()
    disk().rename(temporary, path)
    disk().sync(path.parent)


def read_json(path: Path, remedy: str) -> dict[str, Any]:
    """Read a JSON file back; refuse a damaged one."""
    try:
        sealed = json.loads(read_bytes(path))
        body: dict[str, Any] = sealed["body"]
        text = json.dumps(body, sort_keys=True, separators=(",", ":"))
        intact = zlib.crc32(text.encode()) == sealed["crc32"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"The file {path} cannot be read ({error}). {remedy}") from error
    if not intact:
        raise CheckpointError(f"The file {path} is damaged: its checksum does not match. {remedy}")
    return body
