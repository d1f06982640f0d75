"""A byte that changed, a file that was cut, swapped or removed: refused by name or harmless, never another answer."""

from __future__ import annotations

import random
from collections import Counter

import pyarrow as pa
import pytest

from tests.chaos.damages import run_damaged
from tests.chaos.process import Work, on_disk
from tests.chaos.worlds import Outcome, World, contents, record
from tests.support.configurations import Configuration
from tests.support.records import SCHEMA

WORLDS, DAMAGES = 40, 15


@pytest.mark.parametrize("first", range(0, WORLDS, 20))
def test_damage_is_refused_by_name_or_harmless(first: int) -> None:
    run_worlds(first, 20, DAMAGES)


def run_worlds(first: int, worlds: int, damages: int) -> None:
    ended: Counter[str] = Counter()
    for seed in range(first, first + worlds):
        world = World.of(seed)
        ended.update(run_damaged(world, number) for number in range(damages))
    assert ended["refused"] > worlds * damages // 5, "damage must be noticed"
    assert ended["harmless"] > 0


def test_a_damaged_bit_in_the_log_of_a_sink_cannot_hide_the_answer_that_a_revision_replaces() -> None:
    # The notes of the log say which files a revision has to look into.
    early = pa.Table.from_pylist([record(0, 100_000), record(1, 1_500_000)], SCHEMA)
    overdue = pa.Table.from_pylist([record(2, 200_000)], SCHEMA)
    work = Work(
        Configuration("aggregate", ("1 second", None), (), "fixed_delay", "full", lateness={"allowed": "1 minute"}),
        [early, early.slice(1), overdue],
    )
    world = World.around(0, work, random.Random(0))
    wanted, before = world.undisturbed, world.before[1:]
    log = "/nowhere/results/_files.log"
    assert any("'revision': 1" in row for row in wanted.contents["results"][3]), wanted
    for place in range(len(before[2].files()[log])):
        for bit in range(0, 8, 3):
            disk = before[2].copy(random.Random(0))
            data = bytearray(disk.files()[log])
            data[place] ^= 1 << bit
            disk.names_now[log].data = bytes(data)
            disk.start_process(None)
            with on_disk(disk):
                assert Outcome(work.run(disk), contents(disk, work)) == wanted, (place, bit)
