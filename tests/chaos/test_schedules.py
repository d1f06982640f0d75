"""Thousands of crash schedules of the real step, checkpoint and Parquet sinks on a disk that tears, forgets, fills up.

A failure prints its world and schedule, which are seeds, and the faults that came about. To look at one again:
``python -m tests.longruns schedules --only 25``. The same runs the hundred thousands of ``make soak``.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import pyarrow as pa
import pytest

from skypane.api.by_name import POLICIES
from skypane.api.options.declarations import OPTIONS
from skypane.flow.windows.emit.names import EMISSIONS
from skypane.flow.windows.slide.choice import SLIDES
from skypane.spark.store import logs
from tests.chaos.memory_disk import MemoryDisk
from tests.chaos.process import Work, on_disk
from tests.chaos.schedules import Schedules
from tests.chaos.worlds import World, contents, record
from tests.support.configurations import QUERIES, Configuration, random_configuration
from tests.support.records import SCHEMA

WORLDS, SCHEDULES = 100, 7


@pytest.fixture(autouse=True)
def _small_tables_need_no_threads() -> Iterator[None]:
    threads, merge_at = pa.cpu_count(), logs._MERGE_AT
    pa.set_cpu_count(1)
    yield
    pa.set_cpu_count(threads)
    logs._MERGE_AT = merge_at


@pytest.mark.parametrize("first", range(0, WORLDS, 50))
def test_whatever_the_disk_does_the_sinks_have_the_same_rows(first: int) -> None:
    run_worlds(first, 50, SCHEDULES)


def run_worlds(first: int, worlds: int, schedules: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(first, first + worlds):
        tree = Schedules(World.of(seed))
        for number in range(schedules):
            seen.update(fault.split()[0] for fault in tree.run(number))
    # Every kind of fault has come about, and often: the schedules are worth running.
    assert min(seen[kind] for kind in ("kill", "power", "unreadable", "full")) > worlds * schedules // 15, seen


def test_the_worlds_are_worth_running() -> None:
    worlds = [World.of(seed) for seed in range(90)]
    for sink in ("results", "late", "quarantine", "duplicates"):
        assert sum(len(world.undisturbed.contents.get(sink, {})) for world in worlds) > 10, sink
    rows = [row for w in worlds for steps in w.undisturbed.contents.get("results", {}).values() for row in steps]
    assert any("'revision': 1" in row for row in rows)
    assert any("'change': -1" in row for row in rows)
    assert any("'partial': False" in row for row in rows)
    assert any("'partial': True" in row for row in rows)
    for name in ("query", "policy", "emit"):
        assert len({getattr(world.work.configuration, name) for world in worlds}) >= 2, name


def test_configurations_leave_no_option_out() -> None:
    chosen: dict[str, set[str]] = {}
    for seed in range(400):
        configuration = random_configuration(random.Random(seed))
        given = {**configuration.lateness, **configuration.parallel, **configuration.policy_settings}
        given |= {"policy": configuration.policy, "emit": configuration.emit, "query": configuration.query}
        for name, value in given.items():
            chosen.setdefault(name, set()).add(str(value))
    wanted = {
        option.name for option in OPTIONS if option.section.split(".")[0] in {"partition", "lateness", "parallel"}
    }
    assert {name for name in wanted if len(chosen.get(name, ())) < 2} == set()
    for name, all_of_them in (("sliding", SLIDES), ("policy", POLICIES), ("emit", EMISSIONS), ("query", QUERIES)):
        assert chosen[name] >= {*all_of_them}, name


def test_records_far_ahead_that_are_believed_may_all_be_in_the_gaps_between_windows() -> None:
    batch = pa.Table.from_pylist([record(0, 100_000), record(1, 10**15 + 600_000), record(2, 10**15 + 700_000)], SCHEMA)
    configuration = Configuration(
        "aggregate", ("500 milliseconds", "1 second"), (), "kslack", "full", lateness={"support": 2}
    )
    work, disk = Work(configuration, [batch]), MemoryDisk(World.of(0).before[0].rng)
    with on_disk(disk):
        ledger = work.run(disk)
    assert ledger.accepted == 3
    assert len(contents(disk, work)["results"]) == 1
