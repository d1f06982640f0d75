"""What runs on Spark: ours, Spark's own windows, and the limit, a ``mapInArrow`` that only counts."""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from examples.yahoo.yahoo import counted, views
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import skypane as sp
from benchmarks.peers.jobs import SKYLINE, YAHOO, Job
from benchmarks.peers.programs.plain import NAMES, numpy_skyline
from benchmarks.windows import ROCKSDB, no_op_query, run_to_the_end

Start = Callable[[DataFrame, Path], Any]
WARM = 2
"""Batches of a run that are not counted."""
ROUNDS = 3


def rates_of(spark: SparkSession, job: Job, data: Path, out: Path, batches: int) -> dict[str, float]:
    """Records per second of each program, by the median of Spark's own count of the time of a trigger.

    They take turns, and the first round is not counted: for some batches the JVM still compiles what all of them use,
    and whoever runs first would pay for it. Answers are in ``out``, by name.
    """
    times: dict[str, list[float]] = {name: [] for name in PROGRAMS[job]}
    for number in range(ROUNDS):
        for name, start in PROGRAMS[job].items():
            shutil.rmtree(out / name, ignore_errors=True)
            found = run_to_the_end(lambda: start(records(spark, job, data), out / name), spark, batches)  # noqa: B023
            times[name] += found[WARM:] if number else []
    return {name: job.batch / statistics.median(found) for name, found in times.items()}


def records(spark: SparkSession, job: Job, data: Path) -> DataFrame:
    """The job's stream: of the Yahoo benchmark the views with their campaigns, the same for all on Spark."""
    if job is YAHOO:
        return views(spark, data)
    schema = "ts timestamp, number long, " + ", ".join(f"{name} double" for name in NAMES)
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(data / "events"))


def ours_yahoo(df: DataFrame, out: Path) -> Any:
    """The example's query."""
    return _started(counted(df), out)


def ours_skyline(df: DataFrame, out: Path) -> Any:
    """The public API, nothing tuned."""
    windows = sp.stream(df, time="ts").window("1 second", slide="200 milliseconds")
    return _started(windows.skyline(minimize=NAMES).lateness(sp.FixedDelay("0 seconds")), out)


def _started(query: Any, out: Path) -> Any:
    return query.start(checkpoint=out / "log", sink=sp.ParquetSink(out / "answers"), available_now=True)


def spark_yahoo(df: DataFrame, out: Path) -> Any:
    """``F.window``, counted by Spark itself."""
    windowed = df.withWatermark("ts", "0 seconds").groupBy("campaign", F.window("ts", "10 seconds"))
    return _written(windowed.agg(F.count("*").alias("views"), F.max("ts").alias("last")), out)


def spark_skyline(df: DataFrame, out: Path) -> Any:
    """``F.window`` gathers the columns of a window as state; NumPy takes the best when it is closed."""

    def best(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in range(batch.num_rows):
                column = {name: batch[name][row].values.to_numpy() for name in ("number", *NAMES)}
                number = column["number"][numpy_skyline(np.column_stack([column[name] for name in NAMES]))]
                window = batch["window"].take(pa.array([row] * len(number)))
                yield pa.RecordBatch.from_arrays([window, pa.array(number)], ["window", "number"])

    windowed = df.withWatermark("ts", "0 seconds").groupBy(F.window("ts", "1 second", "200 milliseconds"))
    gathered = windowed.agg(*(F.collect_list(name).alias(name) for name in ("number", *NAMES)))
    kind = "window struct<start timestamp, end timestamp>, number long"
    return _written(gathered.mapInArrow(best, kind), out)


def _written(answers: DataFrame, out: Path) -> Any:
    # State in RocksDB, which Spark's guide recommends; as many tasks as there are cores.
    conf = answers.sparkSession.conf
    conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
    writer = answers.writeStream.format("parquet").option("path", str(out / "answers"))
    return writer.option("checkpointLocation", str(out / "log")).trigger(availableNow=True).start()


PROGRAMS: dict[Job, dict[str, Start]] = {
    YAHOO: {"skypane": ours_yahoo, "Spark's F.window": spark_yahoo, "no-op limit": no_op_query},
    SKYLINE: {"skypane": ours_skyline, "Spark's F.window": spark_skyline, "no-op limit": no_op_query},
}
