"""Folders: what a path means, and folders that are ours - marked before anything else, used by one query at a time."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import unquote, urlsplit

from skypane.model.errors import CheckpointError, OptionError
from skypane.spark.store.disk import Lock, disk, ensure_folder
from skypane.spark.store.files import read_json, write_json
from skypane.spark.store.formats import current, stamped

MARKER: Final = "_skypane.json"
"""Says that a folder is ours, and what it is; Spark reads no file whose name starts with an underscore."""
_REMEDY = "Restore it from a backup, or give a new folder."
_NOBODYS = {"lost+found"}
"""What a new disk has in its first folder."""
_SHOWN = 3

FolderKind = Literal["checkpoint", "sink"]
_SIGNS: Final[Mapping[FolderKind, str]] = {"checkpoint": "query.json", "sink": "_files.log"}
"""A file by which a folder of ours is known even if its marker is missing."""


_LONGEST_NAME = 255
"""Bytes; what all usual file systems allow."""


def local_path(path: str | os.PathLike[str], option: str) -> Path:
    """The folder behind a path or a ``file:`` address; other file systems are refused."""
    try:
        text = os.fspath(path)
    except TypeError as error:
        raise OptionError(f"{option}={path!r} is not a path. Give a text or a pathlib.Path.") from error
    if not text:
        raise OptionError(f"{option}='' names no folder. Give one that is new or empty.")
    if "\0" in text:
        raise OptionError(f"{option}={text!r} names no folder: no name has the character NUL. Give another.")
    address = urlsplit(text)
    if address.scheme not in {"", "file"}:
        raise OptionError(
            f"{option}={text!r}: only folders that every worker can reach by path are supported "
            f"(a local disk in embedded mode, a shared mount on a cluster), not {address.scheme}://."
        )
    if address.scheme == "file":
        if address.netloc not in {"", "localhost"}:
            raise OptionError(
                f"{option}={text!r} names a folder of the computer {address.netloc!r}. For one of this computer "
                f"write file:///{address.netloc}{address.path}."
            )
        # Not address.path: it ends at a question mark or a hash sign, which folders may have in their names.
        text = unquote(re.sub(r"^file:(//(localhost)?(?=/))?", "", text, flags=re.IGNORECASE))
    if "\0" in text or any(len(part.encode(errors="surrogatepass")) > _LONGEST_NAME for part in text.split("/")):
        raise OptionError(f"{option}={text!r} is no name that a folder can have. Give a shorter one, without NUL.")
    try:
        return Path(text).expanduser().absolute()
    except RuntimeError as error:  # of ~user
        raise OptionError(f"{option}={text!r}: there is no such user. Write out the path.") from error


@contextmanager
def usable(path: Path, option: str) -> Iterator[None]:
    """Says which folder and which option it was, when something cannot be created or written."""
    try:
        yield
    except OSError as error:
        place = f": {error.filename}" if error.filename else ""
        raise OptionError(
            f"{option}: the folder {path} cannot be used ({error.strerror or error}{place}). Give a folder that this "
            "process may create and write to."
        ) from error


class OwnFolder:
    """A folder that is ours. One that is not, and is not empty, is refused, and nothing in it is touched."""

    def __init__(self, path: Path, kind: FolderKind, option: str, lock: str) -> None:
        self.path = path
        self._kind = kind
        self._option = option
        self._lock_name = lock
        self._lock: Lock | None = None

    @property
    def marked(self) -> bool:
        """Whether it is known to be ours."""
        return disk().exists(self.path / MARKER)

    def acquire(self) -> dict[str, Any]:
        """Check, create, mark and lock the folder; return what its marker says."""
        with usable(self.path, self._option):
            self._check()
            ensure_folder(self.path)
            if not self.marked:
                self.mark({})
            lock = self._acquire_lock()
        try:
            body = self._read_marker()
        except BaseException:
            lock.close()
            raise
        self._lock = lock
        return body

    def without_marker(self, found: str) -> OptionError:
        """The error for a folder that has lost its marker, and shows by what it still has that it was ours."""
        return OptionError(
            f"{self._option}: the folder {self.path} was a {self._kind} of skypane ({found}), but its file {MARKER}, "
            f"which says whose it is, is missing. Nothing in it was touched. Put {MARKER} back from a backup, or from "
            "the folder that this one is a copy of; or give a new folder, and what is in this one stays as it is."
        )

    def read(self) -> dict[str, Any] | None:
        """What the marker says; ``None`` if there is none."""
        return self._read_marker() if self.marked else None

    def mark(self, body: Mapping[str, Any]) -> None:
        """Say more about the folder."""
        write_json(self.path / MARKER, stamped({**body, "kind": self._kind}))

    def release(self) -> None:
        """Let others use the folder."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _check(self) -> None:
        if disk().exists(self.path) and not disk().is_folder(self.path):
            raise OptionError(f"{self._option}: {self.path} is a file; give a folder.")
        if self.marked:
            self._read_marker()
            return
        strangers = self._strangers()
        if _SIGNS[self._kind] in strangers:
            raise self.without_marker(f"{_SIGNS[self._kind]} is there")
        if strangers:
            shown = ", ".join(strangers[:_SHOWN]) + (", ..." if len(strangers) > _SHOWN else "")
            raise OptionError(
                f"{self._option}: the folder {self.path} has files that are not skypane's ({shown}), and no "
                f"{MARKER} that says it is a {self._kind}. Nothing in it was touched. Give a new or an empty folder."
            )

    def _strangers(self) -> list[str]:
        if not disk().exists(self.path):
            return []
        names = {*disk().names(self.path)} - _NOBODYS
        # A crash may have left a marker that was written but not in place.
        return sorted(name for name in names if not name.startswith(f".{MARKER}."))

    def _read_marker(self) -> dict[str, Any]:
        path = self.path / MARKER
        body = current("folder", read_json(path, _REMEDY), path)
        if body["kind"] != self._kind:
            raise OptionError(f"{self._option}: {self.path} is the folder of a {body['kind']}. Give another folder.")
        return body

    def _acquire_lock(self) -> Lock:
        try:
            return disk().lock(self.path / self._lock_name)
        except BlockingIOError as error:
            kind = CheckpointError if self._kind == "checkpoint" else OptionError
            raise kind(
                f"The {self._kind} {self.path} is in use by another running query. "
                "Stop that one, or use another folder."
            ) from error
