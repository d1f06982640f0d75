"""Windows are cut exactly where Spark's own ``F.window`` cuts them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention
from pyspark.sql.pandas.types import from_arrow_schema

import skypane as sp
from skypane.model.durations import parse_duration_us
from tests.support.spark.streams import Outputs, micros, read_batches, run_to_end, write_batches

pytestmark = pytest.mark.spark

# Around the epoch, before it, on borders, a microsecond beside them, and centuries away.
TIMES_US = sorted(
    {
        base + offset
        for base in (0, -1_000_000, 1_500_000, -86_400_000_000 * 365, 951_782_399_999_999, 1_709_251_200_000_000)
        for offset in (-700_001, -200_000, -1, 0, 1, 99_999, 100_000, 499_999, 500_000, 1_300_007)
    }
)


@pytest.mark.parametrize("zone", ["UTC", None], ids=["timestamp", "timestamp_ntz"])
@pytest.mark.parametrize(
    ("size", "slide"),
    [
        ("1 second", "200 milliseconds"),
        ("1 second", None),
        ("300 milliseconds", "1 second"),
        ("7 milliseconds", "3 milliseconds"),
        ("1 day", "7 hours"),
        ("1 microsecond", None),
    ],
)
def test_windows_equal_those_of_spark(
    spark: SparkSession, tmp_path: Path, size: str, slide: str | None, zone: str | None
) -> None:
    schema = pa.schema([("n", pa.int64()), ("ts", pa.timestamp("us", zone))])
    times = pa.array(TIMES_US).cast(schema.field("ts").type)
    records = pa.table([pa.array(range(len(TIMES_US))), times], schema=schema)
    write_batches(tmp_path / "in", [records])
    outputs = Outputs()
    source = sp.stream(read_batches(spark, tmp_path / "in", schema), time="ts").window(size, slide)
    run_to_end(source.aggregate(rows="count", total="sum(n)").lateness(guard=sp.TimeGuard(max_future=None)), outputs)

    df = spark.createDataFrame(records, schema=from_arrow_schema(schema, prefer_timestamp_ntz=True))
    wanted = (
        df.withColumn("window", spark_window(size, slide))
        .where("ts < window.end")
        .groupBy("window")
        .agg(F.count("*").alias("rows"), F.sum("n").alias("total"))
    )
    assert sp_types(outputs) == wanted.toArrow().schema.field("window").type
    assert sorted(map(plain, outputs.results.rows())) == sorted(map(plain, wanted.toArrow().to_pylist()))


def spark_window(size: str, slide: str | None) -> Column:
    """Spark refuses a slide longer than the size: its tumbling windows of the slide start where hopping ones do."""
    if slide is None or parse_duration_us(slide, "slide") <= parse_duration_us(size, "size"):
        return F.window("ts", size, slide)
    start = F.window("ts", slide).start
    return F.struct(start.alias("start"), (start + F.expr(f"INTERVAL {size}")).alias("end"))


def sp_types(outputs: Outputs) -> pa.DataType:
    return outputs.results.tables[-1].schema.field("window").type


def plain(row: dict[str, Any]) -> tuple[int, int, int, int]:
    return micros(row["window"]["start"]), micros(row["window"]["end"]), row["rows"], int(row["total"])


def test_windows_do_not_depend_on_the_time_zone_of_the_session(spark: SparkSession, tmp_path: Path) -> None:
    schema = pa.schema([("n", pa.int64()), ("ts", pa.timestamp("us", "UTC"))])
    records = pa.table(
        [pa.array(range(len(TIMES_US))), pa.array(TIMES_US).cast(schema.field("ts").type)], schema=schema
    )
    half = len(TIMES_US) // 2
    write_batches(tmp_path / "in", [records.slice(0, half), records.slice(half)])
    seen = {}
    try:
        for zone in ("UTC", "Asia/Kathmandu"):
            spark.conf.set("spark.sql.session.timeZone", zone)
            outputs = Outputs()
            source = sp.stream(read_batches(spark, tmp_path / "in", schema), time="ts").window("1 day", "7 hours")
            run_to_end(source.top_k(1, score="n").lateness(guard=sp.TimeGuard(max_future=None)), outputs)
            rows = outputs.results.rows()
            seen[zone] = [(micros(r["window"]["start"]), r["n"], micros(r["ts"])) for r in rows]
            assert {str(r["window"]["start"].tzinfo) for r in rows} == {zone}
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert seen["UTC"] == seen["Asia/Kathmandu"]
    assert seen["UTC"]
