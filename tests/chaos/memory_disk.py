"""A disk in memory that does what real ones do at the worst moment: tear files, forget names, fill up, fail to read.

Of a process that is killed the disk keeps everything. Of one that the power is taken from it keeps what was synced, and
of the rest any part: a file keeps a prefix of its bytes, a name that was added, taken away or moved may be as before.
"""

from __future__ import annotations

import errno
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pyarrow as pa

from skypane.spark.store.disk import Disk

FaultKind = Literal["kill", "power", "unreadable", "full"]
Entry = tuple[int, str, tuple[Any, ...]]
"""A change of the disk: the operation it began with, the method, its arguments."""
_READS = {"exists", "is_folder", "names", "reader", "mapped", "sync"}
_WRITES = {"write", "append", "create", "make_folder"}


class Ended(BaseException):
    """The process is no more; nobody can catch it and go on."""


class Fault(NamedTuple):
    """What goes wrong, at which operation of the process; failures of the disk at the next one they concern."""

    kind: FaultKind
    at: int
    times: int = 1
    """Of failures: for so many operations."""


class File:
    """Bytes; those that are synced survive."""

    def __init__(self, data: bytes = b"", synced: bytes = b"") -> None:
        self.data = data
        self.synced = synced


_FOLDER = File()
Names = dict[str, File]
Change = dict[str, "File | None"]
"""What has these names after it: a file, a folder, or nothing."""


