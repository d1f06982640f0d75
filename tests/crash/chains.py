"""Chains: a query that is continued by one process after the other, each of which is killed, and what it must leave.

Which records are late depends on the batches. Spark's file source logs its files before Spark logs the batch: a process
killed between the two leaves files that the next batch takes along. So the run to compare with is one over the batches
that Spark did make, as its log has them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.configurations import Configuration
from tests.support.spark.processes import DriverProcess, Launcher
from tests.support.spark.streams import random_batches, write_batches

BATCHES = 14
SINK_KINDS = ("parquet", "json", "function", "discard")
Contents = dict[str, dict[int, list[str]]]
"""The rows of each sink by step: a row that is lost, there twice, or in another step shows."""
Cuts = tuple[int, ...]
"""The last file of each batch."""
PLAIN_CUTS = tuple(range(BATCHES))


@dataclass(frozen=True)
class Chain:
    """A query, and where its rows go: results, late, quarantine; failed windows, duplicates, if there are any."""

    name: str
    configuration: Configuration
    sinks: tuple[str, str, str] = ("parquet", "parquet", "parquet")
    files: int = BATCHES
    """How many files the source has."""

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of each sink."""
        kinds = dict(zip(("results", "late", "quarantine"), self.sinks, strict=True))
        kinds |= {"failed": "parquet"} if self.configuration.query == "apply" else {}
        return kinds | ({"duplicates": "parquet"} if self.configuration.distinct else {})


@dataclass(frozen=True)
class Left:
    """What a run said and left."""

    said: dict[str, Any]
    contents: Contents


