"""Windows: aggregates over windows of ten minutes every minute for many keys, against Spark's own ``F.window``."""

from __future__ import annotations

import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from rich.table import Table

import skypane as sp

RECORDS, KEYS = 200_000, 100_000
WINDOW, SLIDE, DELAY = "10 minutes", "1 minute", "5 seconds"
START_US, MINUTE_US = 1_700_000_000_000_000, 60_000_000
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def run(spark: SparkSession, quick: bool) -> dict[str, Any]:
    """Seconds for 200,000 records of 100,000 keys, both from the same files to Parquet; the answers must be equal."""
    # All panes of a window must be there before a batch is measured.
    batches, minutes, warm = (4, 4, 2) if quick else (14, 1, 11)
    folder = Path(tempfile.mkdtemp(prefix="skypane-bench-"))
    try:
        write_records(folder / "in", batches, minutes)
        # Of two rounds the second counts: in the first the JVM still compiles what all use, and the first one pays.
        for place in (folder / "first", folder / "second"):
            ours, theirs, no_op = (
                run_to_the_end(lambda: start(records(spark, folder / "in"), place), spark, batches)[warm:]  # noqa: B023
                for start in (skypane_query, spark_query, no_op_query)
            )
            windows = compare(place / "ours", place / "theirs")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {
        "records_per_batch": RECORDS,
        "keys": KEYS,
        "minutes_per_batch": minutes,
        "windows_compared": windows,
        "seconds": statistics.median(ours),
        "spark_seconds": statistics.median(theirs),
        "no_op_seconds": statistics.median(no_op),
        "all_seconds": {"skypane": ours, "spark": theirs, "no-op": no_op},
        "times_faster": statistics.median(theirs) / statistics.median(ours),
    }


def write_records(folder: Path, batches: int, minutes: int) -> None:
    """Two files a batch, so that Spark can read them in two tasks: so many minutes of records of random keys, a few
    seconds out of order.
    """
    folder.mkdir()
    rng, span_us = np.random.default_rng(5), minutes * MINUTE_US
    for batch in range(batches):
        happened = START_US + batch * span_us + np.sort(rng.integers(0, span_us, RECORDS))
        columns = {
            "ts": pa.array(
                happened[np.argsort(happened + rng.integers(0, 4_000_000, RECORDS))], pa.timestamp("us", "UTC")
            ),
            "key": rng.integers(0, KEYS, RECORDS),
            "price": rng.random(RECORDS),
        }
        for half in range(2):
            pq.write_table(
                pa.table(columns).slice(half * RECORDS // 2, RECORDS // 2), folder / f"{batch:03d}-{half}.parquet"
            )


def records(spark: SparkSession, folder: Path) -> DataFrame:
    """The files as a stream, two a batch."""
    reader = spark.readStream.schema("ts timestamp, key bigint, price double").option("maxFilesPerTrigger", 2)
    return reader.parquet(str(folder))


def skypane_query(df: DataFrame, folder: Path) -> Any:
    """Ours."""
    asked = sp.stream(df, time="ts", key="key").window(WINDOW, slide=SLIDE).aggregate(n="count", hi="max(price)")
    return asked.lateness(sp.FixedDelay(DELAY)).start(
        checkpoint=folder / "checkpoint-ours", sink=sp.ParquetSink(folder / "ours"), available_now=True
    )


def spark_query(df: DataFrame, folder: Path) -> Any:
    """Spark's own: the same windows, the same patience, to Parquet exactly once."""
    # State in RocksDB, which Spark's guide recommends for many keys.
    df.sparkSession.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
    windowed = df.withWatermark("ts", DELAY).groupBy("key", F.window("ts", WINDOW, SLIDE))
    writer = windowed.agg(F.count("*").alias("n"), F.max("price").alias("hi")).writeStream.format("parquet")
    options = {"path": str(folder / "theirs"), "checkpointLocation": str(folder / "checkpoint-theirs")}
    return writer.options(**options).outputMode("append").trigger(availableNow=True).start()


def no_op_query(df: DataFrame, folder: Path) -> Any:
    """The limit: what Spark takes to bring the records to Python, which counts them."""

    def count(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pydict({"n": [sum(batch.num_rows for batch in rows)]})

    def step(batch: DataFrame, _: int) -> None:
        batch.mapInArrow(count, "n long").collect()

    writer = df.writeStream.foreachBatch(step).option("checkpointLocation", str(folder / "checkpoint-no-op"))
    return writer.trigger(availableNow=True).start()


def run_to_the_end(start: Callable[[], Any], spark: SparkSession, batches: int) -> list[float]:
    """Seconds of each batch, by Spark's own count of a trigger's time."""
    started = start()
    (query,) = spark.streams.active
    query.awaitTermination()
    if isinstance(started, sp.RunningQuery):
        started.await_termination()  # it closes windows after Spark's query has ended
    progress = [one for one in query.recentProgress if "addBatch" in one["durationMs"]][:batches]
    if len(progress) != batches:
        raise RuntimeError(f"{len(progress)} batches of {batches}")
    return [one["durationMs"]["triggerExecution"] / 1e3 for one in progress]


def compare(ours: Path, theirs: Path) -> int:
    """How many windows both have answered; an error if an answer differs."""
    mine, its = answers(ours), answers(theirs)
    both = np.intersect1d(np.unique(mine["start"].to_numpy()), np.unique(its["start"].to_numpy()))
    first, second = (of_windows(table, both) for table in (mine, its))
    if not len(both) or not first.equals(second):
        raise RuntimeError("the answers are not equal")
    return len(both)


def answers(folder: Path) -> pa.Table:
    """The rows of a sink: key, start of the window, count and maximum."""
    table = pads.dataset(folder, format="parquet", exclude_invalid_files=True, ignore_prefixes=["_", "."]).to_table()
    # Spark writes times of nanoseconds.
    start = pc.struct_field(table["window"], "start").cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    return pa.table({"key": table["key"], "start": start, "n": table["n"], "hi": table["hi"]})


def of_windows(table: pa.Table, starts: np.ndarray[Any, Any]) -> pa.Table:
    """The rows of some windows, in one order."""
    chosen = table.filter(pc.is_in(table["start"], pa.array(starts)))
    return chosen.sort_by([("start", "ascending"), ("key", "ascending")]).combine_chunks()


def tables(found: dict[str, Any]) -> list[Table]:
    """Both side by side."""
    shown = Table(
        title=f"Windows of {WINDOW} every {SLIDE}, {found['keys']:,} keys, count and max: seconds for "
        f"{found['records_per_batch']:,} records ({found['windows_compared']} windows compared, all equal)",
        title_justify="left",
    )
    for column in ("skypane", "F.window with RocksDB", "ratio", "no-op mapInArrow limit"):
        shown.add_column(column, justify="right")
    seconds = (f"{found[name]:.2f} s" for name in ("seconds", "spark_seconds", "no_op_seconds"))
    ours, spark, no_op = seconds
    shown.add_row(ours, spark, f"{found['times_faster']:.1f} x", no_op)
    return [shown]
