"""The Yahoo streaming benchmark: how often were the ads of each campaign viewed, in every ten seconds?"""

from __future__ import annotations

import argparse
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import skypane as sp

START_US = 1_700_000_000_000_000
WINDOW = "10 seconds"
WINDOW_US = 10_000_000
ADS_PER_CAMPAIGN = 10
EVENTS = ("view", "click", "purchase")
SCHEMA = "ts timestamp, user long, ad long, event string"


def events(first: int, end: int, ads: int, rate: float) -> pa.Table:
    """Events first .. end - 1: number v is about ad v mod ads, a view, a click or a purchase in turn."""
    number = np.arange(first, end)
    kinds = pa.DictionaryArray.from_arrays(pa.array((number % 3).astype(np.int8)), pa.array(EVENTS))
    return pa.table(
        {
            "ts": pa.array(START_US + (number * 1e6 / rate).astype(np.int64), pa.timestamp("us", "UTC")),
            "user": (number * 2_654_435_761) % 1_000_003,
            "ad": number % ads,
            "event": kinds.cast(pa.string()),
        }
    )


def write_events(folder: Path, campaigns: int, count: int, files: int, rate: float) -> None:
    """So many files of equal size in ``folder/events``, and in ``folder/campaigns`` which ad belongs to which one."""
    (folder / "events").mkdir(parents=True)
    (folder / "campaigns").mkdir()
    ads = ADS_PER_CAMPAIGN * campaigns
    borders = np.linspace(0, count, files + 1).astype(int).tolist()
    for file, (first, end) in enumerate(pairwise(borders)):
        # Two row groups, so that Spark can read a file in two tasks.
        groups = max(1, -(-(end - first) // 2))
        pq.write_table(events(first, end, ads, rate), folder / "events" / f"{file:03d}.parquet", row_group_size=groups)
    owners = {"ad": np.arange(ads), "campaign": np.arange(ads) // ADS_PER_CAMPAIGN}
    pq.write_table(pa.table(owners), folder / "campaigns" / "ads.parquet")


def views(spark: SparkSession, folder: Path) -> DataFrame:
    """The stream of events, a file at a time; views only, each with the campaign of its ad."""
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder / "events"))
    owners = spark.read.parquet(str(folder / "campaigns"))
    return stream.where("event = 'view'").join(F.broadcast(owners), "ad").select("ts", "campaign")


def counted(viewed: DataFrame) -> sp.ContinuousQuery:
    """How many views each campaign has in each window, and when the last one was."""
    windows = sp.stream(viewed, time="ts", key="campaign").window(WINDOW)
    return windows.aggregate(views="count", last="max(ts)").lateness(sp.FixedDelay("0 seconds"))


def main() -> None:
    """Writes the events, counts them to the end, shows some of the counts and how fast it was."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--campaigns", type=int, nargs="+", default=[1, 100, 100_000], help="one run each")
    parser.add_argument("--events", type=int, default=6_000_000, help="in each run, in six files")
    parser.add_argument("--rate", type=float, default=100_000, help="events per second of the stream's own time")
    given = parser.parse_args()
    spark = sp.embedded_session("yahoo")
    for campaigns in given.campaigns:
        with tempfile.TemporaryDirectory() as folder:
            show(spark, Path(folder), campaigns, given.events, given.rate)
    spark.stop()


def show(spark: SparkSession, folder: Path, campaigns: int, count: int, rate: float) -> None:
    """One number of campaigns."""
    write_events(folder, campaigns, count, 6, rate)
    began = time.perf_counter()
    query = counted(views(spark, folder)).start(
        checkpoint=folder / "checkpoint", sink=sp.ParquetSink(folder / "out"), available_now=True
    )
    query.await_termination()
    seconds = time.perf_counter() - began
    found = spark.read.parquet(str(folder / "out"))
    print(f"{campaigns:,} campaigns: {count:,} events in {seconds:.1f} s, {found.count():,} counts")
    found.selectExpr("campaign", "date_format(window.start, 'HH:mm:ss') AS from", "views", "last").orderBy(
        "from", "campaign"
    ).show(4, truncate=False)


if __name__ == "__main__":
    main()
