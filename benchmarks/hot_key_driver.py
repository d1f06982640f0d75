"""A driver process for the benchmark of one hot key: a live skyline, on so many executors; prints what it measured."""

from __future__ import annotations

import json
import sys
import tempfile

import skypane as sp
from benchmarks.cluster import medians_of, session_on
from benchmarks.source import bench_stream

ATTRIBUTES = 8
LIFE_S = 10
NAMES = ("window_ms", "total_ms", "join_tasks", "state_rows", "partial_rows")


def main() -> None:
    master, executors, rate, steps, ownership = sys.argv[1:]
    spark, tasks = session_on(master, int(executors)), int(executors)
    df = bench_stream(
        spark, rate=float(rate), attributes=ATTRIBUTES, batch=int(rate), partitions=min(2, tasks), points=1
    )
    with tempfile.TemporaryDirectory(prefix="skypane-bench-") as folder:
        query = (
            sp.stream(df, time="ts")
            .live(f"{LIFE_S} seconds")
            .skyline(minimize=[f"a{i}" for i in range(ATTRIBUTES)])
            .parallel(degree=tasks, tuning=sp.Tuning(ownership=ownership, cut_rows=0))  # also where it does not pay
            .emit("updates")
            .start(sink=sp.DiscardSink(), checkpoint=folder, trigger="0 seconds")
        )
        said = medians_of(query, LIFE_S + 2, int(steps), NAMES)
    growing = [[step.state_rows, step.window_ms] for step in query.metrics().recent[: LIFE_S + 2]]
    print(json.dumps({**said, "growing": growing}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
