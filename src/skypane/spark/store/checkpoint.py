"""Checkpoint: the folder from which a query restarts - fingerprint, manifests, state files, one user at a time.

checkpoint/
  query.json            what the query is; another query is refused
  manifests/0000000007.json   the last two committed steps
  intent.json           a step that was decided by the clock (idle, flush), so that it is repeated after a crash
  state/                Arrow IPC, named by the manifests
  scratch/              files of the running step; garbage after a crash
  spark/                Spark's own offsets and commits
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlparse

from skypane.model.errors import CheckpointError, OptionError
from skypane.spark.store.failpoints import reach
from skypane.spark.store.files import read_json, write_json
from skypane.spark.store.manifest import Manifest, SparkState, StepKind

FORMAT_VERSION = 3
_KEEP = 2
_REMEDY = "Restore it from a backup, or start over with a new checkpoint folder."


def local_path(path: str | os.PathLike[str], option: str) -> Path:
    """The folder behind a path or a ``file:`` address; other file systems are refused."""
    parsed = urlparse(os.fspath(path))
    if parsed.scheme not in {"", "file"}:
        raise OptionError(
            f"{option}={os.fspath(path)!r}: only folders that every worker can reach by path are supported "
            f"(a local disk in embedded mode, a shared mount on a cluster), not {parsed.scheme}://."
        )
    return Path(parsed.path if parsed.scheme == "file" else os.fspath(path)).expanduser().absolute()


class Intent(NamedTuple):
    """A step that the clock decided, and when."""

    kind: StepKind
    now_us: int


class Checkpoint:
    """Opens, locks, reads and commits a checkpoint folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.spark = folder / "spark"
        self._manifests = folder / "manifests"
        self._scratch = folder / "scratch"
        self._intent = folder / "intent.json"
        try:
            for path in (self.state, self._manifests, self._scratch):
                path.mkdir(parents=True, exist_ok=True)
            self._lock = (folder / "lock").open("w")
        except OSError as error:
            raise CheckpointError(
                f"The checkpoint folder {folder} cannot be made or written: {error.strerror}. Name another folder, or "
                "make this one writable."
            ) from error

    def open(self, fingerprint: Mapping[str, Any], start: SparkState) -> Manifest:
        """Lock the folder, check that the query is the same, and return where to continue."""
        self._acquire()
        stored_path = self.folder / "query.json"
        if stored_path.exists():
            stored = read_json(stored_path, _REMEDY)
            self._check_version(stored, stored_path)
            _refuse_changes(stored["query"], dict(fingerprint), self.folder)
        elif any(self._manifests.glob("*.json")):
            raise CheckpointError(f"The file {stored_path} is missing, but {self._manifests} is not empty. {_REMEDY}")
        else:
            write_json(stored_path, {"version": FORMAT_VERSION, "query": fingerprint})
        manifest = self._latest() or Manifest(step=0, batch_id=-1, kind="start", state=start)
        self._check_spark(manifest)
        self._collect_garbage(manifest)
        return manifest

    def close(self) -> None:
        """Let others use the folder."""
        self._lock.close()

    def scratch(self, step: int) -> Path:
        """A fresh folder for the files of one attempt of a step."""
        return Path(tempfile.mkdtemp(prefix=f"{step:010d}-", dir=self._scratch))

    def log_intent(self, step: int, intent: Intent) -> None:
        """Remember a step that no source batch will repeat, before any of its effects can be seen."""
        write_json(self._intent, {"version": FORMAT_VERSION, "step": step, **intent._asdict()})

    def pending_intent(self, manifest: Manifest) -> Intent | None:
        """The step that was decided but not committed before a crash, if any."""
        if not self._intent.exists():
            return None
        intent = read_json(self._intent, _REMEDY)
        self._check_version(intent, self._intent)
        return Intent(intent["kind"], intent["now_us"]) if intent["step"] == manifest.step + 1 else None

    def pending_batch(self) -> bool:
        """Whether Spark will repeat a batch that it planned but did not commit."""
        return _newest_id(self.spark / "offsets") > _newest_id(self.spark / "commits")

    def batch_time_us(self, batch_id: int) -> int:
        """When Spark planned the batch, from its offset log: the same however often the batch is repeated."""
        path = self.spark / "offsets" / str(batch_id)
        for line in path.read_text().splitlines():
            if "batchTimestampMs" in line:
                return int(json.loads(line)["batchTimestampMs"]) * 1_000
        raise CheckpointError(f"The file {path} does not say when Spark planned the batch. {_REMEDY}")

    def commit(self, manifest: Manifest) -> None:
        """Make the step the one to continue from, atomically."""
        path = self._manifests / f"{manifest.step:010d}.json"
        body = {"version": FORMAT_VERSION, "manifest": manifest.to_json()}
        write_json(path, body, between=[lambda: reach("manifest.written")])
        reach("manifest.committed")

    def clean(self, manifest: Manifest, scratch: Path) -> None:
        """Forget what the last two steps do not need."""
        shutil.rmtree(scratch, ignore_errors=True)
        for path in sorted(self._manifests.glob("*.json"))[:-_KEEP]:
            path.unlink(missing_ok=True)
        self._collect_state(manifest)

    def _latest(self) -> Manifest | None:
        paths = sorted(self._manifests.glob("*.json"))
        return self._read(paths[-1]) if paths else None

    def _read(self, path: Path) -> Manifest:
        body = read_json(path, _REMEDY)
        self._check_version(body, path)
        return Manifest.from_json(body["manifest"])

    def _check_version(self, body: Mapping[str, Any], path: Path) -> None:
        version = body.get("version")
        if version != FORMAT_VERSION:
            raise CheckpointError(
                f"The file {path} has format version {version}; this skypane reads version {FORMAT_VERSION}. "
                "Use the skypane that wrote it, or start over with a new checkpoint folder."
            )

    def _check_spark(self, manifest: Manifest) -> None:
        """Spark plans a batch before we commit it, and marks it as done after that: anything else loses records."""
        planned, done = _newest_id(self.spark / "offsets"), _newest_id(self.spark / "commits")
        if not done <= manifest.batch_id <= planned:
            raise CheckpointError(
                f"The manifests in {self._manifests} know batches up to {manifest.batch_id}, Spark's own files in "
                f"{self.spark} up to {done} (done) and {planned} (planned): they do not belong together. Restore both "
                "from one backup, or start over with a new checkpoint folder."
            )

    def _acquire(self) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise CheckpointError(
                f"The checkpoint {self.folder} is in use by another running query. "
                "Stop that one, or use another folder."
            ) from error

    def _collect_garbage(self, manifest: Manifest) -> None:
        """Remove what crashed attempts left behind."""
        for path in self._scratch.iterdir():
            shutil.rmtree(path, ignore_errors=True)
        for path in self._manifests.glob(".*"):
            path.unlink(missing_ok=True)
        self._collect_state(manifest)

    def _collect_state(self, manifest: Manifest) -> None:
        needed = set(manifest.files)
        if manifest.step > 1:
            previous = self._manifests / f"{manifest.step - 1:010d}.json"
            if previous.exists():
                needed |= self._read(previous).files
        for path in self.state.iterdir():
            if path.name not in needed:
                path.unlink(missing_ok=True)


def _newest_id(folder: Path) -> int:
    return max((int(path.name) for path in folder.glob("[0-9]*") if path.name.isdigit()), default=-1)


def _refuse_changes(stored: Mapping[str, Any], wanted: Mapping[str, Any], folder: Path) -> None:
    differences = list(_differences("", stored, wanted))
    if differences:
        lines = "\n".join(f"  {name}: was {old!r}, now {new!r}" for name, old, new in differences)
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
