"""Rows: windows of 1,000 records every 100, by key, against plain PySpark that keeps the records of a key as state."""

from __future__ import annotations

import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from rich.table import Table

import skypane as sp
from benchmarks.pipeline import numpy_skyline, stop_between_batches, wait_until
from benchmarks.source import bench_stream

SIZE, SLIDE = 1_000, 100
ATTRIBUTES = 4
NAMES = [f"a{i}" for i in range(ATTRIBUTES)]
Values = np.ndarray[Any, Any]
Answers = dict[tuple[int, int], list[tuple[float, ...]]]
"""(key, first rank) -> rows."""


class Question(NamedTuple):
    """The same question twice."""

    ask: Callable[[Any], Any]
    """Of our windows."""
    plain: Callable[[Values], list[tuple[float, ...]]]
    """Of the values of one window."""
    columns: tuple[str, ...]


QUESTIONS = {
    "count, mean, max": Question(
        lambda windows: windows.aggregate(c0="count", c1="mean(a0)", c2="max(a1)"),
        lambda values: [(float(len(values)), float(values[:, 0].mean()), float(values[:, 1].max()))],
        ("c0", "c1", "c2"),
    ),
    f"skyline of {ATTRIBUTES} attributes": Question(
        lambda windows: windows.skyline(minimize=NAMES),
        lambda values: [tuple(row) for row in values[numpy_skyline(values)].tolist()],
        tuple(NAMES),
    ),
}