@dataclass
class MemoryDisk(Disk):
    """One disk, used by one process after the other."""

    rng: random.Random
    root: str = "/nowhere"
    operations: int = 0
    """Of the process that is running."""
    fault: Fault | None = None
    log: list[str] = field(default_factory=list)
    """What went wrong, where."""
    journal: list[Entry] = field(default_factory=list)
    """What the process that is running did to the disk, so that another disk can go the same way."""
    names_now: Names = field(default_factory=dict)
    _names_synced: Names = field(default_factory=dict)
    _unsynced: list[Change] = field(default_factory=list)
    _ended: bool = False
    _failures_left: int = 0

    def __post_init__(self) -> None:
        for names in (self.names_now, self._names_synced):
            names[self.root] = _FOLDER

    # What the test does.

    def start_process(self, fault: Fault | None) -> None:
        """Another process begins; the one before left its files."""
        self.operations, self.fault, self._ended = 0, fault, False
        self.journal = []
        self._failures_left = fault.times if fault is not None else 0

    def replay(self, journal: Sequence[Entry], fault: Fault) -> None:
        """What a process did to a disk that was like this one, until the fault ends it."""
        self.start_process(fault)
        for _ in self.changes(journal):
            pass

    def changes(self, journal: Sequence[Entry]) -> Iterator[str]:
        """Do what a process did, one change after the other; the name of each."""
        for operation, method, arguments in journal:
            self.operations = operation - 1
            getattr(self, method)(*arguments)
            yield method

    def copy(self, rng: random.Random) -> MemoryDisk:
        """The same disk for another schedule."""
        files: dict[int, File] = {id(_FOLDER): _FOLDER}

        def copied(file: File | None) -> Any:
            return None if file is None else files.setdefault(id(file), File(file.data, file.synced))

        other = MemoryDisk(rng, self.root, self.operations)
        other.names_now = {name: copied(file) for name, file in self.names_now.items()}
        other._names_synced = {name: copied(file) for name, file in self._names_synced.items()}
        other._unsynced = [{name: copied(file) for name, file in change.items()} for change in self._unsynced]
        return other

    def put(self, path: Path, data: bytes) -> None:
        """Somebody else writes a file, durably: Spark, or whoever damages it."""
        self._operate("other", path)
        self._note("put", path, data)
        for folder in reversed(path.parents):
            if str(folder).startswith(self.root):
                self.names_now[str(folder)] = self._names_synced[str(folder)] = _FOLDER
        self.names_now[str(path)] = self._names_synced[str(path)] = File(data, data)
        self._end_if("other", path)

    def files(self) -> Mapping[str, bytes]:
        """Every file and its bytes."""
        return {name: file.data for name, file in self.names_now.items() if file is not _FOLDER}

    # What the process does.

    def exists(self, path: Path) -> bool:
        self._operate("exists", path)
        return str(path) in self.names_now

    def is_folder(self, path: Path) -> bool:
        self._operate("is_folder", path)
        return self.names_now.get(str(path)) is _FOLDER

    def names(self, folder: Path) -> list[str]:
        self._operate("names", folder)
        if self.names_now.get(str(folder)) is not _FOLDER:
            raise FileNotFoundError(errno.ENOENT, "No such folder", str(folder))
        start = f"{folder}/"
        rest = (name[len(start) :] for name in self.names_now if name.startswith(start))
        return sorted(name for name in rest if "/" not in name)

    def reader(self, path: Path) -> Any:
        self._operate("reader", path)
        return pa.BufferReader(self._file(path).data)

    def mapped(self, path: Path) -> Any:
        self._operate("mapped", path)
        return pa.BufferReader(self._file(path).data)

    def writer(self, path: Path) -> Any:
        self._create(path)
        return _Writer(lambda data: self._write(path, data))

    def _create(self, path: Path) -> None:
        self._operate("create", path)
        self._parent(path)
        self._note("_create", path)
        file = self.names_now.get(str(path))
        if file is None:
            file = File()
            self._change({str(path): file})
        file.data = b""
        self._end_if("create", path)

    def append(self, path: Path, data: bytes) -> None:
        if str(path) not in self.names_now:
            self.writer(path).close()
        self._append(path, data)

    def _append(self, path: Path, data: bytes) -> None:
        self._add("append", path, data)

    def sync(self, path: Path) -> None:
        self._operate("sync", path)
        if self.names_now.get(str(path)) is _FOLDER:
            self._sync_names(str(path))
        else:
            file = self._file(path)
            file.synced = file.data
        self._note("sync", path)
        self._end_if("sync", path)

    def rename(self, old: Path, new: Path) -> None:
        self._operate("rename", new)
        self._parent(new)
        self._change({str(old): None, str(new): self._file(old)})
        self._note("rename", old, new)
        self._end_if("rename", new)

    def remove(self, path: Path) -> None:
        self._operate("remove", path)
        self._note("remove", path)
        if str(path) in self.names_now:
            self._change({str(path): None})
        self._end_if("remove", path)

    def make_folder(self, path: Path) -> None:
        self._operate("make_folder", path)
        self._parent(path)
        self._note("make_folder", path)
        if str(path) not in self.names_now:
            self._change({str(path): _FOLDER})
        self._end_if("make_folder", path)

    def remove_folder(self, path: Path) -> None:
        # One name after the other, as it is really done.
        inside = [name for name in self.names_now if name == str(path) or name.startswith(f"{path}/")]
        for name in sorted(inside, reverse=True):
            self.remove(Path(name))

    def lock(self, path: Path) -> Any:
        if str(path) not in self.names_now:
            self.writer(path).close()
        return _Nothing()

    def _write(self, path: Path, data: bytes) -> None:
        self._add("write", path, data)

    def _add(self, name: str, path: Path, data: bytes) -> None:
        # Not whole, if the process ends or the disk is full in the middle of it.
        file = self._file(path)
        whole = file.data + data
        try:
            self._operate(name, path)
        except OSError:
            file.data = whole[: self.rng.randint(len(file.data), len(whole))]
            raise
        self._note(f"_{name}", path, data)
        if self._ends_here():
            file.data = whole[: self.rng.randint(len(file.data), len(whole))]
        else:
            file.data = whole
        self._end_if(name, path)

    def _file(self, path: Path) -> File:
        file = self.names_now.get(str(path))
        if file is None:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(path))
        return file

    def _parent(self, path: Path) -> None:
        if self.names_now.get(str(path.parent)) is not _FOLDER:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(path))

    def _change(self, change: Change) -> None:
        self._unsynced.append(change)
        _apply(self.names_now, change)

    def _sync_names(self, folder: str) -> None:
        """Everything that changed in the folder, and what that follows from."""
        wanted: set[str] = set()
        stays: list[Change] = []
        goes: list[Change] = []
        for change in reversed(self._unsynced):
            if wanted & change.keys() or any(name.rpartition("/")[0] == folder for name in change):
                wanted |= change.keys()
                goes.append(change)
            else:
                stays.append(change)
        for change in reversed(goes):
            _apply(self._names_synced, change)
        self._unsynced = stays[::-1]

    def _note(self, method: str, *arguments: Any) -> None:
        self.journal.append((self.operations, method, arguments))

    def _operate(self, name: str, path: Path) -> None:
        if self._ended:
            raise Ended
        self.operations += 1
        fault = self.fault
        if fault is None or self.operations < fault.at or not self._failures_left:
            return
        concerned = {"unreadable": _READS, "full": _WRITES}.get(fault.kind, set[str]())
        if name in concerned:
            self._failures_left -= 1
            self.log.append(f"{fault.kind} at operation {self.operations}: {name} {path}")
            code = errno.EIO if fault.kind == "unreadable" else errno.ENOSPC
            raise OSError(code, "injected by the test", str(path))

    def _ends_here(self) -> bool:
        fault = self.fault
        return fault is not None and fault.kind in {"kill", "power"} and self.operations >= fault.at

    def _end_if(self, name: str, path: Path) -> None:
        if not self._ends_here():
            return
        assert self.fault is not None
        self.log.append(f"{self.fault.kind} at operation {self.operations}: {name} {path}")
        self._ended = True
        if self.fault.kind == "power":
            self._lose_power()
        raise Ended

    def _lose_power(self) -> None:
        likely = self.rng.choice([0.0, 0.5, 0.9, 1.0])
        lost: set[str] = set()
        for change in self._unsynced:
            if lost & change.keys() or self.rng.random() >= likely:
                lost |= change.keys()
            else:
                _apply(self._names_synced, change)
        kept = {name: file for name, file in self._names_synced.items() if self._reachable(name)}
        for file in {id(file): file for file in kept.values() if file is not _FOLDER}.values():
            file.data = file.synced = self._torn(file)
        self._unsynced = []
        self._names_synced = kept
        self.names_now = dict(kept)

    def _reachable(self, name: str) -> bool:
        while name != self.root:
            name = name.rpartition("/")[0]
            if self._names_synced.get(name) is not _FOLDER:
                return False
        return True

    def _torn(self, file: File) -> bytes:
        if file.data == file.synced:
            return file.data
        least = len(file.synced) if file.data.startswith(file.synced) else 0
        cut = self.rng.randint(least, len(file.data))
        # A file system may know how long the file is before it has the bytes.
        zeros = len(file.data) - cut if self.rng.random() < 0.3 else 0
        return file.data[:cut] + bytes(zeros)


def _apply(names: Names, change: Change) -> None:
    for name, file in change.items():
        if file is None:
            names.pop(name, None)
        else:
            names[name] = file


class _Writer:
    """What Arrow writes to; on the disk when it is closed."""

    def __init__(self, store: Callable[[bytes], None]) -> None:
        self._store = store
        self._parts: list[bytes] = []
        self.closed = False

    def write(self, data: Any) -> int:
        self._parts.append(bytes(memoryview(data)))
        return len(self._parts[-1])

    def tell(self) -> int:
        return sum(map(len, self._parts))

    def flush(self) -> None:
        pass

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._store(b"".join(self._parts))

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()


class _Nothing:
    def close(self) -> None:
        pass
