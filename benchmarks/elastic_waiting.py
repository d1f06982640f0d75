"""Elastic degrees with work that waits: eight slots, and a function that waits for a while with each record.

A process of its own, since slots belong to the session. Work that waits, as calls of a service do, needs slots and no
cores, so that it shows on a small machine what degrees do with many slots, whatever else the machine does.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import skypane as sp
from benchmarks.elastic_runs import (
    PERIOD,
    WARM_UP_S,
    all_of,
    fixed_degree,
    function_query,
    run_query,
    squeezed,
    summary,
    warm,
)

SLOTS: Final = 8
MEAN_SLOTS: Final = 2.0
"""What the stream needs on average; each record waits as long as it takes for that."""
RECORDS_PER_S: Final = 400.0
MAX_STEP_S: Final = 6.0
"""Admission: a step takes in at most what one slot does in so long."""


def main() -> None:
    """Arguments: seconds of each run, controllers with commas, then traces; prints the results as JSON."""
    seconds, controllers, traces = float(sys.argv[1]), sys.argv[2].split(","), [Path(name) for name in sys.argv[3:]]
    folder = Path(tempfile.mkdtemp(prefix="skypane-bench-"))
    spark = sp.embedded_session("skypane-bench-waiting", cores=SLOTS, log_file=folder / "spark.log")
    found: dict[str, Any] = {}
    for trace in traces:
        stream, highest = squeezed(trace, folder, WARM_UP_S + seconds, RECORDS_PER_S)
        stream["max_records_per_batch"] = round(MAX_STEP_S * RECORDS_PER_S / MEAN_SLOTS)
        peak = min(SLOTS, math.ceil(highest * MEAN_SLOTS))
        ways: dict[str, dict[str, Any]] = {
            f"fixed {peak}": fixed_degree(peak),
            **{name: {"elastic": sp.Elastic(controller=name, period=PERIOD)} for name in controllers},
        }
        runs: dict[str, Any] = {}
        found[trace.stem.removeprefix("arrivals-")] = {"runs": runs, "peak": peak}
        for name, how in ways.items():
            query = function_query(spark, stream, wait, how)
            steps = run_query(query, all_of(stream["records"]), 4 * (WARM_UP_S + seconds))
            runs[name] = summary(warm(steps))
            print(trace.stem, name, json.dumps(runs[name]), file=sys.stderr, flush=True)
    spark.stop()
    print(json.dumps(found))


def wait(records: int) -> None:
    """As a call of a service for each of them would."""
    time.sleep(records * MEAN_SLOTS / RECORDS_PER_S)


if __name__ == "__main__":
    main()
