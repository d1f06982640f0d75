"""Quix Streams: its own windows, record by record, from a Kafka topic, which it cannot do without."""

from __future__ import annotations

import csv
import os
import time
import uuid
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow.dataset as pads
import pyarrow.parquet as pq
from quixstreams import Application
from quixstreams.dataframe import StreamingDataFrame
from quixstreams.dataframe.windows import Collect, Count, Max
from quixstreams.models import TopicConfig

from benchmarks.peers.programs.plain import NAMES, SLIDE_US, TUMBLE_US, WINDOW_US, best_numbers, main

IDLE_S = 5.0
"""After so long without a record the stream is taken to have ended; not counted."""


def run(
    data: Path, out: Path, columns: list[str], header: tuple[str, ...], build: Callable[[Any], StreamingDataFrame]
) -> float:
    """Fill a topic, then count the time of the program alone; rows of ``build`` go to a CSV file."""
    app = Application(
        broker_address=os.environ["KAFKA"],
        consumer_group=str(uuid.uuid4()),
        auto_offset_reset="earliest",
        state_dir=out.parent / f"{out.name}-state",
        loglevel="WARNING",
    )
    topic = app.topic(
        f"records-{uuid.uuid4()}",
        value_deserializer="json",
        timestamp_extractor=lambda value, *_: value["us"] // 1_000,
        config=TopicConfig(num_partitions=1, replication_factor=1),
    )
    records = pads.dataset(data / "lanes").to_table(columns=["us", *columns]).sort_by("us")
    with app.get_producer() as producer:
        for batch in records.to_batches(10_000):
            for row in batch.to_pylist():
                producer.produce(topic.name, topic.serialize(key="all", value=row).value, b"all")
    with (out / "answers.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        build(app.dataframe(topic)).update(writer.writerow)
        began = time.perf_counter()
        app.run(timeout=IDLE_S, collect=False)
        return time.perf_counter() - began - IDLE_S


def yahoo(data: Path, out: Path) -> float:
    """Views by campaign in windows of ten seconds: how many, and when the last one was."""
    owner = pq.read_table(data / "campaigns" / "ads.parquet").sort_by("ad")["campaign"].to_pylist()

    def build(events: StreamingDataFrame) -> StreamingDataFrame:
        views = events.filter(lambda event: event["event"] == "view")
        owned = views.apply(lambda event: {"us": event["us"], "campaign": owner[event["ad"]]})
        windows = owned.group_by("campaign").tumbling_window(timedelta(microseconds=TUMBLE_US))
        counted = windows.agg(views=Count(), last=Max("us")).final(closing_strategy="partition")
        return counted.apply(lambda row, key, *_: (key, row["start"] * 1_000, row["views"], row["last"]), metadata=True)

    return run(data, out, ["ad", "event"], ("campaign", "start", "views", "last"), build)


def skyline(data: Path, out: Path) -> float:
    """All records of a window are gathered, then NumPy takes the best."""

    def best(row: dict[str, Any]) -> tuple[int, str]:
        records = row["records"]
        columns = [[record[name] for record in records] for name in NAMES]
        return row["start"] * 1_000, best_numbers([record["number"] for record in records], columns)

    def build(points: StreamingDataFrame) -> StreamingDataFrame:
        windows = points.hopping_window(timedelta(microseconds=WINDOW_US), timedelta(microseconds=SLIDE_US))
        return windows.agg(records=Collect()).final().apply(best)

    return run(data, out, ["number", *NAMES], ("start", "numbers"), build)


if __name__ == "__main__":
    main({"yahoo": yahoo, "skyline": skyline})