@dataclass
class World:
    """The input, the processes, and what uninterrupted runs left."""

    folder: Path
    launcher: Launcher
    _undisturbed: dict[tuple[str, Cuts], Left] = field(default_factory=dict)

    def prepare(self, chains: Iterable[Chain]) -> None:
        """Have one process run all of them undisturbed."""
        driver = self.launcher.take()
        for chain in chains:
            self.undisturbed(chain, PLAIN_CUTS[: chain.files], driver)
        driver.end()

    def kill_at(self, chain: Chain, failpoint: str, *, must: bool = True, **how: Any) -> bool:
        """Continue until the failpoint kills the process; whether it did, rather than come to the end."""
        driver = self.launcher.take()
        return self._kill(driver, chain, failpoint, must=must, **how)

    def kill_when_idle(self, chain: Chain) -> None:
        """Run to the end of the source with open windows, then die when the clock decides to close them."""
        driver = self.launcher.take()
        driver.order(self._orders(chain, flush=False))
        assert driver.answer() is not None
        idle: dict[str, Any] = {"available_now": False, "trigger": "100 milliseconds", "idle_timeout": "200 ms"}
        self._kill(driver, chain, "step.prepared", **idle)

    def verify(self, chains: Iterable[Chain]) -> None:
        """Have one process run all of them to their end: they must leave what undisturbed runs do."""
        driver = self.launcher.take(ahead=0)
        for chain in chains:
            driver.order(self._orders(chain))
            said = driver.answer()
            assert said is not None
            output = self.folder / chain.name
            made = cuts(output)
            wanted = self.undisturbed(chain, made, driver)
            assert said == wanted.said, chain
            found = contents(output, chain.kinds)
            assert ended_together(found, len(made)) == ended_together(wanted.contents, len(made)), chain
        driver.end()

    def undisturbed(
        self,
        chain: Chain,
        wanted: Cuts,
        driver: DriverProcess | None = None,
        parallel: Mapping[str, Any] | None = None,
    ) -> Left:
        """A run over the same records in these batches; in the driver, which takes least, unless said otherwise."""
        key = (chain.name, wanted)
        if key not in self._undisturbed:
            assert driver is not None
            name = f"{chain.name}-undisturbed-{len(self._undisturbed)}"
            orders = self._orders(chain, source=self.source(wanted), parallel=parallel or {"inline_rows": 100_000})
            driver.order({**orders, "output": str(self.folder / name)})
            said = driver.answer()
            assert said is not None
            assert len(cuts(self.folder / name)) == len(wanted)
            self._undisturbed[key] = Left(said, contents(self.folder / name, chain.kinds))
        return self._undisturbed[key]

    def source(self, cuts: Cuts) -> str:
        """A folder with the records of each batch in a file."""
        folder = self.folder / "-".join(["in", *map(str, cuts)])
        if not folder.exists():
            write_batches(folder, batches(cuts))
        return str(folder)

    def _kill(self, driver: DriverProcess, chain: Chain, failpoint: str, *, must: bool = True, **how: Any) -> bool:
        driver.order(self._orders(chain, failpoint, **how))
        killed = driver.answer() is None
        driver.end()
        assert killed or not must, f"{failpoint} was not reached"
        return killed

    def _orders(
        self,
        chain: Chain,
        failpoint: str | None = None,
        *,
        source: str = "",
        parallel: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> dict[str, Any]:
        own = chain.configuration.parallel
        return {
            "configuration": chain.configuration.as_json(),
            "sinks": chain.kinds,
            "input": source or self.source(PLAIN_CUTS[: chain.files]),
            "output": str(self.folder / chain.name),
            "failpoint": failpoint,
            "parallel": {} if "pattern" in own else {"inline_rows": 0, **(parallel or {})},
            "options": {"available_now": True, **options},
        }


@contextmanager
def world_in(folder: Path) -> Iterator[World]:
    """A world that leaves no process behind."""
    world = World(folder, Launcher(folder))
    try:
        yield world
    finally:
        world.launcher.close()


def batches(cuts: Cuts) -> list[pa.Table]:
    """The input, cut into batches after these of its files."""
    files = random_batches(seed=11, batches=BATCHES)
    starts = [0, *(cut + 1 for cut in cuts[:-1])]
    return [pa.concat_tables(files[start : cut + 1]) for start, cut in zip(starts, cuts, strict=True)]


def cuts(output: Path) -> Cuts:
    """The batches that Spark made, by its log; every entry of the file source is one file."""
    return tuple(json.loads(path.read_text().splitlines()[-1])["logOffset"] for path in logged_offsets(output))


def logged_offsets(output: Path) -> list[Path]:
    found = (output / "checkpoint/spark/offsets").glob("[0-9]*")
    return sorted(found, key=lambda path: int(path.name))


def committed_steps(output: Path) -> int:
    return max((int(path.stem) for path in output.glob("checkpoint/manifests/[0-9]*.json")), default=0)


def contents(output: Path, sinks: Mapping[str, str]) -> Contents:
    """What a reader of each sink finds."""
    return {name: dict(sorted(_READERS[kind](output / name).items())) for name, kind in sinks.items()}


def ended_together(found: Contents, batches: int) -> Contents:
    """Steps without a batch as one: how long the stream had paused decides which of them closes a window."""
    together: Contents = {}
    for name, steps in found.items():
        rows = together.setdefault(name, {})
        for step, added in steps.items():
            number = min(step, batches + 1)
            rows[number] = sorted([*rows.get(number, []), *added])
    return together


def _parquet(folder: Path) -> dict[int, list[str]]:
    return _by_step(folder.glob("step-*.parquet"), lambda path: map(repr, pq.read_table(path).to_pylist()))


def _json(folder: Path) -> dict[int, list[str]]:
    return _by_step(folder.glob("batch_id=*/part-*.json"), _lines)


def _function(folder: Path) -> dict[int, list[str]]:
    return _by_step(folder.glob("*.jsonl"), _lines)


def _nothing(folder: Path) -> dict[int, list[str]]:
    assert not folder.exists()
    return {}


_READERS = {"parquet": _parquet, "json": _json, "function": _function, "discard": _nothing}


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


def _by_step(paths: Iterable[Path], read: Any) -> dict[int, list[str]]:
    """The rows of files whose names have the number of their step, empty ones left out, in any order."""
    steps: dict[int, list[str]] = {}
    for path in paths:
        number = re.search(r"(?:step-|batch_id=|/)(\d+)(?=[-/.])", str(path.relative_to(path.parents[2])))
        assert number is not None, path
        if rows := list(read(path)):
            steps.setdefault(int(number[1]), []).extend(rows)
    return {step: sorted(rows) for step, rows in steps.items()}
