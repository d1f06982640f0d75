"""Checkpoint: the folder from which a query restarts - fingerprint, manifests, state files, one user at a time.

checkpoint/
  _skypane.json         says that the folder is ours; written before anything else
  query.json            what the query is, its id and where its sinks write; another query is refused
  manifests/0000000007.json   the last two committed steps
  intent.json           a step that was decided by the clock (idle, flush), so that it is repeated after a crash
  state/                Arrow IPC, named by the manifests
  scratch/              files of the running step; garbage after a crash
  spark/                Spark's own offsets and commits
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from skypane.lateness.suspects import Ending
from skypane.model.errors import CheckpointError
from skypane.spark.store.disk import disk, ensure_folder, matching, read_bytes
from skypane.spark.store.failpoints import reach
from skypane.spark.store.files import read_json, unique_name, write_json
from skypane.spark.store.folders import OwnFolder, usable
from skypane.spark.store.manifest import Manifest, SparkState, StepKind
from skypane.spark.store.migrations import FORMAT_VERSION, FileKind, current

_KEEP = 2
_NUMBERED = "[0-9]" * 10 + ".json"
_REMEDY = "Restore it from a backup, or start over with a new checkpoint folder."
FOLDERS = ("manifests", "scratch", "spark", "state")
"""What is in a checkpoint folder and nobody else's."""


class Intent(NamedTuple):
    """A step that the clock decided, what it is to close, and when."""

    kind: StepKind
    ending: Ending
    now_us: int


