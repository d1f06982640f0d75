"""SinkFolder: a folder of results that belongs to one output of one query, and a log of what must be in it."""

from __future__ import annotations

import logging
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from skypane.model.errors import OptionError, StorageError
from skypane.spark.sinks.base import Continuation
from skypane.spark.store.disk import disk, read_bytes, write_bytes
from skypane.spark.store.files import unique_name
from skypane.spark.store.folders import MARKER, OwnFolder, usable

_LOCK = "_lock"
_LOG = "_files.log"
_OWNER = "="
"""The sign of the line of the log that says whose folder it is, should its marker get lost."""
_SHOWN = 5
_ROWS = {
    "sink": "results",
    "late": "late records",
    "quarantine": "quarantined records",
    "failed": "failed windows",
    "duplicates": "duplicates",
}
_log = logging.getLogger("skypane")


class Published(NamedTuple):
    """A file, or a folder, that holds rows of one step."""

    step: int
    name: str
    note: str = ""
    """What the sink must know about the file without reading it; one line."""


class SinkFolder:
    """Marked, locked, and listed only when it is opened: what is in it is kept in a log, one line for each change.

    The log is written after a file is in place, and before one is taken away, so that a file that it names and that is
    not there was removed by another program.
    """

    def __init__(self, path: Path, sink: str, names: re.Pattern[str]) -> None:
        self.path = path
        self._sink = sink
        self._names = names
        self._own = OwnFolder(path, "sink", sink, _LOCK)
        self._log = path / _LOG
        self._owner: Mapping[str, str | None] = {}

    def open(self, continuation: Continuation) -> list[Published]:
        """Make the folder this query's and return what is in it, by step; refuse one that is another's."""
        if not self._own.marked:
            with usable(self.path, self._sink):
                self._look_without_marker(continuation)
        marker = self._own.acquire()
        try:
            with usable(self.path, self._sink):
                found, owner = self._list(), marker.get("owner")
                self._check_owner(owner, continuation, found)
                logged = self._read_log() if owner is not None and continuation.owns(owner) else {}
                self._check_complete(continuation.step, found, logged)
                self._check_steps(continuation, found)
                published = sorted(logged.get(name, Published(number, name)) for name, number in found.items())
                # The log first: a new owner must not miss what an earlier one had.
                self._new_log(published, continuation)
                if owner != continuation.owner:
                    self._own.mark({"owner": continuation.owner})
        except BaseException:
            self.close()
            raise
        self._owner = continuation.owner
        return published

    def check_there(self) -> None:
        """Fail if another program has removed the folder while the query runs, or has put another in its place."""
        marker = self._own.read()
        if marker is None or marker.get("owner") != self._owner:
            what = "was removed" if marker is None else "was replaced by that of another query"
            raise StorageError(
                f"{self._sink}: the folder {self.path} {what} while the query was running; {MARKER}, which says that "
                "it is this query's, is gone. Put the folder back and start again, and the step is finished; or start "
                "with a new folder for the rows that are to come."
            )

    def added(self, files: Iterable[Published]) -> None:
        """To be called when files are in place, and will be after a crash."""
        self._write([_line("+", file) for file in files])

    def removes(self, files: Sequence[Published]) -> None:
        """To be called before files are taken away."""
        if files:
            self._write([_line("-", file) for file in files])
            disk().sync(self._log)

    def close(self) -> None:
        """Release the folder's lock."""
        self._own.release()

    def _look_without_marker(self, continuation: Continuation) -> None:
        """A folder without marker: written anew if the log proves that it is this query's; refused if it was in use."""
        owner = self._owner_by_log()
        if owner is not None and continuation.owns(owner):
            self._own.mark({"owner": continuation.owner})
            _log.warning(
                "%s: the file %s was missing, and was written again: %s says that the folder is this query's.",
                *(self._sink, self.path / MARKER, _LOG),
            )
        elif continuation.shown and not disk().exists(self._log):
            if disk().exists(self.path) and (found := self._list()):
                raise self._own.without_marker(f"{min(found)} is there")
            raise OptionError(
                f"{self._sink}: the folder {self.path} was removed or emptied since the query ran last; its "
                f"{_ROWS[continuation.output]} up to step {continuation.shown} are gone. Put it back, or give a new "
                "folder for the rows that are to come."
            )

    def _list(self) -> dict[str, int]:
        """The names that are ours, and their steps; whatever else is there is none of our business."""
        matches = (self._names.fullmatch(name) for name in disk().names(self.path))
        return {match[0]: int(match[1]) for match in matches if match}

    def _check_owner(
        self, owner: Mapping[str, str | None] | None, continuation: Continuation, found: Mapping[str, int]
    ) -> None:
        if not found or (owner is not None and continuation.owns(owner)):
            return
        whose = "an unknown query" if owner is None else _ROWS[str(owner["output"])] + " of another query"
        if owner is not None and owner["query_id"] == continuation.query_id:
            whose = f"the {_ROWS[str(owner['output'])]} of this query"
        elif owner is not None and owner["checkpoint"]:
            whose += f", which has the checkpoint {owner['checkpoint']}"
        raise OptionError(
            f"{self._sink} has {whose}. Nothing in it was touched. Give a new folder; to go on with that query, give "
            "its checkpoint; to start over, remove the folder first."
        )

    def _check_steps(self, continuation: Continuation, found: Mapping[str, int]) -> None:
        newest, step = max(found.values(), default=0), continuation.step
        if newest > step + bool(continuation.pending):
            raise OptionError(
                f"{self._sink} has files up to step {newest}, but the checkpoint is at step {step}: one of them is "
                "from an older backup. Restore both from one backup, or start over with new folders for both."
            )
        if newest < continuation.shown:
            raise OptionError(
                f"{self._sink} has files up to step {newest}, but the query wrote files of step {continuation.shown}: "
                "it is from an older backup. Restore the newest one, or give a new folder for the rows to come."
            )

    def _check_complete(self, step: int, found: Mapping[str, int], logged: Mapping[str, Published]) -> None:
        missing = sorted(file for name, file in logged.items() if name not in found and file.step <= step)
        if missing:
            names = ", ".join(file.name for file in missing[:_SHOWN])
            more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
            first, last = missing[0].step, missing[-1].step
            span = f"step {first}" if first == last else f"steps {first} to {last}"
            raise OptionError(
                f"{self._sink}: rows of {span} were removed since the query ran last: {names}{more}. Put them back, or "
                f"give a new folder; to go on without them, remove {self._log}."
            )

    def _read_log(self) -> dict[str, Published]:
        logged: dict[str, Published] = {}
        for sign, rest in self._lines():
            name, _, note = rest.partition(" ")
            match = self._names.fullmatch(name)
            if match and sign == "+":
                logged[name] = Published(int(match[1]), name, note)
            elif match:
                logged.pop(name, None)
        return logged

    def _owner_by_log(self) -> dict[str, str | None] | None:
        """Whose folder it is by the log, if that says so."""
        for sign, rest in self._lines():
            if sign == _OWNER:
                query_id, _, output = rest.partition(" ")
                return {"query_id": query_id, "output": output}
        return None

    def _lines(self) -> Iterator[tuple[str, str]]:
        """The lines of the log that are whole: a sign and what it is about."""
        if not disk().exists(self._log):
            return
        for line in read_bytes(self._log).decode(errors="replace").split("\n"):
            text, _, checksum = line.rpartition(" ")
            # Cut off by a crash, or damaged: the file that it was about is looked into again.
            if checksum == _checksum(text):
                sign, _, rest = text.partition(" ")
                yield sign, rest

    def _new_log(self, published: Sequence[Published], owner: Continuation) -> None:
        temporary = self.path / unique_name(f".{_LOG}", "")
        lines = [_checked(f"{_OWNER} {owner.query_id} {owner.output}"), *(_line("+", file) for file in published)]
        write_bytes(temporary, "".join(lines).encode())
        disk().rename(temporary, self._log)

    def _write(self, lines: Sequence[str]) -> None:
        if lines:
            disk().append(self._log, "".join(lines).encode())


def _line(sign: str, file: Published) -> str:
    return _checked(f"{sign} {file.name} {file.note}".rstrip())


def _checked(text: str) -> str:
    return f"{text} {_checksum(text)}\n"


def _checksum(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"
