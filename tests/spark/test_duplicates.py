"""Duplicates on Spark: found as in process, whatever the degree, over restarts, by ids of any type."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

import skypane as sp
from skypane.api.continuous_query import ContinuousQuery
from skypane.model.errors import CheckpointError, SchemaError
from tests.support.duplicates import assert_distinct
from tests.support.records import SCHEMA
from tests.support.spark.streams import (
    CollectSink,
    Outputs,
    check_run,
    random_batches,
    read_batches,
    run_to_end,
    write_batches,
)

pytestmark = pytest.mark.spark
START = datetime(2024, 5, 1, tzinfo=timezone.utc)


def apart(batches: list[pa.Table]) -> list[pa.Table]:
    """No two records have one time: which of two is older is then no matter of hashes, which Spark has its own of."""
    return [
        batch.set_column(1, "ts", pc.add(batch.column("ts").cast(pa.int64()), batch.column("n")).cast(batch["ts"].type))
        for batch in batches
    ]


def question(spark: SparkSession, folder: Path, kind: str) -> ContinuousQuery:
    stream = sp.stream(
        read_batches(spark, folder, files=2), time="ts", key="city", distinct_by=["zone", "city"], within="900 ms"
    )
    if kind == "rows":
        query = stream.window_rows(5, 2).aggregate(n="count", low="min(n)")
    elif kind == "skyline":
        query = stream.window("1 second", "500 ms").skyline(minimize="a", maximize="b")
    else:
        query = stream.window("1 second").aggregate(n="count", total="sum(n)")
    return query.lateness(sp.FixedDelay("300 ms"))


@pytest.mark.parametrize(("kind", "degree"), [("skyline", 3), ("count", None), ("rows", 2)])
def test_duplicates_are_found_as_in_process_also_after_a_restart(
    spark: SparkSession, tmp_path: Path, kind: str, degree: int | None
) -> None:
    batches, outputs = apart(random_batches(11, batches=5)), Outputs(duplicates=CollectSink())
    tuning = sp.Tuning(pane_degree=degree)
    write_batches(tmp_path / "in", batches[:3], files=2)
    query = question(spark, tmp_path / "in", kind).parallel(tuning=tuning)
    run_to_end(query, outputs, checkpoint=tmp_path / "checkpoint", flush=False)
    write_batches(tmp_path / "in", batches[3:], files=2, first=3)
    query = question(spark, tmp_path / "in", kind).parallel(tuning=sp.Tuning(pane_degree=1))
    metrics = run_to_end(query, outputs, checkpoint=tmp_path / "checkpoint").metrics()
    assert outputs.duplicates is not None
    assert len(outputs.duplicates.rows()) > 20
    check_run(spark, query, batches, outputs, metrics, in_order=kind != "rows")
    distinct, lost = query.source.distinct, outputs.lost()
    assert distinct is not None
    accepted = [row for row in pa.concat_tables(batches).to_pylist() if row["n"] not in lost]
    assert_distinct(distinct, accepted, outputs.duplicates.rows())
    assert " duplicate" in str(metrics)
    assert metrics.recent[-2].known_ids > 0


VALUES: dict[str, tuple[str, list[Any]]] = {
    "string": ("string", ["a", "A", "", "a "]),
    "int": ("int", [0, 1, -1, 2**31 - 1]),
    "decimal": ("decimal(20,4)", [Decimal("1.5"), Decimal("1.5001"), Decimal("-1.5"), Decimal(0)]),
    "double": ("double", [0.0, float("nan"), float("inf"), 1.0]),
    "float": ("float", [0.0, float("nan"), 0.5, -0.5]),
    "timestamp": ("timestamp", [START, START + timedelta(microseconds=1), START - timedelta(days=9), START]),
    "date": ("date", [date(2024, 5, 1), date(2024, 5, 2), date(1960, 1, 1), date(1, 1, 1)]),
    "binary": ("binary", [b"", b"\x00", b"\x00\x00", b"\xff"]),
    "boolean": ("boolean", [True, False, True, False]),
}


def test_ids_may_be_of_any_plain_type(spark: SparkSession, tmp_path: Path) -> None:
    """Each value four times, twice of them in the first batch; other zeros and NaNs are the same ones."""
    columns = list(VALUES)
    schema = "n long, ts timestamp, odd long, " + ", ".join(f"`{name}` {kind}" for name, (kind, _) in VALUES.items())
    rows = []
    for n in range(16):
        row: dict[str, Any] = {name: values[n % 4] for name, (_, values) in VALUES.items()}
        if n >= 4:
            row |= {"double": -0.0 if row["double"] == 0 else row["double"]}
            row |= {"float": -0.0 if row["float"] == 0 else row["float"]}
        rows.append({"n": n, "ts": START + timedelta(milliseconds=n), "odd": n % 4, **row})
    rows += [{**rows[0], "n": 16 + n, column: None} for n, column in enumerate([*columns, *columns])]
    for batch in (rows[:8], rows[8:]):
        df = spark.createDataFrame([tuple(row.values()) for row in batch], schema)
        df.coalesce(2).write.mode("append").parquet(str(tmp_path / "in"))
    df = spark.readStream.schema(schema).option("maxFilesPerTrigger", 2).parquet(str(tmp_path / "in"))
    query = sp.stream(df, time="ts", distinct_by=columns, within="1 second").window("1 minute").aggregate(n="count")
    results, duplicates = CollectSink(), CollectSink()
    running = query.start(sink=results, duplicates=duplicates, available_now=True, flush=True)
    assert running.await_termination(300)
    assert running.metrics().ledger.duplicate == len(duplicates.rows()) == 12
    assert sum(row["n"] for row in results.rows()) == len(rows) - 12
    assert {row["odd"] for row in duplicates.rows()} == {0, 1, 2, 3}


def test_columns_that_cannot_be_compared_are_refused_by_name(spark: SparkSession, tmp_path: Path) -> None:
    df = read_batches(spark, tmp_path / "in")

    def asked(df: Any, columns: Any) -> str:
        return sp.stream(df, time="ts", distinct_by=columns, within="1 s").window("1 s").aggregate(n="count").explain()

    with pytest.raises(SchemaError, match=r"Id column 'zonne'.*zone"):
        asked(df, "zonne")
    with pytest.raises(SchemaError, match=r"Id column 'pair' has type struct.*plain column"):
        asked(df.withColumn("pair", F.struct("zone", "city")), "pair")
    with pytest.raises(SchemaError, match=r"Id column 'name'.*collate UTF8_LCASE"):
        asked(df.withColumn("name", F.collate("city", "UTF8_LCASE")), ["zone", "name"])
    text = asked(df, ["zone", "city"])
    assert "duplicates    one record per zone, city within 1 s; others: counted" in text
    assert "by the ids of records" in text


def test_another_id_or_span_is_another_query(spark: SparkSession, tmp_path: Path) -> None:
    write_batches(tmp_path / "in", [pa.Table.from_pylist([{"n": 1, "ts": 0, "zone": 1}], SCHEMA)])

    def run(**stream: Any) -> None:
        query = sp.stream(read_batches(spark, tmp_path / "in"), time="ts", **stream).window("1 s").aggregate(n="count")
        running = query.start(sink=CollectSink(), checkpoint=tmp_path / "checkpoint", available_now=True)
        assert running.await_termination(300)

    run(distinct_by="zone", within="1 second")
    for other in ({}, {"distinct_by": "zone", "within": "2 seconds"}, {"distinct_by": "city", "within": "1 second"}):
        with pytest.raises(CheckpointError, match="distinct"):
            run(**other)
