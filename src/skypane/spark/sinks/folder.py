"""SinkFolder: a folder of results that belongs to one output of one query, and a log of what must be in it."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from skypane.model.errors import OptionError
from skypane.spark.sinks.base import Continuation
from skypane.spark.store.disk import disk, read_bytes, write_bytes
from skypane.spark.store.files import unique_name
from skypane.spark.store.folders import OwnFolder, usable

_LOCK = "_lock"
_LOG = "_files.log"
_SHOWN = 5
_ROWS = {"sink": "results", "late": "late records", "quarantine": "quarantined records", "failed": "failed windows"}


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

    def open(self, continuation: Continuation) -> list[Published]:
        """Make the folder this query's and return what is in it, by step; refuse one that is another's."""
        if continuation.shown and not self._own.marked:
            raise OptionError(
                f"{self._sink}: the folder {self.path} was removed or emptied since the query ran last; its "
                f"{_ROWS[continuation.output]} up to step {continuation.shown} are gone. Put it back, or give a new "
                "folder for the rows that are to come."
            )
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
                self._new_log(published)
                if owner != continuation.owner:
                    self._own.mark({"owner": continuation.owner})
        except BaseException:
            self.close()
            raise
        return published

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
        if not disk().exists(self._log):
            return logged
        for line in read_bytes(self._log).decode(errors="replace").split("\n"):
            text, _, checksum = line.rpartition(" ")
            if checksum != _checksum(text):
                # Cut off by a crash, or damaged: the file that it was about is looked into again.
                continue
            sign, _, rest = text.partition(" ")
            name, _, note = rest.partition(" ")
            match = self._names.fullmatch(name)
            if match and sign == "+":
                logged[name] = Published(int(match[1]), name, note)
            elif match:
                logged.pop(name, None)
        return logged

    def _new_log(self, published: Sequence[Published]) -> None:
        temporary = self.path / unique_name(f".{_LOG}", "")
        write_bytes(temporary, "".join(_line("+", file) for file in published).encode())
        disk().rename(temporary, self._log)

    def _write(self, lines: Sequence[str]) -> None:
        if lines:
            disk().append(self._log, "".join(lines).encode())


def _line(sign: str, file: Published) -> str:
    text = f"{sign} {file.name} {file.note}".rstrip()
    return f"{text} {_checksum(text)}\n"


def _checksum(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"
