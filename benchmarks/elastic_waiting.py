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

import numpy as np

import skypane as sp
from benchmarks.elastic_runs import run_query, squeezed, summary

SLOTS: Final = 8
MEAN_SLOTS: Final = 2.0
"""What the stream needs on average; each record waits as long as it takes for that."""
RECORDS_PER_S: Final = 400.0
PERIOD: Final = "2.5 seconds"
WARM_UP_S: Final = 6.0


def main() -> None:
    """Arguments: seconds of each run, controllers with commas, then traces; prints the results as JSON."""
    seconds, controllers, traces = float(sys.argv[1]), sys.argv[2].split(","), [Path(name) for name in sys.argv[3:]]
    folder = Path(tempfile.mkdtemp(prefix="skypane-bench-"))
    spark = sp.embedded_session("skypane-bench-waiting", cores=SLOTS, log_file=folder / "spark.log")
    found: dict[str, Any] = {}
    for trace in traces:
        path, highest = squeezed(trace, folder, WARM_UP_S + seconds, RECORDS_PER_S)
        peak = min(SLOTS, math.ceil(highest * MEAN_SLOTS))
        ways: dict[str, dict[str, Any]] = {
            f"fixed {peak}": {"pane_degree": peak, "degree": peak},
            **{name: {"elastic": sp.Elastic(controller=name, period=PERIOD)} for name in controllers},
        }
        runs: dict[str, Any] = {}
        found[trace.stem.removeprefix("arrivals-")] = {"runs": runs, "peak": peak}
        for name, how in ways.items():
            runs[name] = play(spark, path, seconds, how)
            print(trace.stem, name, json.dumps(runs[name]), file=sys.stderr, flush=True)
    spark.stop()
    print(json.dumps(found))


def play(spark: Any, trace: Path, seconds: float, how: dict[str, Any]) -> dict[str, Any]:
    """One run over the trace."""
    options: dict[str, Any] = {"arrivals": "trace", "trace": str(trace), "paced": "true", "attributes": 1, "keys": 64}
    df = spark.readStream.format("skypane-traffic").options(**options, partitions=1, seed=5, disorder="none").load()

    def wait(rows: dict[str, np.ndarray[Any, Any]]) -> dict[str, int]:
        time.sleep(len(rows["id"]) * MEAN_SLOTS / RECORDS_PER_S)
        return {"n": len(rows["id"])}

    asked = sp.stream(df, time="ts", key="key").window("500 milliseconds").apply(wait, "n long")
    steps = run_query(asked.parallel(inline_rows=0, **how), WARM_UP_S + seconds)
    return summary(steps, WARM_UP_S)


if __name__ == "__main__":
    main()
