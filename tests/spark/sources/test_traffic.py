"""The source skypane-traffic on real Spark: the same records as the library, exactly continued, paced, refused."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.datasource import ReadMaxRows
from pyspark.sql.streaming.query import StreamingQuery

from skypane.spark.sources.traffic import TrafficStreamReader
from skypane.traffic import Stream, TrafficSpec
from skypane.traffic.reading import chunks
from tests.support.spark.streams import WAIT_S

pytestmark = pytest.mark.spark

OPTIONS: dict[str, Any] = {"rate": 20_000, "arrivals": "map", "partitions": 2, "keys": 3, "attributes": 2, "seed": 4}


def reference(records: int) -> pa.Table:
    made = Stream(TrafficSpec.from_options(OPTIONS, records=records))
    return pa.Table.from_batches(chunks(made), made.schema)


def stream_of(spark: SparkSession, **options: Any) -> DataFrame:
    return spark.readStream.format("skypane-traffic").options(**{**OPTIONS, **options}).load()


def collect(df: DataFrame, into: list[pa.Table], checkpoint: Path | None = None, **trigger: Any) -> StreamingQuery:
    writer = df.writeStream.foreachBatch(lambda batch, _: into.append(batch.toArrow())).trigger(**trigger)
    return (writer.option("checkpointLocation", str(checkpoint)) if checkpoint else writer).start()


def in_order(tables: list[pa.Table]) -> pa.Table:
    return pa.concat_tables(tables).sort_by([("arrival", "ascending"), ("id", "ascending")])


def test_batch_reads_give_the_records_of_the_library(spark_session_for_sources: SparkSession) -> None:
    df = spark_session_for_sources.read.format("skypane-traffic").options(**OPTIONS, records=50_000).load()
    expected = reference(50_000)
    assert df.columns == expected.column_names
    assert in_order([df.toArrow()]).equals(in_order([expected]).cast(df.toArrow().schema))


def test_micro_batches_respect_the_limit_and_a_restart_continues_exactly(
    spark_session_for_sources: SparkSession, tmp_path: Path
) -> None:
    first: list[pa.Table] = []
    second: list[pa.Table] = []
    for records, seen in ((15_000, first), (30_000, second)):
        df = stream_of(spark_session_for_sources, records=records, max_records_per_batch=10_000)
        collect(df, seen, tmp_path / "checkpoint", availableNow=True).awaitTermination()
    assert [table.num_rows for table in first] == [10_000, 5_000]
    assert [table.num_rows for table in second] == [10_000, 5_000]
    both = in_order([*first, *second])
    assert both.equals(in_order([reference(30_000)]).cast(both.schema))
    # The partitions advance together: a batch holds nothing that arrives before the end of the batch before it.
    for before, after in zip(first, first[1:] + second[:1], strict=True):
        assert max(before.column("arrival").to_pylist()) <= min(after.column("arrival").to_pylist())


def test_a_checkpoint_of_another_stream_is_refused(spark_session_for_sources: SparkSession, tmp_path: Path) -> None:
    seen: list[pa.Table] = []
    df = stream_of(spark_session_for_sources, records=1_000)
    collect(df, seen, tmp_path / "checkpoint", availableNow=True).awaitTermination()
    query = collect(
        stream_of(spark_session_for_sources, records=2_000, seed=5), seen, tmp_path / "checkpoint", availableNow=True
    )
    with pytest.raises(PySparkException, match="the checkpoint belongs to another stream"):
        query.awaitTermination()


def test_a_paced_stream_gives_each_record_when_its_time_has_come(
    spark_session_for_sources: SparkSession, tmp_path: Path
) -> None:
    seen: list[tuple[float, float, int]] = []

    def note(batch: DataFrame, _: int) -> None:
        arrived = batch.selectExpr("unix_micros(arrival) AS us").toArrow().column("us").to_pylist()
        if arrived:
            seen.append((time.time(), max(arrived) / 1e6, len(arrived)))

    df = stream_of(spark_session_for_sources, paced="true", arrivals="poisson", duration="3 s")
    began = time.time()
    query = df.writeStream.foreachBatch(note).trigger(processingTime="300 milliseconds").start()
    while sum(rows for *_, rows in seen) < 59_000 and time.time() - began < WAIT_S and query.isActive:
        time.sleep(0.1)
    query.stop()
    assert sum(rows for *_, rows in seen) == pytest.approx(60_000, rel=0.02)
    assert all(arrived <= now for now, arrived, _ in seen)
    assert seen[-1][1] - seen[0][1] > 1.5  # not all at once
    assert abs(seen[0][1] - began) < WAIT_S  # event time is the wall clock's


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"rate": -1}, "option rate='-1': must be a number from 0.001 to 1e9"),
        ({"ratte": 1}, "did you mean 'rate'"),
        ({}, "duration and records"),
    ],
)
def test_bad_options_are_named(spark_session_for_sources: SparkSession, options: dict[str, Any], says: str) -> None:
    with pytest.raises(PySparkException, match=says):
        spark_session_for_sources.read.format("skypane-traffic").options(**options).load().count()


def test_what_waits_is_counted_in_records_since_bursts_have_many_in_no_time() -> None:
    options = {"arrivals": "map", "dispersion": 1000, "rate": 1500, "records": 60_000, "attributes": 1, "seed": 8}
    reader = TrafficStreamReader(TrafficSpec.from_options(options, paced="true", max_records_per_batch=2_000))
    assert reader.reportLatestOffset() is None
    place = {**reader.initialOffset(), "began_us": 0}  # all has come long ago
    told = []
    for _ in range(31):
        place = reader.latestOffset(place, ReadMaxRows(2_000))
        told.append((place["records"], reader.reportLatestOffset()))
    assert told[0] == (2_000, {"records": 18_000})  # eight batches more are counted
    assert told[-2] == told[-1] == (60_000, {"records": 60_000})  # and nothing waits after the last record
