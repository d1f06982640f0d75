"""Long runs: ``python -m tests.longruns schedules --count 200000 --seconds 1200``; see ``tests/README.md``."""

from __future__ import annotations

import argparse
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context

from tests.longruns import simulations
from tests.longruns.hosts import Host
from tests.longruns.kills import run_stream
from tests.longruns.results import FOLDER, Result, Results, table
from tests.longruns.runner import Job, run_one, run_seeds
from tests.longruns.suites import files, suites

COUNTS = {"schedules": 200_000, "damages": 30_000, "kills": 1_000, "suites": 1_000}
"""How many runs there are in all, unless ``--count`` says so; of suites, all."""
_JOBS = {"schedules": simulations.schedules, "damages": simulations.damages, "suites": suites}


@contextmanager
def workers(what: str, at_a_time: int) -> Iterator[tuple[Executor, Job]]:
    """Who runs seeds, and how: in processes, or in threads that wait for a JVM and drivers each."""
    if what in _JOBS:
        context = get_context("spawn")
        with ProcessPoolExecutor(at_a_time, mp_context=context, initializer=simulations.be_quiet) as processes:
            yield processes, _JOBS[what]
        return
    hosts: dict[int, Host] = {}
    place = FOLDER / "streams"

    def kills(seed: int) -> Result:
        mine = threading.get_ident()
        if mine not in hosts:
            hosts[mine] = Host(place / f"host-{mine}")
        try:
            return run_stream(seed, hosts[mine], place)
        except BaseException:
            # Whatever state it is in, the next stream needs a sound one.
            hosts.pop(mine).close()
            raise

    with ThreadPoolExecutor(at_a_time) as executor:
        try:
            yield executor, kills
        finally:
            executor.shutdown(wait=True)
            for host in hosts.values():
                host.close()
            for folder in place.glob("host-*"):
                shutil.rmtree(folder)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.longruns", description=__doc__)
    parser.add_argument("what", choices=[*COUNTS, "table"])
    parser.add_argument("--count", type=int, help="runs in all, with those of earlier calls")
    parser.add_argument("--seconds", type=float, default=1_200.0, help="begin no more seeds after that")
    parser.add_argument("--seed-from", type=int, default=0, help="the first seed")
    parser.add_argument("--at-a-time", type=int, default=2, help="seeds at a time")
    parser.add_argument("--only", type=int, help="repeat this seed, and store nothing")
    asked = parser.parse_args()
    if asked.what == "table":
        print(table([*COUNTS]))
        return 0
    start = time.monotonic()
    with workers(asked.what, 1 if asked.only is not None else asked.at_a_time) as (executor, job):
        if asked.only is not None:
            result = executor.submit(run_one, job, asked.what, asked.only).result()
            print(result)
            return int(result.outcome != "passed")
        failed = run_seeds(
            job,
            Results(asked.what),
            executor,
            asked.at_a_time,
            runs=asked.count or COUNTS[asked.what],
            seconds=asked.seconds,
            first=asked.seed_from,
            last=len(files()) - 1 if asked.what == "suites" else None,
        )
    print(f"{table([asked.what])}\n{time.monotonic() - start:,.0f} s")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
