"""Worlds: a query over a stream by a seed, and what an undisturbed run does to the disk and leaves in the sinks."""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from skypane.model.ledger import Ledger
from skypane.spark.store.manifest import UNNAMED, Manifest
from tests.chaos.memory_disk import Entry, MemoryDisk
from tests.chaos.process import Driver, Work, on_disk
from tests.support.configurations import Configuration, random_configuration
from tests.support.records import SCHEMA

_STEP_FILE = re.compile(r"step-(\d+)-\d+\.parquet")
Contents = Mapping[str, Mapping[int, list[str]]]
"""The rows of each sink, by step: one that is lost, there twice, or in another step shows."""


@dataclass(frozen=True)
class Outcome:
    """What a run left behind."""

    ledger: Ledger
    contents: Contents


@dataclass(frozen=True)
class Mark:
    """All that the rest of a run depends on, and all that a reader sees, between two steps."""

    state: Mapping[str, Any]
    """The manifest, with rows in place of the files that have them; without tuning, which decides no answer."""
    contents: Contents

    @classmethod
    def of(cls, manifest: Manifest, disk: MemoryDisk, work: Work) -> Mark:
        """Where a process is after a step."""
        state = manifest.to_json()
        del state["tuning"]
        question = state["questions"][UNNAMED]
        files = disk.names_now
        question["rows"] = {
            kind: sorted(row for part in parts for row in _state_rows(files[_state_file(work, part)].data))
            for kind, parts in question["rows"].items()
        }
        return cls(state, contents(disk, work))


@dataclass(frozen=True)
class Part:
    """What a process did to a disk from one step to the next, or from its start on."""

    disk: MemoryDisk
    """Before it."""
    journal: Sequence[Entry]


@dataclass
class Recorder:
    """Takes down the parts of a process that is about to start."""

    disk: MemoryDisk
    parts: list[Part] = field(default_factory=list)
    _begin: int = 0

    def __post_init__(self) -> None:
        self._before = self.disk.copy(self.disk.rng)

    def cut(self) -> None:
        """One part ends, another begins."""
        self.parts.append(Part(self._before, self.disk.journal[self._begin :]))
        self._before, self._begin = self.disk.copy(self.disk.rng), len(self.disk.journal)


@dataclass(frozen=True)
class World:
    """A query over a stream, and what it does undisturbed."""

    seed: int
    work: Work
    undisturbed: Outcome
    parts: Sequence[Part]
    marks: Mapping[int, Mark]
    """By step."""

    @classmethod
    def of(cls, seed: int) -> World:
        """The world of a seed."""
        rng = random.Random(f"world {seed}")
        configuration = random_configuration(rng)
        batches = _batches(rng)
        return cls.around(seed, Work(configuration, batches, rng.choice([None, *range(len(batches))])), rng)

    @staticmethod
    def configuration_of(seed: int) -> Configuration:
        """The query of a world, without running it."""
        return random_configuration(random.Random(f"world {seed}"))

    @classmethod
    def around(cls, seed: int, work: Work, rng: random.Random) -> World:
        """Run the work undisturbed."""
        disk = MemoryDisk(rng)
        recorder, marks = Recorder(disk), {}

        def on_step(manifest: Manifest) -> bool:
            recorder.cut()
            marks[manifest.step] = Mark.of(manifest, disk, work)
            return False

        with on_disk(disk):
            Driver.rng, Driver.random_plans = rng, False
            ledger = work.run(disk, on_step)
        recorder.cut()
        return cls(seed, work, Outcome(ledger, contents(disk, work)), recorder.parts, marks)

    @property
    def before(self) -> list[MemoryDisk]:
        """The disk before each part of the run."""
        return [part.disk for part in self.parts]


def contents(disk: MemoryDisk, work: Work, without: Collection[str] = ()) -> Contents:
    """What a reader of the sinks sees, some files left out."""
    found: dict[str, dict[int, list[str]]] = {}
    for name, file in disk.names_now.items():
        folder, _, base = name.rpartition("/")
        above, _, sink = folder.rpartition("/")
        match = _STEP_FILE.fullmatch(base)
        if match and above == str(work.root) and name not in without:
            found.setdefault(sink, {}).setdefault(int(match[1]), []).extend(_rows(file.data))
    return {sink: {step: sorted(rows) for step, rows in steps.items()} for sink, steps in sorted(found.items())}


def without_steps(found: Contents, files: Collection[str]) -> Contents:
    """The contents without the steps that these files have rows of."""
    paths = [Path(name) for name in files]
    hidden = {(path.parent.name, int(match[1])) for path in paths if (match := _STEP_FILE.fullmatch(path.name))}
    left = {
        sink: {step: rows for step, rows in steps.items() if (sink, step) not in hidden}
        for sink, steps in found.items()
    }
    return {sink: steps for sink, steps in left.items() if steps}


@lru_cache(maxsize=1_000)
def _rows(data: bytes) -> list[str]:
    return [repr(row) for row in pq.ParquetFile(pa.BufferReader(data)).read(use_threads=False).to_pylist()]


@lru_cache(maxsize=1_000)
def _state_rows(data: bytes) -> list[str]:
    return [repr(row) for row in pa.ipc.open_file(pa.BufferReader(data)).read_all().to_pylist()]


def _state_file(work: Work, part: Mapping[str, Any]) -> str:
    return f"{work.root}/checkpoint/state/{part['file']['name']}"


def record(n: int, time_us: int) -> dict[str, object]:
    """One that nothing is wrong with."""
    return {"n": n, "ts": time_us, "city": "ulm", "zone": 1, "a": 1.0, "b": 1}


def _batches(rng: random.Random) -> list[pa.Table]:
    """Records that drift upwards through time with disorder; a few cannot be used, some batches are empty."""
    tables, n, now = [], 0, -1_000_000
    for _ in range(rng.choice([2, 2, 3, 4])):
        records = []
        for _ in range(rng.choice([0, 5, 8, 8])):
            now += rng.choice([0, 50_000, 130_000, 700_000])
            time: int | None = now - (rng.randint(0, 6_000_000) if rng.random() < 0.4 else 0)
            a: float | None = rng.choice([-0.0, 0.0, 1.0, 2.0, 3.0, float("inf")])
            fate = rng.random()
            if fate < 0.04:
                time = None
            elif fate < 0.08:
                time = 10**16 + n
            elif fate < 0.12:
                a = rng.choice([None, float("nan")])
            records.append(
                {
                    "n": n,
                    "ts": time,
                    "city": rng.choice(["ulm", "bonn", None]),
                    "zone": rng.choice([1, 2, None]),
                    "a": a,
                    "b": rng.choice([0, 1, 2, 2**53 + 1]),
                }
            )
            n += 1
        tables.append(pa.Table.from_pylist(records, SCHEMA))
    return tables
