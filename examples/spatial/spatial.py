"""Paper 3's spatial query, a skyline of the last second every 10 ms, in every pattern and nesting: same answers."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console
from rich.table import Table

import skypane as sp

START_US = 1_700_000_000_000_000
TREES = (
    "WS",
    "KF(2)",
    "WF(2)",
    "PF(1,2)",
    "PF(2,2) L2",
    "WMR(2,1)",
    "WMR(2,2) L2",
    "WF(PF(2,2) L2, 10) L1",
    "WF(WMR(2,1) L2, 2) L1",
    "KF(WF(2), 2)",
    "KF(PF(2,2) L2, 2)",
    "KF(WMR(2,2) L2, 2)",
)
"""Each pattern alone, the four nestings, and one more."""


class Run(NamedTuple):
    """One tree's."""

    seconds: float
    answers: pa.Table
    """Start of the window and number of the record, in order."""


def write_points(folder: Path, attributes: int, rate: float, seconds: float) -> None:
    """Uniform points at a steady rate, half a second of them a file."""
    folder.mkdir()
    rng, end = np.random.default_rng(3), round(rate * seconds)
    size = max(1, round(rate / 2))
    for first in range(0, end, size):
        number = np.arange(first, min(first + size, end))
        ts = pa.array(START_US + (number * 1e6 / rate).astype(np.int64), pa.timestamp("us", "UTC"))
        values = {f"a{i}": rng.random(len(number)) for i in range(attributes)}
        # Two row groups, so that Spark can read a file in two tasks.
        pq.write_table(
            pa.table({"ts": ts, "number": number, **values}),
            folder / f"{first // size:03d}.parquet",
            row_group_size=-(-len(number) // 2),
        )


def points(spark: SparkSession, folder: Path, attributes: int) -> DataFrame:
    """The files as a stream, one a batch."""
    schema = "ts timestamp, number long, " + ", ".join(f"a{i} double" for i in range(attributes))
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))


def best_points(stream: DataFrame, attributes: int) -> sp.ContinuousQuery:
    """Windows of one second every 10 ms: points that no other one is below in all attributes."""
    windows = sp.stream(stream, time="ts").window("1 second", slide="10 milliseconds")
    skyline = windows.skyline(minimize=[f"a{i}" for i in range(attributes)])
    return skyline.lateness(sp.FixedDelay("0 seconds"))


def run(query: sp.ContinuousQuery, tree: str | None, folder: Path) -> Run:
    """In one tree, or as the planner says, to the end of the stream."""
    began = time.perf_counter()
    asked = query if tree is None else query.parallel(pattern=tree)
    running = asked.start(checkpoint=folder / "log", sink=sp.ParquetSink(folder / "out"), available_now=True)
    running.await_termination()
    seconds = time.perf_counter() - began
    found = pads.dataset(folder / "out", format="parquet", ignore_prefixes=["_", "."]).to_table(
        {"start": pads.field("window", "start"), "number": pads.field("number")}
    )
    ordered = found.sort_by([("start", "ascending"), ("number", "ascending")]).combine_chunks()
    return Run(seconds, ordered)


def compared(
    spark: SparkSession, attributes: int, rate: float, seconds: float, trees: tuple[str, ...]
) -> dict[str, Run]:
    """All trees over the same points, then as planned; an error if two do not answer alike."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_points(folder / "in", attributes, rate, seconds)
        query = best_points(points(spark, folder / "in", attributes), attributes)
        run(query, None, folder / "first")  # what is loaded and compiled once is not measured
        runs = {tree: run(query, tree, folder / str(i)) for i, tree in enumerate(trees)}
        runs["as planned"] = run(query, None, folder / "planned")
    if other := [tree for tree, one in runs.items() if not one.answers.equals(runs[trees[0]].answers)]:
        raise RuntimeError(f"{', '.join(other)}: not the answers of {trees[0]}")
    return runs


def table(title: str, records: int, runs: dict[str, Run]) -> Table:
    """Trees side by side."""
    answers = next(iter(runs.values())).answers
    windows = len(answers["start"].unique())
    shown = Table(
        title=f"{title}: {windows:,} windows, {answers.num_rows:,} rows, the same in every tree", title_justify="left"
    )
    for column in ("tree", "seconds", "records/s"):
        shown.add_column(column, justify="left" if column == "tree" else "right")
    for tree, one in runs.items():
        shown.add_row(tree, f"{one.seconds:.1f}", f"{records / one.seconds:,.0f}")
    return shown


def main() -> None:
    """A table for 4 and one for 6 attributes: the paper says 6, its program 4."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--attributes", type=int, nargs="+", default=[4, 6], help="a table each")
    parser.add_argument("--rate", type=float, default=30_000, help="points per second; the paper has 300,000")
    parser.add_argument("--seconds", type=float, default=3, help="of the stream")
    parser.add_argument("--trees", nargs="+", default=list(TREES), help="such as WS 'PF(2,2) L2': docs/patterns.md")
    given = parser.parse_args()
    spark = sp.embedded_session("spatial")
    for attributes in given.attributes:
        runs = compared(spark, attributes, given.rate, given.seconds, tuple(given.trees))
        Console(width=90).print(table(f"{attributes} attributes", round(given.rate * given.seconds), runs))
    spark.stop()


if __name__ == "__main__":
    main()
