"""Runs seeds, several at a time, until there are enough runs or the time is up; each result is stored at once."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import replace

from tests.longruns.results import Result, Results, code_of

Job = Callable[[int], Result]
"""Runs one seed; whatever it raises is the outcome."""


def run_seeds(
    job: Job,
    results: Results,
    executor: Executor,
    at_a_time: int,
    *,
    runs: int,
    seconds: float,
    first: int = 0,
    last: int | None = None,
) -> int:
    """Go on from the first seed without a result; how many failed. A seed that has begun is run to its end."""
    seeds = results.seeds_to_do(first, last)
    left = runs - sum(result.runs for result in results.read() if result.seed >= first)
    deadline, failed, running = time.monotonic() + seconds, 0, set[Future[Result]]()
    while True:
        while left > 0 and len(running) < at_a_time and time.monotonic() < deadline:
            seed = next(seeds, None)
            if seed is None:
                left = 0
                break
            running.add(executor.submit(run_one, job, results.what, seed))
            left -= _expected(results)
        if not running:
            return failed
        ended, running = wait(running, return_when=FIRST_COMPLETED)
        for result in (future.result() for future in ended):
            results.add(result)
            failed += result.outcome != "passed"
            left += _expected(results) - result.runs
            if result.outcome != "passed":
                print(f"{result.what} {result.seed} failed:\n{result.outcome}", flush=True)


def run_one(job: Job, what: str, seed: int) -> Result:
    """A seed and what came of it."""
    try:
        result = job(seed)
    except Exception as error:  # noqa: BLE001 - the outcome, whatever it is
        text = str(error) if isinstance(error, AssertionError) and str(error) else traceback.format_exc()
        result = Result(what, seed, 1, outcome=text[-4_000:])
    return replace(result, code=code_of())


def _expected(results: Results) -> int:
    """How many runs a seed has, until it is known."""
    return {"schedules": 50, "damages": 15, "kills": 5}.get(results.what, 1)