def run(spark: SparkSession, quick: bool) -> dict[str, Any]:
    """Records per second of both, once their answers have been compared."""
    batches, batch = (5, 50_000) if quick else (12, 100_000)
    found: dict[str, Any] = {"batch": batch, "questions": []}
    for name, question in QUESTIONS.items():
        for keys in (batch // 500, batch // 100) if not quick else (batch // 500,):
            compared = compare(spark, question, keys, batch)
            ours, plain = (
                our_seconds(spark, question, keys, batch, batches),
                plain_seconds(spark, question, keys, batch, batches),
            )
            found["questions"].append(
                {
                    "question": name,
                    "keys": keys,
                    "windows_compared": compared,
                    "records_per_s": batch / ours,
                    "plain_records_per_s": batch / plain,
                    "times_faster": plain / ours,
                }
            )
    return found


def stream(spark: SparkSession, keys: int, batch: int) -> DataFrame:
    """In the order of time: the plain program does not wait for late records."""
    df = bench_stream(spark, rate=1e5, attributes=ATTRIBUTES, batch=batch, delay_ms=0, partitions=2)
    keyed: DataFrame = df.withColumn("key", F.pmod(F.xxhash64("a0", "ts"), F.lit(keys)).cast("int"))
    return keyed


def start_ours(df: DataFrame, question: Question, folder: Path, sink: Any) -> sp.RunningQuery:
    windows = sp.stream(df, time="ts", key="key").window_rows(SIZE, slide=SLIDE)
    query: sp.RunningQuery = (
        question.ask(windows)
        .lateness(sp.FixedDelay("0 seconds"))
        .start(checkpoint=folder / "checkpoint", sink=sink, trigger="0 seconds")
    )
    return query


def start_plain(df: DataFrame, question: Question, folder: Path, sink: Callable[[DataFrame, int], None]) -> Any:
    """The last records of each key as state, and a function that is given those that are new."""

    def windows(key: tuple[int], frames: Iterator[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
        new = pd.concat(list(frames)).sort_values("ts")
        first, values = 0, new[NAMES].to_numpy()
        if state.exists:
            first, kept = state.get
            values = np.concatenate([np.frombuffer(kept).reshape(-1, ATTRIBUTES), values])
        rows = []
        while len(values) >= SIZE:
            rows += [(key[0], first, *row) for row in question.plain(values[:SIZE])]
            first, values = first + SLIDE, values[SLIDE:]
        state.update((first, np.ascontiguousarray(values).tobytes()))  # Spark 4.3 cannot keep arrays here
        yield pd.DataFrame(rows, columns=["key", "first", *question.columns])

    answers = df.groupBy("key").applyInPandasWithState(
        windows,
        "key int, first long, " + ", ".join(f"{name} double" for name in question.columns),
        "first long, kept binary",
        "append",
        "NoTimeout",
    )
    writer = answers.writeStream.foreachBatch(sink).outputMode("append")
    return writer.option("checkpointLocation", str(folder / "plain")).trigger(processingTime="0 seconds").start()


def compare(spark: SparkSession, question: Question, keys: int, batch: int) -> int:
    """How many windows both have answered, all of them alike."""
    ours, plain = (answers_of(spark, question, keys, batch, start) for start in (start_ours, start_plain))
    both = ours.keys() & plain.keys()
    wrong = [at for at in both if sorted(ours[at]) != sorted(plain[at])]
    if len(both) < keys or wrong:
        raise RuntimeError(f"{len(both)} windows are in both, of which {len(wrong)} have other answers: {wrong[:3]}")
    return len(both)


def answers_of(spark: SparkSession, question: Question, keys: int, batch: int, start: Callable[..., Any]) -> Answers:
    """The answers of the first steps."""
    folder, needed = Path(tempfile.mkdtemp(prefix="skypane-bench-")), SIZE * keys // batch + 3
    found: Answers = {}
    steps: list[int] = []

    def collect(df: DataFrame, number: int) -> None:
        first = "first" if "first" in df.columns else "window.first"
        for row in df.select("key", first, *question.columns).collect():
            found.setdefault((row[0], row[1]), []).append(tuple(round(float(value), 6) for value in row[2:]))
        steps.append(number)

    query = start(stream(spark, keys, batch), question, folder, collect)
    wait_until(lambda: len(steps) >= needed or not _active(query))
    _stop(query)
    shutil.rmtree(folder, ignore_errors=True)
    return found


def our_seconds(spark: SparkSession, question: Question, keys: int, batch: int, batches: int) -> float:
    """A trigger's time once windows fire."""
    folder, warm = Path(tempfile.mkdtemp(prefix="skypane-bench-")), SIZE * keys // batch + 1
    query = start_ours(stream(spark, keys, batch), question, folder, sp.DiscardSink())
    wait_until(lambda: query.metrics().steps > warm + batches or not query.is_active)
    _stop(query)
    steps = [step.committed_at for step in query.metrics().recent]
    shutil.rmtree(folder, ignore_errors=True)
    return float(statistics.median(np.diff(steps)[-batches:]))


def plain_seconds(spark: SparkSession, question: Question, keys: int, batch: int, batches: int) -> float:
    """The same of the plain program; as many tasks as cores, or it would take longer."""
    before = spark.conf.get("spark.sql.shuffle.partitions", "200")
    assert before is not None
    spark.conf.set("spark.sql.shuffle.partitions", spark.sparkContext.defaultParallelism)
    folder, warm = Path(tempfile.mkdtemp(prefix="skypane-bench-")), SIZE * keys // batch + 1
    sink = lambda df, _: df.write.format("noop").mode("overwrite").save()  # noqa: E731
    query = start_plain(stream(spark, keys, batch), question, folder, sink)
    wait_until(lambda: len(query.recentProgress) > warm + batches or not query.isActive)
    _stop(query)
    spark.conf.set("spark.sql.shuffle.partitions", before)
    shutil.rmtree(folder, ignore_errors=True)
    times: list[int] = [progress["durationMs"]["triggerExecution"] for progress in query.recentProgress[warm:]]
    return float(statistics.median(times[:batches])) / 1e3


def _active(query: Any) -> bool:
    active: bool = query.is_active if hasattr(query, "is_active") else query.isActive
    return active


def _stop(query: Any) -> None:
    if hasattr(query, "is_active"):
        query.stop()
    else:
        stop_between_batches(query)
    failure = query.exception()
    if failure is not None:
        raise RuntimeError("the benchmark query failed") from failure


def tables(found: dict[str, Any]) -> list[Table]:
    """Both side by side."""
    shown = Table(
        title=f"Windows of {SIZE:,} records every {SLIDE} by key, {found['batch']:,} records at a time; records per "
        "second",
        title_justify="left",
    )
    for column in ("question", "keys", "windows compared", "skypane", "plain PySpark", "ratio"):
        shown.add_column(column, justify="left" if column == "question" else "right")
    for row in found["questions"]:
        rates = (f"{row[name]:,.0f}" for name in ("records_per_s", "plain_records_per_s"))
        shown.add_row(
            row["question"], f"{row['keys']:,}", f"{row['windows_compared']:,}", *rates, f"{row['times_faster']:.1f} x"
        )
    return [shown]
