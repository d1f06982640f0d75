"""The pipeline: throughput against the no-op limit, time per trigger, and the plain PySpark solution."""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from rich.table import Table

import skypane as sp
from benchmarks.peers.programs.plain import numpy_skyline
from benchmarks.scenarios import SCENARIOS
from benchmarks.source import bench_stream
from skypane import kernels


def run(spark: SparkSession, quick: bool) -> dict[str, Any]:
    """Throughput and trigger times, each beside what it is measured against."""
    batches = 6 if quick else 12
    found: dict[str, Any] = {"scenarios": {}}
    for name, (attributes, slide, rate, how) in SCENARIOS.items():
        measured = throughput(spark, attributes, slide, rate, int(rate), batches, **how)
        measured["no_op_records_per_s"] = no_op_limit(spark, attributes, int(rate), batches)
        measured["share_of_no_op"] = measured["records_per_s"] / measured["no_op_records_per_s"]
        found["scenarios"][name] = measured
    recompute = {"parallel": {"tuning": sp.Tuning(sliding="recompute")}}
    found["recompute"] = throughput(spark, 8, "200 milliseconds", 250_000, 125_000, batches, **recompute)
    for slide in ("200 milliseconds",) if quick else ("200 milliseconds", "10 milliseconds"):
        # Each at its best: ours takes three seconds of the stream at a time, the plain solution one.
        ours = throughput(spark, 8, slide, 50_000, 150_000, batches, sink=sp.DiscardSink())
        for peer, own_kernel in (("plain PySpark with NumPy", False), ("plain PySpark given our kernel", True)):
            plain = plain_pyspark(spark, 8, slide, 50_000, 50_000, own_kernel=own_kernel)
            found[f"{peer}, slide {slide}"] = {
                "plain_records_per_s": plain["records_per_s"],
                "records_per_s": ours["records_per_s"],
                "times_faster": ours["records_per_s"] / plain["records_per_s"],
            }
    found["trigger"] = trigger_times(spark, 3 * batches)
    return found


