"""A driver process for the benchmark of one key: medians of windows, on so many executors; prints what it measured."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

import skypane as sp
from benchmarks.medians import Medians
from benchmarks.pipeline import wait_until
from benchmarks.source import bench_stream

ROOT = Path(__file__).parents[1]
SECONDS = 5
"""Of the stream in each batch: so many windows end in each step."""
WARM_UP = 4


def main() -> None:
    master, executors, rate, steps, partitioning = sys.argv[1:]
    spark = (
        SparkSession.builder.master(master)
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.cores.max", executors)
        .config("spark.executor.cores", "1")
        .config("spark.executorEnv.PYTHONPATH", str(ROOT))
        .config("spark.scheduler.minRegisteredResourcesRatio", "1.0")
        .config("spark.scheduler.maxRegisteredResourcesWaitingTime", "120s")
        .config("spark.locality.wait", "0s")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    df = bench_stream(spark, rate=float(rate), attributes=3, batch=SECONDS * int(rate), partitions=int(executors))
    with tempfile.TemporaryDirectory(prefix="skypane-bench-") as folder:
        query = (
            sp.stream(df, time="ts")
            .window("10 seconds", slide="1 second")
            .query(Medians())
            .parallel(degree=int(executors), partitioning=partitioning, inline_rows=0, cut_rows=0)
            .start(sink=sp.DiscardSink(), checkpoint=folder, trigger="0 seconds")
        )
        wait_until(lambda: len(query.metrics().recent) >= WARM_UP + int(steps) or not query.is_active)
        found = query.metrics().recent[WARM_UP : WARM_UP + int(steps)]
        query.stop()
    said: dict[str, object] = {
        name: statistics.median(getattr(step, name) for step in found)
        for name in ("window_ms", "total_ms", "window_tasks", "windows", "replication", "state_rows")
    }
    print(json.dumps(said), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
