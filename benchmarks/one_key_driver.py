"""A driver process for the benchmark of one key: medians of windows, on so many executors; prints what it measured."""

from __future__ import annotations

import json
import sys
import tempfile

import skypane as sp
from benchmarks.cluster import medians_of, session_on
from benchmarks.medians import SCHEMA, medians
from benchmarks.source import bench_stream

SECONDS = 5
"""Of the stream in each batch: so many windows end in each step."""
WARM_UP = 4
NAMES = ("window_ms", "total_ms", "window_tasks", "windows", "replication", "state_rows")


def main() -> None:
    master, executors, rate, steps, partitioning = sys.argv[1:]
    spark = session_on(master, int(executors))
    df = bench_stream(spark, rate=float(rate), attributes=3, batch=SECONDS * int(rate), partitions=int(executors))
    with tempfile.TemporaryDirectory(prefix="skypane-bench-") as folder:
        query = (
            sp.stream(df, time="ts")
            .window("10 seconds", slide="1 second")
            .apply(medians, SCHEMA)
            .parallel(degree=int(executors), tuning=sp.Tuning(partitioning=partitioning, inline_rows=0, cut_rows=0))
            .start(sink=sp.DiscardSink(), checkpoint=folder, trigger="0 seconds")
        )
        said = medians_of(query, WARM_UP, int(steps), NAMES)
    print(json.dumps(said), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
