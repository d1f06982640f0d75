"""A byte that changed, a file that was cut, swapped or removed: refused by name or harmless, never another answer."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from skypane.model.errors import SkypaneError
from tests.chaos.memory_disk import MemoryDisk
from tests.chaos.process import Driver, Work, on_disk
from tests.chaos.schedules import difference
from tests.chaos.worlds import Outcome, World, contents, record
from tests.support.configurations import Configuration
from tests.support.records import SCHEMA

WORLDS, DAMAGES = 40, 15
_OF_SINKS = ("_skypane.json", "_files.log")
DAMAGE = ("flip", "flip", "flip", "cut", "zeros", "more", "swap", "remove", "other")


def candidates(disk: MemoryDisk) -> list[str]:
    """What we store about a query: all of the checkpoint but Spark's own files and the lock, and what sinks note."""
    ours = [name for name in disk.files() if name.startswith("/nowhere/checkpoint/") and "/spark/" not in name]
    notes = [name for name in disk.files() if Path(name).name in _OF_SINKS]
    return sorted({name for name in (*ours, *notes) if Path(name).name not in {"lock", "_lock"}})


def damage(disk: MemoryDisk, rng: random.Random) -> tuple[str, list[str]]:
    """Do something to a file; what was done, and the names that a message could have."""
    names = candidates(disk)
    name = rng.choice(names)
    how = rng.choice(DAMAGE)
    file = disk.names_now[name]
    data = bytearray(file.data)
    concerned = [name]
    if how == "flip" and data:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif how == "cut" and data:
        del data[rng.randrange(len(data)) :]
    elif how == "zeros" and data:
        start = rng.randrange(len(data))
        data[start:] = bytes(len(data) - start)
    elif how == "more":
        data += rng.randbytes(rng.randint(1, 20))
    elif how == "other":
        data = bytearray(rng.randbytes(rng.randint(0, 50)))
    elif how == "swap":
        other = rng.choice(names)
        disk.names_now[name], disk.names_now[other] = disk.names_now[other], disk.names_now[name]
        return f"swap {name} {other}", [name, other]
    elif how == "remove":
        del disk.names_now[name]
        return f"remove {name}", concerned
    file.data = bytes(data)
    return f"{how} {name}", concerned


def run_damaged(world: World, seed: int) -> str:
    """Damage a file between two processes; how it ended."""
    rng = random.Random(f"damage {world.seed} {seed}")
    disk = rng.choice(world.before[1:]).copy(rng)
    what, concerned = damage(disk, rng)
    disk.start_process(None)
    Driver.rng = rng
    where = f"world {world.seed}, damage {seed}: {what}\n{world.work.configuration}\n"
    try:
        with on_disk(disk):
            outcome = Outcome(world.work.run(disk), contents(disk, world.work))
    except SkypaneError as error:
        if any(name in str(error) or str(Path(name).parent) in str(error) for name in concerned):
            return "refused"
        raise AssertionError(where + str(error)) from error
    except BaseException as error:
        raise AssertionError(f"{where}{error!r}") from error
    assert outcome == world.undisturbed, where + difference(outcome, world.undisturbed)
    return "harmless"


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
