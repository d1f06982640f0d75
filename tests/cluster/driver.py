"""A driver process for the cluster test: the same queries on whatever master it is told, results as Parquet."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import skypane as sp

SCHEMA = "n bigint, ts timestamp, city string, zone int, a double, b bigint"


def main() -> None:
    master, folder, jvm_options = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
    spark = (
        SparkSession.builder.master(master)
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.cores.max", "2")
        .config("spark.executor.cores", "1")
        .config("spark.executor.memory", "512m")
        .config("spark.executor.extraJavaOptions", jvm_options)
        # Both workers take part from the first task on.
        .config("spark.scheduler.minRegisteredResourcesRatio", "1.0")
        .config("spark.scheduler.maxRegisteredResourcesWaitingTime", "120s")
        .config("spark.locality.wait", "0s")
        .getOrCreate()
    )
    df = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 2).parquet(str(folder / "in"))
    query = (
        sp.stream(df, time="ts", key="zone")
        .window("1 second", slide="500 milliseconds")
        .top_delta(2, minimize="a", maximize="b")
        .parallel(degree=2, inline_rows=0)
        .start(
            checkpoint=folder / "checkpoint",
            sink=sp.ParquetSink(folder / "results"),
            late=sp.ParquetSink(folder / "late"),
            quarantine=sp.ParquetSink(folder / "quarantine"),
            available_now=True,
            flush=True,
        )
    )
    query.await_termination()
    table = spark.read.schema(SCHEMA).parquet(str(folder / "in")).where("a is not null and not isnan(a)")
    best = sp.skyline(table.where("b is not null"), minimize="a", maximize="b", by="zone")
    metrics = query.metrics()
    said = {
        "executors": len(spark.sparkContext._jsc.sc().statusTracker().getExecutorInfos()) - 1,
        "ledger": metrics.ledger.to_json(),
        "windows": metrics.windows,
        "window_tasks": max(step.window_tasks for step in metrics.recent),
        "inline": any(step.window_inline for step in metrics.recent if step.window_tasks),
        "best": sorted(row.n for row in best.select("n").collect()),
    }
    print(json.dumps(said), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
