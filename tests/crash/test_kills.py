"""Real processes killed with SIGKILL: after restarts all sinks and the ledger equal those of an uninterrupted run.

Which records are late depends on the batches. Spark's file source logs its files before Spark logs the batch: a process
killed between the two leaves files that the next batch takes along. So the run to compare with is one over the batches
that Spark did make, as its log has them.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from skypane.scheduling.pane_strategies import SPLITTINGS
from skypane.spark.store.failpoints import POINTS
from tests.crash.processes import WAIT_S, Launcher
from tests.spark_support.streams import random_batches, write_batches

pytestmark = [pytest.mark.crash, pytest.mark.timeout(1800)]

BATCHES = 14
STEP_POINTS = [point for point in POINTS if point != "intent.logged"]
SINKS = ("results", "late", "quarantine")
Contents = dict[str, dict[int, list[str]]]
Cuts = tuple[int, ...]
"""The last file of each batch."""
PLAIN_CUTS = tuple(range(BATCHES))


@dataclass(frozen=True)
class Uninterrupted:
    """What a run that nobody killed said and left."""

    said: dict[str, Any]
    left: Contents


@dataclass
class World:
    """The input, the processes, and what uninterrupted runs over it left."""

    folder: Path
    launcher: Launcher
    runs: dict[Cuts, Uninterrupted] = field(default_factory=dict)

    def orders(
        self,
        chain: str,
        failpoint: str | None = None,
        *,
        linger: bool = False,
        source: str = "",
        parallel: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> dict[str, Any]:
        return {
            "input": str(self.folder / (source or self.input(PLAIN_CUTS))),
            "output": str(self.folder / chain),
            "failpoint": failpoint,
            "linger": linger,
            "parallel": {"inline_rows": 0, "degree": 2, **(parallel or {})},
            "options": {"available_now": True, **options},
        }

    def kill_at(self, chain: str, failpoint: str, **options: Any) -> None:
        """Continue the chain until the failpoint kills the process."""
        driver = self.launcher.take()
        driver.order(self.orders(chain, failpoint, **options))
        assert driver.killed(), f"{failpoint} was not reached"
        driver.end()

    def kill_some_time_after(self, chain: str, step: int, delay_s: float) -> None:
        """Continue the chain and kill everything at once, some time after a step was committed."""
        driver = self.launcher.take()
        driver.order(self.orders(chain, linger=True))
        deadline = time.monotonic() + WAIT_S
        while committed_steps(self.folder / chain) < min(step, steps(self.folder / chain)) and driver.alive():
            assert time.monotonic() < deadline
            time.sleep(0.005)
        time.sleep(delay_s)
        assert driver.alive(), driver.errors()
        driver.end()

    def finish(self, chain: str, **options: Any) -> None:
        """Run the chain to its end; it must leave what an uninterrupted run over the same batches leaves."""
        driver = self.launcher.take()
        driver.order(self.orders(chain, **options))
        said = driver.finish()
        driver.end()
        wanted = self.uninterrupted(cuts(self.folder / chain))
        assert said == wanted.said
        assert contents(self.folder / chain) == wanted.left

    def uninterrupted(self, wanted: Cuts) -> Uninterrupted:
        """A run over the same records in these batches."""
        if wanted not in self.runs:
            source = self.input(wanted)
            chain = f"run-{source}"
            driver = self.launcher.take() if self.runs else self.launcher.first()
            driver.order(self.orders(chain, source=source))
            said = driver.finish()
            driver.end()
            assert len(cuts(self.folder / chain)) == len(wanted)
            self.runs[wanted] = Uninterrupted(said, contents(self.folder / chain))
        return self.runs[wanted]

    def input(self, cuts: Cuts) -> str:
        """A folder with the records of each batch in a file."""
        source = "-".join(["in", *map(str, cuts)])
        if not (self.folder / source).exists():
            write_batches(self.folder / source, batches(cuts))
        return source


def batches(cuts: Cuts) -> list[pa.Table]:
    """The input, cut into batches after these of its files."""
    files = random_batches(seed=11, batches=BATCHES)
    starts = [0, *(cut + 1 for cut in cuts[:-1])]
    return [pa.concat_tables(files[start : cut + 1]) for start, cut in zip(starts, cuts, strict=True)]


def cuts(output: Path) -> Cuts:
    """The batches that Spark made, by its log; every entry of the file source is one file."""
    return tuple(json.loads(path.read_text().splitlines()[-1])["logOffset"] for path in logged_offsets(output))


def steps(output: Path) -> int:
    """How many steps there will be before the flush, after what Spark put together so far."""
    made = cuts(output)
    return BATCHES - (made[-1] + 1 - len(made) if made else 0)


def logged_offsets(output: Path) -> list[Path]:
    found = (output / "checkpoint/spark/offsets").glob("[0-9]*")
    return sorted(found, key=lambda path: int(path.name))


def committed_steps(output: Path) -> int:
    return max((int(path.stem) for path in output.glob("checkpoint/manifests/[0-9]*.json")), default=0)


def contents(output: Path) -> Contents:
    """The rows of each sink by step: a row that is lost, there twice, or in another step shows."""
    found: Contents = {}
    for sink in SINKS:
        steps: dict[int, list[str]] = {}
        for path in sorted((output / sink).glob("step-*.parquet")):
            match = re.match(r"step-(\d+)-", path.name)
            assert match is not None
            steps.setdefault(int(match.group(1)), []).extend(map(repr, pq.read_table(path).to_pylist()))
        found[sink] = {step: sorted(rows) for step, rows in steps.items()}
    return found


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("crash")
    world = World(folder, Launcher(folder))
    try:
        world.uninterrupted(PLAIN_CUTS)
        yield world
    finally:
        world.launcher.close()


def test_the_uninterrupted_run_is_worth_comparing_with(world: World) -> None:
    run = world.uninterrupted(PLAIN_CUTS)
    for sink in SINKS:
        assert len(run.left[sink]) > 3, f"{sink} has rows in too few steps"
    assert BATCHES + 1 in run.left["results"], "the flush must emit something"
    assert any("'revision': 1" in row for rows in run.left["results"].values() for row in rows)
    delivered = sum(batch.num_rows for batch in batches(PLAIN_CUTS))
    ledger = run.said["ledger"]
    assert ledger["accepted"] + ledger["late"] + sum(ledger["quarantined"].values()) + ledger["held"] == delivered


def test_killed_at_every_point_of_a_batch_and_of_the_final_flush(world: World) -> None:
    # Each process commits a step, then dies in the next one; degree and strategy change from run to run.
    for index, point in enumerate(STEP_POINTS):
        how = {"degree": 1 + index % 4, "splitting": SPLITTINGS[index % len(SPLITTINGS)]}
        world.kill_at("points", f"{point}@2", parallel={"inline_rows": (0, 100_000)[index % 2], **how})
    world.kill_at("points", "intent.logged")
    world.kill_at("points", "step.cleaned")
    world.finish("points")


def test_killed_in_a_step_that_the_clock_decided(world: World) -> None:
    # Without records there is nothing to do before the windows, nor for the late and quarantine sinks: those points are
    # left to the soak.
    points = ["windows.done", "results.staged", "results.published", "manifest.written", "manifest.committed"]
    clock_step(world, "idle", points)


def clock_step(world: World, chain: str, points: Sequence[str]) -> None:
    """Die when the step of an idle stream is decided, then in it at each point."""
    driver = world.launcher.take()
    driver.order(world.orders(chain, flush=False))
    driver.finish()
    assert committed_steps(world.folder / chain) == BATCHES
    world.kill_at(chain, "intent.logged", available_now=False, trigger="100 milliseconds", idle_timeout="200 ms")
    # From here on every process finds the step that was decided, and dies in it, until it is committed.
    for point in points:
        world.kill_at(chain, point)
    world.finish(chain)


def test_killed_between_the_log_of_the_source_and_that_of_spark(world: World) -> None:
    # There is no failpoint within Spark: die at the begin of the batch, then take away what was logged last.
    few = world.input(PLAIN_CUTS[:6])
    world.kill_at("logs", "step.begin@3", source=few)
    last = logged_offsets(world.folder / "logs")[-1]
    last.unlink()
    last.with_name(f".{last.name}.crc").unlink()
    world.finish("logs", source=few)
    assert cuts(world.folder / "logs") == (0, 1, 3, 4, 5), "Spark must have taken two files at once"


def test_killed_at_random_times(world: World) -> None:
    random_kills(world, "random", seed=5, kills=4)
    world.finish("random")


@pytest.mark.soak
def test_killed_at_every_point_of_a_step_that_the_clock_decided(world: World) -> None:
    clock_step(world, "every", [point for point in STEP_POINTS if point != "step.cleaned"])


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(5))
def test_killed_at_random_times_again_and_again(world: World, seed: int) -> None:
    rng = random.Random(seed)
    chain = f"soak-{seed}"
    for _ in range(20):
        output = world.folder / chain
        # Two more steps for the failpoint, one for a batch that Spark may yet put together with another.
        if rng.random() < 0.5 and committed_steps(output) < steps(output) - 3:
            how = {"degree": rng.randint(1, 4), "splitting": rng.choice(SPLITTINGS)}
            world.kill_at(chain, f"{rng.choice(STEP_POINTS)}@{rng.randint(1, 2)}", parallel=how)
        else:
            random_kills(world, chain, seed=rng.randint(0, 10**6), kills=1)
    world.finish(chain)


def random_kills(world: World, chain: str, seed: int, kills: int) -> None:
    """Kill again and again, some time after a few more steps."""
    rng = random.Random(seed)
    for _ in range(kills):
        done = committed_steps(world.folder / chain)
        world.kill_some_time_after(chain, min(done + rng.randint(0, 3), BATCHES), rng.uniform(0.0, 0.5))
