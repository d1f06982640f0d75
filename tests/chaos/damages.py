"""Damages: by a seed, a byte that changes, a file that is cut, swapped or removed between two processes."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

from skypane.model.errors import SkypaneError
from tests.chaos.memory_disk import MemoryDisk
from tests.chaos.process import Driver, on_disk
from tests.chaos.schedules import difference
from tests.chaos.worlds import Outcome, World, contents, without_steps

_LOCKS = {"lock", "_lock"}
DAMAGE = ("flip", "flip", "flip", "cut", "zeros", "more", "swap", "remove", "other")


def candidates(disk: MemoryDisk) -> list[str]:
    """All that there is of a query but locks, which are empty, and Spark's own files, which Spark checks."""
    return sorted(name for name in disk.files() if "/checkpoint/spark/" not in name and Path(name).name not in _LOCKS)


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
            ledger = world.work.run(disk)
            outcome = Outcome(ledger, contents(disk, world.work, without=concerned))
    except SkypaneError as error:
        if any(name in str(error) or str(Path(name).parent) in str(error) for name in concerned):
            return "refused"
        raise AssertionError(where + str(error)) from error
    except BaseException as error:
        raise AssertionError(f"{where}{error!r}") from error
    # Rows that were published and then damaged are lost, which no process can help; no other row may be.
    wanted = replace(world.undisturbed, contents=without_steps(world.undisturbed.contents, concerned))
    outcome = replace(outcome, contents=without_steps(outcome.contents, concerned))
    assert outcome == wanted, where + difference(outcome, wanted)
    return "harmless"