class Checkpoint:
    """Opens, locks, reads and commits a checkpoint folder; nothing is there before it is opened."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.spark = folder / "spark"
        self._manifests = folder / "manifests"
        self._scratch = folder / "scratch"
        self._intent = folder / "intent.json"
        self._query = folder / "query.json"
        self._own = OwnFolder(folder, "checkpoint", "checkpoint", "lock")
        self._identity: dict[str, Any] = {}
        self._closing: list[Callable[[], object]] = []

    @property
    def query_id(self) -> str:
        """Tells the query from all others, also from the same one with another checkpoint."""
        return str(self._identity["id"])

    @property
    def places(self) -> Mapping[str, str]:
        """Where the sinks wrote to in the last run."""
        return dict(self._identity["places"])

    @property
    def born(self) -> int:
        """The format version in which the checkpoint began."""
        return int(self._identity["born"])

    def open(self, fingerprint: Mapping[str, Any], start: SparkState, accept_changed_code: bool = False) -> Manifest:
        """Lock the folder, check that the query is the same, and return where to continue."""
        self._own.acquire(self._is_of_0_1)
        with usable(self.folder, "checkpoint"):
            for path in (self.state, self._manifests, self._scratch):
                ensure_folder(path)
            self._identity = self._identify(dict(fingerprint), accept_changed_code)
            # A manifest that is there may not be for good yet: whoever wrote it may have died, or failed, before that.
            disk().sync(self._manifests)
        manifest = self._latest() or Manifest(step=0, batch_id=-1, kind="start", state=start)
        self._check_spark(manifest)
        self._collect_garbage(manifest)
        return manifest

    def compare(self, fingerprint: Mapping[str, Any], accept_changed_code: bool = False) -> None:
        """Refuse a query that :meth:`open` would refuse as another one; nothing is locked or touched."""
        with usable(self.folder, "checkpoint"):
            if not disk().exists(self._query) or not self._has_begun():
                return
            _, stored = self._stored(fingerprint)
            _refuse_changes(stored["query"], dict(fingerprint), self.folder, accept_changed_code)

    def claim(self, places: Mapping[str, str]) -> None:
        """From now on the folder is this query's: called before the first step can show any effect."""
        wanted = {**self._identity, "places": dict(places)}
        if not disk().exists(self._query) or read_json(self._query, _REMEDY) != wanted:
            self._identity = wanted
            write_json(self._query, wanted)

    def when_closed(self, call: Callable[[], object]) -> None:
        """Have something closed with the checkpoint."""
        self._closing.append(call)

    def close(self) -> None:
        """Let others use the folder, and what was opened with it."""
        while self._closing:
            _close(self._closing.pop())
        self._own.release()

    def scratch(self, step: int) -> Path:
        """A fresh folder for the files of one attempt of a step."""
        path = self._scratch / unique_name(f"{step:010d}", "")
        disk().make_folder(path)
        return path

    def discard(self, scratch: Path) -> None:
        """An attempt is over."""
        disk().remove_folder(scratch)

    def log_intent(self, step: int, intent: Intent) -> None:
        """Remember a step that no source batch will repeat, before any of its effects can be seen."""
        write_json(self._intent, {"version": FORMAT_VERSION, "step": step, **intent._asdict()})

    def pending_intent(self, manifest: Manifest) -> Intent | None:
        """The step that was decided but not committed before a crash, if any."""
        if not disk().exists(self._intent):
            return None
        intent = _read("intent", self._intent)
        if intent["step"] != manifest.step + 1:
            return None
        return Intent(intent["kind"], intent["ending"], intent["now_us"])

    def pending_batch(self) -> bool:
        """Whether Spark will repeat a batch that it planned but did not commit."""
        return _newest_id(self.spark / "offsets") > _newest_id(self.spark / "commits")

    def batch_time_us(self, batch_id: int) -> int:
        """When Spark planned the batch, from its offset log: the same however often the batch is repeated."""
        path = self.spark / "offsets" / str(batch_id)
        for line in read_bytes(path).decode().splitlines():
            if "batchTimestampMs" in line:
                return int(json.loads(line)["batchTimestampMs"]) * 1_000
        raise CheckpointError(f"The file {path} does not say when Spark planned the batch. {_REMEDY}")

    def commit(self, manifest: Manifest) -> None:
        """Make the step the one to continue from, atomically."""
        path = self._manifests / f"{manifest.step:010d}.json"
        body = {"version": FORMAT_VERSION, "manifest": manifest.to_json()}
        # The files have their bytes; that they are there must be as certain before a manifest says so.
        disk().sync(self.state)
        write_json(path, body, between=[lambda: reach("manifest.written")])
        reach("manifest.committed")

    def clean(self, manifest: Manifest, scratch: Path) -> None:
        """Forget what the last two steps do not need."""
        self.discard(scratch)
        for path in matching(self._manifests, _NUMBERED)[:-_KEEP]:
            disk().remove(path)
        self._collect_state(manifest)

    def _latest(self) -> Manifest | None:
        paths = matching(self._manifests, _NUMBERED)
        return self._read(paths[-1]) if paths else None

    def _read(self, path: Path) -> Manifest:
        body = _read("manifest", path)
        try:
            manifest = Manifest.from_json(body["manifest"])
            if manifest.step != int(path.stem):
                raise CheckpointError(f"It is that of step {manifest.step}.")
            return manifest
        except (CheckpointError, ValueError, KeyError, TypeError, IndexError) as error:
            raise CheckpointError(f"The file {path} cannot be used. {error} {_REMEDY}") from error

    def _is_of_0_1(self) -> bool:
        """Version 0.1 did not mark its folders, but had a file that nobody else has."""
        try:
            return "query" in read_json(self._query, _REMEDY)
        except CheckpointError:
            return False

    def _identify(self, fingerprint: dict[str, Any], accept_changed_code: bool) -> dict[str, Any]:
        """Who the query is: who it was, if the folder has one, or somebody new."""
        new = {"version": FORMAT_VERSION, "id": uuid.uuid4().hex, "query": fingerprint, "places": {}}
        new["born"] = FORMAT_VERSION
        if not disk().exists(self._query):
            if self._has_begun():
                raise CheckpointError(
                    f"The file {self._query} is missing, but {self._manifests} or {self.spark} is not empty. {_REMEDY}"
                )
            return new
        found, stored = self._stored(fingerprint)
        if not self._has_begun() and _differences("", stored["query"], fingerprint):
            # A start that failed: nothing of that query is here but its name, and maybe files that Spark found for it.
            disk().remove_folder(self.spark)
            return new
        _refuse_changes(stored["query"], fingerprint, self.folder, accept_changed_code)
        if stored != found:
            # At once: sinks that learn the new id must learn the same one after a crash.
            write_json(self._query, stored)
        return {**stored, "query": fingerprint}

    def _stored(self, wanted: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Who the query was: as the file has it, and as this version would write it."""
        found = read_json(self._query, _REMEDY)
        stored = current("query", found, self._query)
        return found, {**stored, "query": _with_order(stored["query"], wanted)}

    def _has_begun(self) -> bool:
        return bool(matching(self._manifests, _NUMBERED)) or _newest_id(self.spark / "offsets") >= 0

    def _check_spark(self, manifest: Manifest) -> None:
        """Spark plans a batch before we commit it, and marks it as done after that: anything else loses records."""
        planned, done = _newest_id(self.spark / "offsets"), _newest_id(self.spark / "commits")
        if not done <= manifest.batch_id <= planned:
            raise CheckpointError(
                f"The manifests in {self._manifests} know batches up to {manifest.batch_id}, Spark's own files in "
                f"{self.spark} up to {done} (done) and {planned} (planned): they do not belong together. Restore both "
                "from one backup, or start over with a new checkpoint folder."
            )

    def _collect_garbage(self, manifest: Manifest) -> None:
        """Remove what crashed attempts left behind."""
        for path in matching(self._scratch, "[0-9]*-*"):
            disk().remove_folder(path)
        for path in matching(self._manifests, f".{_NUMBERED}.*"):
            disk().remove(path)
        self._collect_state(manifest)

    def _collect_state(self, manifest: Manifest) -> None:
        needed = set(manifest.files)
        if manifest.step > 1:
            previous = self._manifests / f"{manifest.step - 1:010d}.json"
            if disk().exists(previous):
                needed |= self._read(previous).files
        for path in matching(self.state, "*.arrow"):
            if path.name not in needed:
                disk().remove(path)


def _read(kind: FileKind, path: Path) -> dict[str, Any]:
    return current(kind, read_json(path, _REMEDY), path)


def _close(call: Callable[[], object]) -> None:
    try:
        call()
    except Exception:
        # Whoever waits for the end of the query must not wait for ever.
        logging.getLogger("skypane").exception("A sink could not be closed.")


def _newest_id(folder: Path) -> int:
    return max((int(path.name) for path in matching(folder, "[0-9]*") if path.name.isdigit()), default=-1)


_CODE = "query.code."
"""Where a fingerprint has functions of the user's."""
_SHOWN = {
    "slide": "sliding, which a pattern may decide",
    "allowed_lateness_us": "allowed lateness in microseconds",
    "query.order": "order of aggregates",
}
"""Options by the name they have for users, where the fingerprint has an older one."""


def _with_order(stored: dict[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """With the order of aggregates, if they are asked for; where it was not stored yet, it is believed to be as now."""
    asked, known = wanted.get("query"), stored.get("query")
    if not isinstance(asked, Mapping) or not isinstance(known, Mapping) or "order" not in asked:
        return stored
    return {**stored, "query": {"order": asked["order"], **known}}


def _refuse_changes(
    stored: Mapping[str, Any], wanted: Mapping[str, Any], folder: Path, accept_changed_code: bool
) -> None:
    differences = list(_differences("", stored, wanted))
    code = [name for name, _, _ in differences if name.startswith(_CODE)]
    if len(code) == len(differences) and accept_changed_code:
        return
    if code and len(code) == len(differences):
        lines = "\n".join(f"  {name.removeprefix(_CODE)}: was {old}, now {new}" for name, old, new in differences)
        raise CheckpointError(
            f"The checkpoint {folder} was written with other code:\n{lines}\nAnswers so far are those of the old "
            "code. Continue with the new one by accept_changed_code=True (--accept-changed-code), or change it back."
        )
    if differences:
        lines = "\n".join(f"  {_SHOWN.get(name, name)}: was {old!r}, now {new!r}" for name, old, new in differences)
        raise CheckpointError(
            f"The checkpoint {folder} belongs to a different query:\n{lines}\n"
            "Change the query back, or give the changed query a new checkpoint folder."
        )


def _differences(prefix: str, old: Any, new: Any) -> list[tuple[str, Any, Any]]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        found = []
        for name in sorted({*old, *new}):
            found += _differences(f"{prefix}.{name}" if prefix else str(name), old.get(name), new.get(name))
        return found
    return [] if old == new else [(prefix, old, new)]
