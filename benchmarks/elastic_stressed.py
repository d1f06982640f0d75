"""Elastic degrees beside a CPU stressor (figure 18 of paper 2), which takes half of the machine from mid-run on.

A process of its own, with more slots than there are cores. The work of a record is a number of milliseconds of
processor time, so it is the same on every machine. Quietly, one task bears the stream. The stressor has as many
processes as the query may have tasks: a processor that is shared fairly gives one task a small part of it, and all
tasks together half. So the query keeps up by growing, if half of the machine suffices.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import psutil

import skypane as sp
from benchmarks.elastic_runs import (
    LEAST_STEPS,
    PERIOD,
    covered_s,
    fixed_degree,
    function_query,
    run_query,
    summary,
    wall_s,
    warm,
)
from skypane.spark.metrics import StepMetrics

CORES: Final = multiprocessing.cpu_count()
SLOTS: Final = 2 * CORES
RECORDS_PER_S: Final = 400.0
MAX_STEP_S: Final = 1.5
"""Admission: a step takes in at most what a core does in so long."""
MAX_RUN_S: Final = 240.0
LOADS: Final = {"with room": 0.275, "without": 0.8}
"""Shares of the machine that the stream needs: less than half of it, and more."""
FIXED: Final = fixed_degree(1)
ELASTIC: Final = {"elastic": sp.Elastic(period=PERIOD)}
RUNS: Final = (("with room", "fixed 1", FIXED), ("with room", "ds2", ELASTIC), ("without", "ds2", ELASTIC))


def main() -> None:
    """Arguments: seconds without and seconds with the stressor; prints the results as JSON."""
    before_s, after_s = float(sys.argv[1]), float(sys.argv[2])
    log = Path(tempfile.mkdtemp(prefix="skypane-bench-")) / "spark.log"
    spark = sp.embedded_session("skypane-bench-stressed", cores=SLOTS, log_file=log)
    found: dict[str, Any] = {"cores": CORES, "slots": SLOTS, "runs": []}
    for load, name, how in RUNS:
        one = play(spark, LOADS[load] * CORES, how, before_s, after_s)
        found["runs"].append({"cores_needed": LOADS[load] * CORES, "degrees_by": name, **one})
        print(load, name, json.dumps(one), file=sys.stderr, flush=True)
    spark.stop()
    print(json.dumps(found))


def play(spark: Any, cores: float, how: dict[str, Any], before_s: float, after_s: float) -> dict[str, Any]:
    """One run: its warm-up, a quiet part, and one beside the stressor."""
    cost_s = cores / RECORDS_PER_S

    def burn(records: int) -> None:
        until = time.thread_time() + records * cost_s
        while time.thread_time() < until:
            sum(i * i for i in range(1_000))

    stream = {"arrivals": "poisson", "rate": RECORDS_PER_S, "max_records_per_batch": round(MAX_STEP_S / cost_s)}
    stressor = Stressor(before_s, after_s)
    try:
        steps = warm(run_query(function_query(spark, stream, burn, how), stressor.over, MAX_RUN_S))
    finally:
        stressor.end()
    return {
        "before": summary([step for step in steps if wall_s(step) < stressor.began_s]),
        "after": summary([step for step in steps if wall_s(step) >= stressor.began_s]),
        "stressor_share": stressor.share,
    }


class Stressor:
    """Another program, with as many processes as there are slots.

    It begins when the query has run for a while, by the time of the stream, and the run is over a while later; for each
    of both there are enough steps.
    """

    def __init__(self, before_s: float, after_s: float) -> None:
        self.began_s = float("inf")
        self.share: float | None = None
        """Of the machine, while it ran."""
        self._before_s = before_s
        self._after_s = after_s
        self._programs: list[multiprocessing.process.BaseProcess] = []

    def over(self, every: Sequence[StepMetrics]) -> bool:
        """Whether the run is, by the steps so far."""
        steps = warm(every)
        if self._programs:
            after = [step for step in steps if wall_s(step) >= self.began_s]
            return time.time() - self.began_s >= self._after_s and len(after) >= LEAST_STEPS
        if len(steps) >= LEAST_STEPS and covered_s(steps) >= self._before_s:
            self._begin()
        return False

    def end(self) -> None:
        """Whatever happened."""
        took_s = time.time() - self.began_s
        used_s = sum(psutil.Process(program.pid).cpu_times().user for program in self._programs)
        self.share = used_s / took_s / CORES if self._programs else None
        for program in self._programs:
            program.kill()
            program.join()

    def _begin(self) -> None:
        starting = multiprocessing.get_context("spawn")
        self._programs = [starting.Process(target=stress, daemon=True) for _ in range(SLOTS)]
        for program in self._programs:
            program.start()
        self.began_s = time.time()


def stress() -> None:
    """Use one core, until it is ended."""
    while True:
        sum(i * i for i in range(10_000))


if __name__ == "__main__":
    main()