def no_op_limit(spark: SparkSession, attributes: int, batch: int, batches: int) -> float:
    """Records per second through a mapInArrow that only counts: what Spark and the source allow at most."""

    def count(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pydict({"n": [sum(b.num_rows for b in rows)]})

    df = bench_stream(spark, rate=1e6, attributes=attributes, batch=batch)
    times = run_batches(df, lambda frame, _: frame.mapInArrow(count, "n long").collect(), batches)
    return batch / statistics.median(times)


def run_batches(df: DataFrame, work: Callable[[DataFrame, int], object], batches: int) -> list[float]:
    """Seconds from batch to batch, the first few left out."""
    marks: list[float] = []

    def each(frame: DataFrame, batch_id: int) -> None:
        work(frame, batch_id)
        marks.append(time.perf_counter())

    folder = tempfile.mkdtemp(prefix="skypane-bench-")
    query = (
        df.writeStream.foreachBatch(each)
        .option("checkpointLocation", folder)
        .trigger(processingTime="0 seconds")
        .start()
    )
    wait_until(lambda: len(marks) > batches or not query.isActive)
    stop_between_batches(query)
    shutil.rmtree(folder, ignore_errors=True)
    return [float(gap) for gap in np.diff(marks[: batches + 1])[1:]]


def stop_between_batches(query: Any) -> None:
    """Let the batch under way end first: Spark is noisy when it is interrupted."""
    deadline = time.monotonic() + 20
    while query.isActive and query.status["isTriggerActive"] and time.monotonic() < deadline:
        time.sleep(0.01)
    query.stop()


def wait_until(done: Callable[[], bool], timeout_s: float = 300) -> None:
    deadline = time.monotonic() + timeout_s
    while not done() and time.monotonic() < deadline:
        time.sleep(0.02)


def skyline_query(
    df: DataFrame,
    attributes: int,
    slide: str,
    folder: Path,
    *,
    key: str | None = None,
    parallel: Mapping[str, Any] | None = None,
    emit: str = "full",
    **how: Any,
) -> sp.RunningQuery:
    return (
        sp.stream(df, time="ts", key=key)
        .window("1 second", slide=slide)
        .skyline(minimize=[f"a{i}" for i in range(attributes)])
        .parallel(**parallel or {})
        .emit(emit)
        .start(
            checkpoint=folder / "checkpoint",
            **{"sink": sp.ParquetSink(folder / "out"), "trigger": "0 seconds", **how},
        )
    )


def throughput(
    spark: SparkSession, attributes: int, slide: str, rate: float, batch: int, batches: int, **how: Any
) -> dict[str, float]:
    """Records per second of the whole pipeline, exactly-once checkpoints on, as fast as it takes batches."""
    df = bench_stream(spark, rate=rate, attributes=attributes, batch=batch)
    folder = Path(tempfile.mkdtemp(prefix="skypane-bench-"))
    query = skyline_query(df, attributes, slide, folder, **how)
    wait_until(lambda: query.metrics().steps > batches or not query.is_active)
    spark_parts = _spark_parts(spark)
    query.stop()
    if query.exception() is not None:
        raise RuntimeError("the benchmark query failed") from query.exception()
    steps = query.metrics().recent[2 : batches + 1]
    gaps = np.diff([step.committed_at for step in steps])
    shutil.rmtree(folder, ignore_errors=True)
    parts = {
        name: statistics.median(getattr(s, name) for s in steps)
        for name in ("pane_ms", "window_ms", "sink_ms", "commit_ms")
    }
    return {
        "records_per_s": batch / float(np.median(gaps)),
        "trigger_ms": float(np.median(gaps)) * 1e3,
        "partial_rows": statistics.median(s.partial_rows for s in steps),
        "state_rows": statistics.median(s.state_rows for s in steps),
        "rows_emitted": statistics.median(s.rows_emitted for s in steps),
        **parts,
        **spark_parts,
    }


SPARK_PARTS = {
    "spark_offsets_ms": ("latestOffset", "getBatch"),
    "spark_plan_ms": ("queryPlanning",),
    "spark_log_ms": ("walCommit", "commitOffsets", "commitBatch"),
    "add_batch_ms": ("addBatch",),
}
"""Where Spark says that a trigger's time went, by the names of its progress reports; ours is inside ``addBatch``."""


def _spark_parts(spark: SparkSession) -> dict[str, float]:
    """Medians over the triggers of the one query that runs."""
    durations = [progress["durationMs"] for query in spark.streams.active for progress in query.recentProgress[2:]]
    return {
        part: statistics.median(sum(found.get(name, 0) for name in names) for found in durations)
        for part, names in SPARK_PARTS.items()
        if durations
    }


def plain_pyspark(
    spark: SparkSession, attributes: int, slide: str, rate: float, records: int, *, own_kernel: bool
) -> dict[str, float]:
    """The obvious solution of the same query on one table: F.window, then a grouped Arrow function.

    With ``own_kernel`` the function is given our skyline kernel, so that what is compared is the plan; without, it has
    what a good NumPy programmer writes.
    """
    names = [f"a{i}" for i in range(attributes)]
    skyline = kernels.skyline if own_kernel else numpy_skyline

    def best(rows: pa.Table) -> pa.Table:
        values = np.column_stack([rows.column(name).to_numpy() for name in names])
        return rows.take(pa.array(skyline(values)))

    reader = bench_stream(spark, rate=rate, attributes=attributes, batch=records)
    seconds: list[float] = []

    def once(frame: DataFrame, _: int) -> None:
        frame = frame.cache()
        frame.count()
        started = time.perf_counter()
        windowed = frame.withColumn("window", F.window("ts", "1 second", slide))
        schema = windowed.schema
        answers = windowed.groupBy("window").applyInArrow(best, schema)
        answers.write.format("noop").mode("overwrite").save()
        seconds.append(time.perf_counter() - started)
        frame.unpersist()

    run_batches(reader, once, 2 if own_kernel else 1)
    return {"records_per_s": records / min(seconds), "records": records}


def little_stream(spark: SparkSession) -> DataFrame:
    """A few records in each batch, made by Spark itself: a source whose own cost hides nothing."""
    reader = spark.readStream.format("rate-micro-batch").option("numPartitions", 1)
    df = reader.option("rowsPerBatch", 200).option("advanceMillisPerBatch", 200).load()
    attributes = {f"a{i}": F.pmod(F.hash("value", F.lit(i)), F.lit(1000)).cast("double") for i in range(8)}
    return df.withColumnRenamed("timestamp", "ts").withColumns(attributes).drop("value")


def trigger_times(spark: SparkSession, batches: int) -> dict[str, float]:
    """A trigger with little data, beside the least that a trigger costs and one with a single small job."""
    empty = run_batches(little_stream(spark), lambda *_: None, batches)
    small = run_batches(little_stream(spark), lambda frame, _: frame.collect(), batches)
    folder = Path(tempfile.mkdtemp(prefix="skypane-bench-"))
    query = skyline_query(little_stream(spark), 8, "200 milliseconds", folder)
    wait_until(lambda: query.metrics().steps > batches or not query.is_active)
    query.stop()
    if query.exception() is not None:
        raise RuntimeError("the benchmark query failed") from query.exception()
    steps = query.metrics().recent[2 : batches + 1]
    shutil.rmtree(folder, ignore_errors=True)
    return {
        "empty_foreach_batch_ms": statistics.median(empty) * 1e3,
        "one_small_job_ms": statistics.median(small) * 1e3,
        "little_data_ms": float(np.median(np.diff([step.committed_at for step in steps]))) * 1e3,
        **{
            f"little_{part}": statistics.median(getattr(s, part) for s in steps)
            for part in ("pane_ms", "window_ms", "sink_ms", "commit_ms")
        },
    }


def tables(found: dict[str, Any]) -> list[Table]:
    """What was measured against what, and where a trigger's time goes."""
    return [_ratios(found), _milliseconds(found)]


def _milliseconds(found: dict[str, Any]) -> Table:
    """The parts of a trigger, Spark's and ours."""
    table = Table(title="Where the milliseconds of a trigger go (medians)", title_justify="left")
    parts = {
        "trigger_ms": "trigger",
        "spark_offsets_ms": "Spark: offsets",
        "spark_plan_ms": "planning",
        "spark_log_ms": "logs",
        "pane_ms": "pane job",
        "window_ms": "window stage",
        "sink_ms": "sink",
        "commit_ms": "commit",
        "rest": "rest of the batch",
    }
    table.add_column("what")
    for heading in parts.values():
        table.add_column(heading, justify="right")
    for name, m in found["scenarios"].items():
        rest = m["add_batch_ms"] - sum(m[part] for part in ("pane_ms", "window_ms", "sink_ms", "commit_ms"))
        table.add_row(name, *(f"{value:,.0f}" for part in parts for value in [m.get(part, rest)]))
    return table


def _ratios(found: dict[str, Any]) -> Table:
    """What was measured, and against what."""
    table = Table(title="Pipeline, 2 cores, exactly-once checkpoints, Parquet sink", title_justify="left")
    for column in ("what", "records/s", "against", "ratio", "trigger"):
        table.add_column(column, justify="left" if column in {"what", "against"} else "right")
    for name, m in found["scenarios"].items():
        table.add_row(
            name,
            f"{m['records_per_s']:,.0f}",
            "no-op mapInArrow limit",
            f"{m['share_of_no_op']:.0%}",
            f"{m['trigger_ms']:.0f} ms",
        )
    for name, m in found.items():
        if name.startswith("plain"):
            table.add_row(
                f"8 attributes, {name.split(', ')[1]}",
                f"{m['records_per_s']:,.0f}",
                name.split(", ")[0],
                f"{m['times_faster']:.1f} x",
            )
    trigger = found["trigger"]
    table.add_row(
        "little data",
        "",
        "empty foreachBatch",
        f"{trigger['little_data_ms'] / trigger['empty_foreach_batch_ms']:.2f} x",
        f"{trigger['little_data_ms']:.0f} ms",
    )
    return table
