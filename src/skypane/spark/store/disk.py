"""Disk: the file system as everything that is stored sees it; the one place where a test can make it fail."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO, Any, Protocol

import pyarrow as pa


class Lock(Protocol):
    """Held until it is closed."""

    def close(self) -> None:
        """Release the lock."""
        ...


class Disk:
    """The machine's own file system.

    What is written survives the end of the process at once, but a power cut only once it is synced: the bytes of a file
    by its own :meth:`sync`; that there is such a file, or no longer, or under another name, by that of its folder.
    """

    def exists(self, path: Path) -> bool:
        """Whether anything has that name; fails where it cannot be known, unlike ``Path.exists``."""
        with suppress(FileNotFoundError, NotADirectoryError):
            path.stat()
            return True
        return False

    def is_folder(self, path: Path) -> bool:
        """Whether it is a folder."""
        return self.exists(path) and path.is_dir()

    def names(self, folder: Path) -> list[str]:
        """What is in a folder, in order."""
        return sorted(entry.name for entry in folder.iterdir())

    def reader(self, path: Path) -> Any:
        """An Arrow file to read."""
        return pa.OSFile(str(path), "rb")

    def mapped(self, path: Path) -> Any:
        """An Arrow file to read, whose pages stay in the file cache."""
        return pa.memory_map(str(path))

    def writer(self, path: Path) -> Any:
        """An Arrow file to write, new or in place of the one that is there."""
        return pa.OSFile(str(path), "wb")

    def append(self, path: Path, data: bytes) -> None:
        """Add to the end of a file."""
        with path.open("ab") as file:
            file.write(data)

    def sync(self, path: Path) -> None:
        """Wait until the bytes of a file, or the names in a folder, would survive a power cut."""
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def rename(self, old: Path, new: Path) -> None:
        """Give a file another name, in one atomic step, in place of the file that has it."""
        old.replace(new)

    def remove(self, path: Path) -> None:
        """Remove a file, if it is there."""
        path.unlink(missing_ok=True)

    def make_folder(self, path: Path) -> None:
        """Create a folder, if it is not there."""
        path.mkdir(exist_ok=True)

    def remove_folder(self, path: Path) -> None:
        """Remove a folder with all that is in it, as far as that is possible."""
        shutil.rmtree(path, ignore_errors=True)

    def lock(self, path: Path) -> Lock:
        """Take a lock, or raise :class:`BlockingIOError` if another process has it."""
        file: IO[bytes] = path.open("wb")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BaseException:
            file.close()
            raise
        return file


_disk = Disk()


def disk() -> Disk:
    """The disk in use."""
    return _disk


@contextmanager
def using(other: Disk) -> Iterator[None]:
    """Have this process use another one for a while: for tests."""
    global _disk  # noqa: PLW0603 - one for the whole process, as there is one file system
    before, _disk = _disk, other
    try:
        yield
    finally:
        _disk = before


def matching(folder: Path, pattern: str) -> list[Path]:
    """The files of a folder whose names match, in order; none if there is no such folder."""
    if not disk().exists(folder):
        return []
    return [folder / name for name in disk().names(folder) if fnmatchcase(name, pattern)]


def ensure_folder(path: Path) -> None:
    """Create a folder, and those above it, such that a power cut does not take it away."""
    if not disk().is_folder(path):
        if not disk().is_folder(path.parent):
            ensure_folder(path.parent)
        disk().make_folder(path)
    # Also if it is there: its creator may have been killed before this.
    disk().sync(path.parent)


def read_bytes(path: Path) -> bytes:
    """All bytes of a file."""
    with disk().reader(path) as file:
        data: bytes = file.read()
    return data


def write_bytes(path: Path, data: bytes) -> None:
    """Write a whole file and wait until its bytes would survive a power cut."""
    with disk().writer(path) as file:
        file.write(data)
    disk().sync(path)
