"""Schedules: a stream and a list of faults by a seed; what the sinks have in the end must not depend on the faults."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from skypane.model.errors import SkypaneError
from skypane.model.ledger import Ledger
from skypane.spark.store import logs
from skypane.spark.store.disk import using
from tests.chaos.memory_disk import Ended, Fault, FaultKind, MemoryDisk
from tests.chaos.process import Driver, Work
from tests.support.configurations import random_configuration
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
class World:
    """A query over a stream, and what it does undisturbed."""

    seed: int
    work: Work
    undisturbed: Outcome
    before: Sequence[MemoryDisk]
    """Its disk before each step."""
    operations: int
    """Of the whole run."""

    @classmethod
    def of(cls, seed: int) -> World:
        """The world of a seed."""
        rng = random.Random(f"world {seed}")
        configuration = random_configuration(rng)
        batches = _batches(rng)
        work = Work(configuration, batches, rng.choice([None, *range(len(batches))]))
        disk = MemoryDisk(rng)
        before = [disk.copy(rng)]
        with using(disk):
            Driver.rng, Driver.random_plans = rng, False
            ledger = replace(work, on_step=lambda: before.append(disk.copy(rng))).run(disk)
            outcome = Outcome(ledger, contents(disk, work))
        return cls(seed, work, outcome, before, disk.operations)


def run_schedule(world: World, seed: int) -> list[str]:
    """Run the stream with faults; the list of those that came about."""
    rng = random.Random(f"schedule {world.seed} {seed}")
    logs._MERGE_AT = rng.choice([2, 16])
    # The first process begins where an undisturbed one was: what came before is the same in every schedule.
    begin = rng.choice(world.before)
    disk = begin.copy(rng)
    Driver.rng = rng
    left = world.operations - begin.operations
    faults = [_fault(rng, left, again=index > 0) for index in range(rng.choice([1, 1, 2, 2, 3]))]
    Driver.random_plans = rng.random() < 0.5
    what = f"world {world.seed}, schedule {seed}, {world.work.configuration}"
    try:
        with using(disk):
            ledger = _run_to_the_end(world.work, disk, faults)
            outcome = Outcome(ledger, contents(disk, world.work))
        assert outcome == world.undisturbed, difference(outcome, world.undisturbed)
    except Exception as error:
        raise AssertionError(f"{what}\n" + "\n".join([*disk.log, f"-> {error!r}"])) from error
    return disk.log


def _run_to_the_end(work: Work, disk: MemoryDisk, faults: list[Fault]) -> Ledger:
    for fault in faults:
        disk.start_process(fault)
        try:
            work.run(disk)
        except Ended:
            continue
        except (OSError, SkypaneError) as error:
            if "injected by the test" not in str(error):
                raise  # the disk failed, and the message says so; nothing else may
    disk.start_process(None)
    return work.run(disk)


def _fault(rng: random.Random, operations: int, *, again: bool) -> Fault:
    """Anywhere; of a process that recovers from the last one, often soon."""
    kinds: list[FaultKind] = ["kill", "power", "power", "unreadable", "full"]
    kind = rng.choice(kinds)
    most = 80 if again and rng.random() < 0.6 else operations + 60
    return Fault(kind, rng.randint(1, most), rng.choice([1, 1, 2, 5]))


def contents(disk: MemoryDisk, work: Work) -> Contents:
    """What a reader of the sinks sees."""
    found: dict[str, dict[int, list[str]]] = {}
    for name, data in disk.files().items():
        path = Path(name)
        match = _STEP_FILE.fullmatch(path.name)
        if match and path.parent.parent == work.root:
            found.setdefault(path.parent.name, {}).setdefault(int(match[1]), []).extend(_rows(data))
    return {sink: {step: sorted(rows) for step, rows in steps.items()} for sink, steps in sorted(found.items())}


@lru_cache(maxsize=1_000)
def _rows(data: bytes) -> list[str]:
    return [repr(row) for row in pq.ParquetFile(pa.BufferReader(data)).read().to_pylist()]


def difference(got: Outcome, wanted: Outcome) -> str:
    """Where they differ first."""
    if got.ledger != wanted.ledger:
        return f"ledger {got.ledger}, not {wanted.ledger}"
    for sink in sorted({*got.contents, *wanted.contents}):
        own, others = got.contents.get(sink, {}), wanted.contents.get(sink, {})
        for step in sorted({*own, *others}):
            if own.get(step) != others.get(step):
                return f"{sink}, step {step}: {own.get(step)}, not {others.get(step)}"
    return "nothing"


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
