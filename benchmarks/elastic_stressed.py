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
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import psutil

import skypane as sp
from benchmarks.elastic_runs import PERIOD, WARM_UP_S, function_query, run_query, summary, wall_s, warm
from skypane.spark.metrics import StepMetrics

CORES: Final = multiprocessing.cpu_count()
SLOTS: Final = 2 * CORES
RECORDS_PER_S: Final = 400.0
MOST_STEP_S: Final = 1.5
"""Admission: a step takes in at most what a core does in so long."""
LOADS: Final = {"with room": 0.275, "without": 0.8}
"""Shares of the machine that the stream needs: less than half of it, and more."""
FIXED: Final = {"pane_degree": 1, "degree": 1}
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
    cost_s, length_s = cores / RECORDS_PER_S, WARM_UP_S + before_s + after_s

    def burn(records: int) -> None:
        until = time.thread_time() + records * cost_s
        while time.thread_time() < until:
            sum(i * i for i in range(1_000))

    records = round(RECORDS_PER_S * length_s)
    limit = round(MOST_STEP_S / cost_s)
    stream = {"arrivals": "poisson", "rate": RECORDS_PER_S, "records": records, "max_records_per_batch": limit}
    stressor = Stressor(WARM_UP_S + before_s)
    # One that falls behind is not waited for: its lag says it.
    steps = run_query(function_query(spark, stream, burn, how), records, length_s + 2.0, stressor)
    quiet, taken = parted(warm(steps), stressor.began_s)
    return {"before": summary(quiet), "after": summary(taken), "stressor_share": stressor.share()}


def parted(steps: Sequence[StepMetrics], at_s: float) -> tuple[list[StepMetrics], list[StepMetrics]]:
    """Those that were over before, and the others."""
    return [one for one in steps if wall_s(one) < at_s], [one for one in steps if wall_s(one) >= at_s]


class Stressor:
    """Another program: as many processes as there are slots, after so many seconds."""

    def __init__(self, after_s: float) -> None:
        self.began_s = float("inf")
        self._after_s = after_s
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._begin)
        self._used_s = self._took_s = 0.0

    def share(self) -> float | None:
        """Of the machine, while it ran."""
        return self._used_s / self._took_s / CORES if self._took_s else None

    def __enter__(self) -> Stressor:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()

    def _begin(self) -> None:
        if self._over.wait(self._after_s):
            return
        starting = multiprocessing.get_context("spawn")
        programs = [starting.Process(target=stress, daemon=True) for _ in range(SLOTS)]
        for program in programs:
            program.start()
        self.began_s, began = time.time(), time.monotonic()
        self._over.wait()
        self._took_s = time.monotonic() - began
        self._used_s = sum(psutil.Process(program.pid).cpu_times().user for program in programs)
        for program in programs:
            program.kill()
            program.join()


def stress() -> None:
    """Use one core, until it is ended."""
    while True:
        sum(i * i for i in range(10_000))


if __name__ == "__main__":
    main()
