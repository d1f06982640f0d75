"""Long runs without Spark: crash schedules and damaged files, of one world after the other."""

from __future__ import annotations

import logging
import time
from collections import Counter

import pyarrow as pa

from tests.chaos.damages import run_damaged
from tests.chaos.schedules import Schedules
from tests.chaos.worlds import World
from tests.longruns.results import Result

SCHEDULES = 50
DAMAGES = 15


def be_quiet() -> None:
    """Set up a process that runs nothing else: small tables need no threads, and warnings of queries are known."""
    pa.set_cpu_count(1)
    logging.disable(logging.WARNING)


def schedules(seed: int) -> Result:
    """The crash schedules of a world."""
    start, seen = time.process_time(), Counter[str]()
    tree = Schedules(World.of(seed))
    for number in range(SCHEDULES):
        seen.update(fault.split()[0] for fault in tree.run(number))
    return Result("schedules", seed, SCHEDULES, seconds=time.process_time() - start, seen=dict(seen))


def damages(seed: int) -> Result:
    """Damaged files of a world, one in each run."""
    start, world = time.process_time(), World.of(seed)
    seen = Counter(run_damaged(world, number) for number in range(DAMAGES))
    return Result("damages", seed, DAMAGES, seconds=time.process_time() - start, seen=dict(seen))
