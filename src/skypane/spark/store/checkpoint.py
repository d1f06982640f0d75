"""Checkpoint: the folder from which a query restarts - fingerprint, manifests, state files, one user at a time.

checkpoint/
  _skypane.json         says that the folder is ours; written before anything else
  query.json            what the query is, its id and where its sinks write; another query is refused
  manifests/0000000007.json      the last two committed steps
  manifests/0000000008.prepared  a step that sinks may show already; a restart finishes it from its stored rows
  state/                Arrow IPC, named by the manifests
  scratch/              files of the running step; garbage after a crash, unless the step was prepared
  spark/                Spark's own offsets and commits

A step is prepared once, then only rolled forward: its state and the rows of all outputs are stored first, then sinks
show them, then renaming the prepared manifest commits the step. Before a step is prepared nobody has seen anything of
it, so it may be computed anew, with other code, another policy or from a source that changed.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from skypane.model.errors import CheckpointError
from skypane.spark.store.disk import disk, ensure_folder, matching, read_bytes
from skypane.spark.store.failpoints import reach
from skypane.spark.store.files import read_json, unique_name, write_json
from skypane.spark.store.folders import OwnFolder, usable
from skypane.spark.store.formats import FileKind, current, stamped
from skypane.spark.store.identity import Identity, refuse_changes, same_query
from skypane.spark.store.manifest import Manifest, SparkState

_KEEP = 2
_NUMBERED = "[0-9]" * 10 + ".json"
_PREPARED = "[0-9]" * 10 + ".prepared"
_REMEDY = "Restore it from a backup, or start over with a new checkpoint folder."
FOLDERS = ("manifests", "scratch", "spark", "state")
"""The entries of a checkpoint folder that belong to skypane alone."""


class Checkpoint:
    """Opens, locks, reads and commits a checkpoint folder; nothing is there before it is opened."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.spark = folder / "spark"
        self._manifests = folder / "manifests"
        self._scratch = folder / "scratch"
        self._query = folder / "query.json"
        self._own = OwnFolder(folder, "checkpoint", "checkpoint", "lock")
        self._identity: Identity | None = None
        self.pending: Manifest | None = None
        """The step after the last one, prepared before a crash: to be shown and committed before anything else."""
        self.last: Manifest | None = None
        """The last committed step, if there is one."""
        self._files: dict[int, set[str]] = {}
        """The state files of the last two committed steps, by step."""
        self._closing: list[Callable[[], object]] = []

    @property
    def query_id(self) -> str:
        """Tells the query from all others, also from the same one with another checkpoint."""
        return self._known.id

    @property
    def _known(self) -> Identity:
        assert self._identity is not None, "the checkpoint is not open"
        return self._identity

    def open(self, fingerprint: Mapping[str, Any], start: SparkState, accept_changed_code: bool = False) -> Manifest:
        """Lock the folder, check that the query is the same, and return where to continue."""
        self._own.acquire()
        with usable(self.folder, "checkpoint"):
            for path in (self.state, self._manifests, self._scratch):
                ensure_folder(path)
            self._identity = self._identify(dict(fingerprint), accept_changed_code)
            # A manifest that is there may not be for good yet: its writer may have died, or failed, before that.
            disk().sync(self._manifests)
        self.last = self._latest()
        manifest = self.last or Manifest(step=0, batch_id=-1, kind="start", state=start)
        self.pending = self._prepared_after(manifest)
        self._check_spark(self.pending or manifest)
        self._collect_garbage()
        return manifest

    def compare(self, fingerprint: Mapping[str, Any], accept_changed_code: bool = False) -> None:
        """Refuse a query that :meth:`open` would refuse as another one; nothing is locked or touched."""
        with usable(self.folder, "checkpoint"):
            if not disk().exists(self._query) or not self._has_begun():
                return
            refuse_changes(self._stored().question.query, fingerprint, self.folder, accept_changed_code)

    def claim(self) -> None:
        """From now on the folder is this query's: called before the first step can show any effect."""
        body = stamped(self._known.to_json())
        if not disk().exists(self._query) or read_json(self._query, _REMEDY) != body:
            write_json(self._query, body)

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
        """Delete the files of an attempt that has ended."""
        disk().remove_folder(scratch)

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

    def prepare(self, manifest: Manifest) -> None:
        """Store the step with all of its rows: from now on a restart shows these and no others."""
        for folder in self._sync_rows(manifest):
            disk().sync(folder)
        # The files have their bytes; that they are there must be as certain before a manifest says so.
        disk().sync(self.state)
        body = stamped(_at(manifest, self._stored_path).to_json())
        write_json(self._prepared(manifest.step), body, between=[lambda: reach("manifest.written")])
        reach("step.prepared")

    def commit(self, manifest: Manifest) -> None:
        """Make the step, which was prepared and shown, the one to continue from, atomically."""
        disk().rename(self._prepared(manifest.step), self._manifests / f"{manifest.step:010d}.json")
        disk().sync(self._manifests)
        self.last, self.pending = manifest, None
        self._remember(manifest)
        reach("manifest.committed")

    def clean(self) -> None:
        """Remove the files that the last two steps do not need."""
        self._discard_scratch()
        for path in matching(self._manifests, _NUMBERED)[:-_KEEP]:
            disk().remove(path)
        self._collect_state()

    def _latest(self) -> Manifest | None:
        """The newest manifest; from now on the checkpoint knows which files it and the one before need."""
        manifest = None
        for path in matching(self._manifests, _NUMBERED)[-_KEEP:]:
            manifest = self._read(path)
            self._remember(manifest)
        return manifest

    def _prepared_after(self, manifest: Manifest) -> Manifest | None:
        """The step that a crash left prepared; its files must all be there."""
        prepared = None
        for path in matching(self._manifests, _PREPARED):
            if int(path.stem) > manifest.step + 1:
                raise _unusable(path, CheckpointError(f"The last committed step is {manifest.step}."))
            if int(path.stem) == manifest.step + 1:
                prepared = _at(self._read(path), lambda stored: str(self.folder / stored))
        return prepared

    def _prepared(self, step: int) -> Path:
        return self._manifests / f"{step:010d}.prepared"

    def _stored_path(self, path: str) -> str:
        """Relative within the folder, which may be moved."""
        inside = Path(path).is_relative_to(self.folder)
        return str(Path(path).relative_to(self.folder)) if inside else path

    def _sync_rows(self, manifest: Manifest) -> set[Path]:
        """Have the bytes of all rows survive a power cut; the folders that have their names."""
        paths = [Path(file.path) for file in manifest.row_files]
        for path in paths:
            disk().sync(path)
        folders = {path.parent for path in paths}
        return folders | ({self._scratch} if any(folder.parent == self._scratch for folder in folders) else set())

    def _read(self, path: Path) -> Manifest:
        body = _read("manifest", path)
        try:
            manifest = Manifest.from_json(body)
            if manifest.step != int(path.stem):
                raise CheckpointError(f"It is that of step {manifest.step}.")
            return manifest
        except (CheckpointError, ValueError, KeyError, TypeError, IndexError) as error:
            raise _unusable(path, error) from error

    def _identify(self, fingerprint: dict[str, Any], accept_changed_code: bool) -> Identity:
        """The identity that the folder has stored; a new one if it has none, or one that never took a step."""
        if not disk().exists(self._query):
            if self._has_begun():
                raise CheckpointError(
                    f"The file {self._query} is missing, but {self._manifests} or {self.spark} is not empty. {_REMEDY}"
                )
            return Identity.new(fingerprint)
        stored = self._stored()
        if not self._has_begun() and not same_query(stored.question.query, fingerprint):
            # A start that failed: nothing of that query is here but its name, and maybe files that Spark found for it.
            disk().remove_folder(self.spark)
            return Identity.new(fingerprint)
        refuse_changes(stored.question.query, fingerprint, self.folder, accept_changed_code)
        return stored.with_query(fingerprint)

    def _stored(self) -> Identity:
        """The query that the folder belongs to."""
        body = _read("query", self._query)
        try:
            return Identity.from_json(body)
        except (CheckpointError, ValueError) as error:
            raise _unusable(self._query, error) from error

    def _has_begun(self) -> bool:
        taken = matching(self._manifests, _NUMBERED) or matching(self._manifests, _PREPARED)
        return bool(taken) or _newest_id(self.spark / "offsets") >= 0

    def _check_spark(self, manifest: Manifest) -> None:
        """Spark plans a batch before we commit it, and marks it as done after that: anything else loses records."""
        planned, done = _newest_id(self.spark / "offsets"), _newest_id(self.spark / "commits")
        if not done <= manifest.batch_id <= planned:
            raise CheckpointError(
                f"The manifests in {self._manifests} know batches up to {manifest.batch_id}, Spark's own files in "
                f"{self.spark} up to {done} (done) and {planned} (planned): they do not belong together. Restore both "
                "from one backup, or start over with a new checkpoint folder."
            )

    def _collect_garbage(self) -> None:
        """Remove what crashed attempts left behind, but for a step that is prepared."""
        self._discard_scratch()
        for path in matching(self._manifests, f".{_PREPARED}.*"):
            disk().remove(path)
        for path in matching(self._manifests, _PREPARED):
            if self.pending is None or path != self._prepared(self.pending.step):
                disk().remove(path)
        self._collect_state()

    def _discard_scratch(self) -> None:
        """Remove the files of all attempts, but for those that a prepared step needs."""
        needed = {Path(file.path).parent for file in self.pending.row_files} if self.pending is not None else set()
        for path in matching(self._scratch, "[0-9]*-*"):
            if path not in needed:
                disk().remove_folder(path)

    def _remember(self, manifest: Manifest) -> None:
        before = manifest.step - 1
        self._files = {before: self._files.get(before, set()), manifest.step: manifest.files}

    def _collect_state(self) -> None:
        needed = set().union(*self._files.values(), self.pending.files if self.pending is not None else ())
        for path in matching(self.state, "*.arrow"):
            if path.name not in needed:
                disk().remove(path)


def _at(manifest: Manifest, where: Callable[[str], str]) -> Manifest:
    """The manifest with other paths of the rows' files."""
    outputs = {
        name: replace(rows, files=tuple(file._replace(path=file.path and where(file.path)) for file in rows.files))
        for name, rows in manifest.outputs.items()
    }
    return replace(manifest, outputs=outputs)


def _read(kind: FileKind, path: Path) -> dict[str, Any]:
    return current(kind, read_json(path, _REMEDY), path)


def _unusable(path: Path, error: Exception) -> CheckpointError:
    return CheckpointError(
        f"The file {path} cannot be used. {error} Restore it from a backup, start over with a new checkpoint folder, "
        "or use the skypane version that wrote it."
    )


def _close(call: Callable[[], object]) -> None:
    try:
        call()
    except Exception:
        # Whoever waits for the end of the query must not wait for ever.
        logging.getLogger("skypane").exception("A sink could not be closed.")


def _newest_id(folder: Path) -> int:
    return max((int(path.name) for path in matching(folder, "[0-9]*") if path.name.isdigit()), default=-1)
