"""Live queries on Spark: the history in a Parquet folder, across restarts, equals that of the accepted records."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

import skypane as sp
from skypane.api.continuous_query import ContinuousQuery
from tests.support.records import SCHEMA
from tests.support.spark.streams import random_batches, read_batches, write_batches

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def query_over(spark: SparkSession, folder: Path) -> ContinuousQuery:
    stream = sp.stream(read_batches(spark, folder, SCHEMA), time="ts", key="city")
    return stream.live("2 seconds").skyline(minimize="a", maximize="b").lateness(sp.KSlack("500 milliseconds"))


def test_the_history_in_parquet_is_that_of_the_accepted_records(spark: SparkSession, tmp_path: Path) -> None:
    batches = random_batches(seed=13, batches=4)
    for part in (batches[:2], batches):  # the second run continues the first
        write_batches(tmp_path / "in", part)
        cut_rows = 0 if part is batches else 2_000_000  # in the second run tasks share the joins of the four keys
        asked = query_over(spark, tmp_path / "in").parallel(degree=8, tuning=sp.Tuning(cut_rows=cut_rows))
        query = asked.emit("intervals").start(
            sink=sp.ParquetSink(tmp_path / "out"),
            late=sp.ParquetSink(tmp_path / "late"),
            quarantine=sp.ParquetSink(tmp_path / "bad"),
            checkpoint=tmp_path / "checkpoint",
            available_now=True,
            flush=part is batches,
        )
        query.await_termination()
    assert query.metrics().ledger.late > 0
    assert max(step.join_tasks for step in query.metrics().recent) > 1
    records = spark.read.parquet(str(tmp_path / "in"))
    lost = [row.n for name in ("late", "bad") for row in spark.read.parquet(str(tmp_path / name)).collect()]
    accepted = records.where(~F.col("n").isin(lost))
    history = spark.read.parquet(str(tmp_path / "out"))
    wanted = sp.skyline_intervals(accepted, time="ts", within="2 seconds", minimize="a", maximize="b", by="city")
    columns = sorted(history.columns)
    assert sorted(columns) == sorted(wanted.columns)
    rows = sorted(map(repr, history.select(*columns).collect()))
    assert rows == sorted(map(repr, wanted.select(*columns).collect()))
    assert len(rows) > 20

    instant = EPOCH + timedelta(milliseconds=1_234)
    now = sp.as_of(history, instant)
    live = accepted.where("ts <= timestamp'1970-01-01 00:00:01.234Z' AND ts > timestamp'1969-12-31 23:59:59.234Z'")
    best = sp.skyline(live, minimize="a", maximize="b", by="city")
    assert sorted(r.n for r in now.collect()) == sorted(r.n for r in best.collect())
    assert now.count() > 0
    zone = spark.conf.get("spark.sql.session.timeZone")
    try:
        spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
        assert sorted(r.n for r in sp.as_of(history, "1970-01-01 05:30:01.234").collect()) == sorted(
            r.n for r in now.collect()
        )
    finally:
        spark.conf.set("spark.sql.session.timeZone", str(zone))
    with pytest.raises(sp.SchemaError, match="'valid_from' is not a column"):
        sp.as_of(accepted, instant)
    with pytest.raises(sp.SchemaError, match="'valid_to' has type string; it must be a timestamp"):
        sp.as_of(history.withColumn("valid_to", F.lit("later")), instant)


def test_a_revision_that_records_have_is_theirs(spark: SparkSession, tmp_path: Path) -> None:
    """Also where late records go; sinks took the column for the number of an answer that comes again."""
    write_batches(tmp_path / "in", random_batches(seed=13, batches=4))
    records = read_batches(spark, tmp_path / "in", SCHEMA).withColumn("revision", F.col("n").cast("string"))
    live = sp.stream(records, time="ts", key="city").live("2 seconds").skyline(minimize="a", maximize="b")
    shown, late = sp.MemorySink("live_revisions"), sp.ParquetSink(tmp_path / "late")
    query = live.lateness(sp.FixedDelay("0 seconds")).start(sink=shown, late=late, available_now=True)
    query.await_termination()
    assert shown.table().num_rows == query.metrics().windows > 0
    assert spark.read.parquet(str(tmp_path / "late")).count() == query.metrics().ledger.late > 0


def test_held_records_survive_a_restart_with_columns_in_another_order(spark: SparkSession, tmp_path: Path) -> None:
    times = [[1.0, 1.5, 90_000.2], [90_000.4, 90_000.5, 90_000.6, 90_000.7, 90_000.8]]
    rest = {"city": "ulm", "zone": 1, "a": 1.0, "b": 1}
    for index, seconds in enumerate(times):
        rows = [{"n": 10 * index + i, "ts": int(second * 1e6), **rest} for i, second in enumerate(seconds)]
        write_batches(tmp_path / "in", [pa.Table.from_pylist(rows, SCHEMA)], first=index)
        records = read_batches(spark, tmp_path / "in", SCHEMA)
        query = sp.stream(records.select(*records.columns[:: 1 - 2 * index]), time="ts").live("2 seconds")
        running = query.skyline(minimize="a").start(
            sink=sp.ParquetSink(tmp_path / "out"), checkpoint=tmp_path / "c", available_now=True, flush=index == 1
        )
        running.await_termination()
        assert running.metrics().ledger.held == 1 - index
    entered = spark.read.parquet(str(tmp_path / "out")).where("change = 1")
    assert sorted(row.n for row in entered.collect()) == [0, 1, 2, 10, 11, 12, 13, 14]
