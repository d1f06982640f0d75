"""Rows: windows of 1,000 records every 100, by key, against plain PySpark that keeps the records of a key as state."""

from __future__ import annotations

import shutil
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from rich.table import Table

import skypane as sp
from benchmarks.peers.programs.plain import numpy_skyline
from benchmarks.rows_peers import Peer, Plain
from benchmarks.windows import START_US, no_op_query, run_to_the_end

SIZE, SLIDE = 1_000, 100
LIMIT = "no-op limit"
KEYS = (200, 2_000, 10_000)
"""Plain PySpark takes milliseconds for a key, not for a record: what is gained depends on how many there are."""
ATTRIBUTES = 4
NAMES = [f"a{i}" for i in range(ATTRIBUTES)]
Answers = dict[tuple[int, int], list[tuple[float, ...]]]
"""(key, first rank) -> rows."""


class Question(NamedTuple):
    """The same question twice."""

    ask: Callable[[Any], Any]
    """Of our windows."""
    plain: Plain
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
    """Records per second of all three, once their answers have been compared; all from files to Parquet.

    The limit is what Spark takes to bring the records to Python, which counts them.
    """
    batches, batch = (4, 100_000) if quick else (6, 200_000)
    found: dict[str, Any] = {"batch": batch, "questions": []}
    # Not counted: the JVM compiles what all of them use, and whoever comes first would pay for it.
    _measure(spark, next(iter(QUESTIONS.values())), 100, batch, batches)
    for name, question in QUESTIONS.items():
        for keys in (1_000,) if quick else KEYS:
            found["questions"].append(
                {"question": name, "keys": keys, **_measure(spark, question, keys, batch, batches)}
            )
    return found


def _measure(spark: SparkSession, question: Question, keys: int, batch: int, batches: int) -> dict[str, Any]:
    folder = Path(tempfile.mkdtemp(prefix="skypane-bench-"))
    peer = Peer(SIZE, SLIDE, NAMES, question.plain, question.columns)
    programs: dict[str, Callable[[DataFrame, Path], Any]] = {
        "skypane": lambda df, to: _ours(df, question, to),
        "applyInPandasWithState": peer.with_state,
        "applyInArrow": peer.in_batches,
        LIMIT: no_op_query,
    }
    rates: dict[str, float] = {}
    answers: dict[str, Answers] = {}
    try:
        write_records(folder / "in", keys, batch, batches)
        for name, start in programs.items():
            to = folder / name
            times = run_to_the_end(lambda: start(records(spark, folder / "in"), to), spark, batches + 1)  # noqa: B023
            rates[name] = batch / statistics.median(times[3:])  # the first fills the windows; then it warms up
            if name == LIMIT:
                continue
            answers[name] = answers_of(to / "answers", question.columns)
            shutil.rmtree(to / "answers")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    compared = [compare(answers["skypane"], found, keys) for name, found in answers.items() if name != "skypane"]
    best = max(rate for name, rate in rates.items() if name not in {"skypane", LIMIT})
    return {
        "windows_compared": min(compared),
        "rates": rates,
        "times_faster": rates["skypane"] / best,
        "share_of_no_op": rates["skypane"] / rates[LIMIT],
    }


def write_records(folder: Path, keys: int, batch: int, batches: int) -> None:
    """One file a batch, in the order of time; the first has enough for a window of every key."""
    folder.mkdir()
    rng, first = np.random.default_rng(7), 0
    for number, size in enumerate([(SIZE + SLIDE) * keys, *[batch] * batches]):
        ts = pa.array(START_US + 10 * (first + np.arange(size)), pa.timestamp("us", "UTC"))
        key = pa.array(rng.integers(0, keys, size).astype(np.int32))
        pq.write_table(
            pa.table({"ts": ts, "key": key, **{name: rng.random(size) for name in NAMES}}),
            folder / f"{number:03d}.parquet",
            row_group_size=-(-size // 2),  # so that Spark can read it in two tasks
        )
        first += size


def records(spark: SparkSession, folder: Path) -> DataFrame:
    """The files as a stream, one a batch."""
    schema = "ts timestamp, key int, " + ", ".join(f"{name} double" for name in NAMES)
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))


def _ours(df: DataFrame, question: Question, folder: Path) -> Any:
    windows = sp.stream(df, time="ts", key="key").window_rows(SIZE, slide=SLIDE)
    return (
        question.ask(windows)
        .lateness(sp.FixedDelay("0 seconds"))
        .start(checkpoint=folder / "log", sink=sp.ParquetSink(folder / "answers"), available_now=True)
    )


def answers_of(folder: Path, columns: tuple[str, ...]) -> Answers:
    """The rows of a sink, by key and first rank."""
    table = pads.dataset(folder, format="parquet", exclude_invalid_files=True, ignore_prefixes=["_", "."]).to_table()
    first = table["first"] if "first" in table.column_names else pa.compute.struct_field(table["window"], "first")
    values = np.round(np.column_stack([table[name].to_numpy().astype(np.float64) for name in columns]), 6)
    found: Answers = {}
    for key, rank, row in zip(table["key"].to_pylist(), first.to_pylist(), values.tolist(), strict=True):
        found.setdefault((key, rank), []).append(tuple(row))
    return found


def compare(ours: Answers, plain: Answers, keys: int) -> int:
    """How many windows both have answered, all of them alike."""
    both = ours.keys() & plain.keys()
    wrong = [at for at in both if sorted(ours[at]) != sorted(plain[at])]
    if len(both) < keys or wrong:
        raise RuntimeError(f"{len(both)} windows are in both, of which {len(wrong)} have other answers: {wrong[:3]}")
    return len(both)


def tables(found: dict[str, Any]) -> list[Table]:
    """All side by side."""
    shown = Table(
        title=f"Windows of {SIZE:,} records every {SLIDE} by key, {found['batch']:,} records at a time, files to "
        "Parquet; records per second",
        title_justify="left",
    )
    names = list(found["questions"][0]["rates"])
    for column in ("question", "keys", "windows compared", *names, "ratio to the faster"):
        shown.add_column(column, justify="left" if column == "question" else "right")
    for row in found["questions"]:
        rates = (f"{row['rates'][name]:,.0f}" for name in names)
        shown.add_row(
            row["question"], f"{row['keys']:,}", f"{row['windows_compared']:,}", *rates, f"{row['times_faster']:.1f} x"
        )
    return [shown]
