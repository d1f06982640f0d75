"""Lines that Spark cannot parse are quarantined with their text, whatever way records take to the tasks."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import skypane as sp
from skypane.tuning import density
from tests.support.spark.streams import WAIT_S, CollectSink, Outputs, run_to_end

pytestmark = pytest.mark.spark

BAD = ['{"ts": "2026-01-01T00:00:02Z", "price": "cheap", "stars": 5}', '{"ts": "2026-01-01T00:00:03Z", "price": 2']


def lines(folder: Path, spark: SparkSession, schema: str, more: int = 0) -> DataFrame:
    folder.mkdir()
    good = [f'{{"ts": "2026-01-01T00:00:0{n % 6}Z", "price": {n % 7 + 3}, "stars": 1}}' for n in range(4 + more)]
    for name in ("0.json", "1.json"):
        (folder / name).write_text("\n".join([*good[:2], *BAD, *good[2:]]) + "\n")
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(folder))


def test_a_line_is_quarantined_with_its_text_which_no_answer_has(spark: SparkSession, tmp_path: Path) -> None:
    df = lines(tmp_path / "in", spark, "ts timestamp, price int, stars int, _corrupt_record string")
    outputs = Outputs()
    query = sp.stream(df, time="ts").window("10 seconds").skyline(minimize="price", maximize="stars")
    running = run_to_end(query, outputs)
    assert running.metrics().ledger.quarantined_by_reason == {"corrupt record": 4}
    assert sorted(row["_corrupt_record"] for row in outputs.quarantine.rows()) == sorted(2 * BAD)
    assert {tuple(row) for row in outputs.results.rows()} == {("window", "ts", "price", "stars")}
    assert [row["price"] for row in outputs.results.rows()] == [3, 3]


def test_nor_is_it_part_of_what_spark_aggregates(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(density, "MIN_RECORDS", 0)
    monkeypatch.setattr(density, "MIN_RECORDS_PER_ROW", 0)
    df = lines(tmp_path / "in", spark, "ts timestamp, price int, _corrupt_record string", more=30)
    sink = CollectSink()
    query = sp.stream(df, time="ts").window("10 seconds").aggregate(n="count", p="sum(price)")
    running = query.start(sink=sink, available_now=True, flush=True)
    assert running.await_termination(WAIT_S)
    assert sum(step.condensed for step in running.metrics().recent) > 0
    assert running.metrics().ledger.quarantined_by_reason == {"corrupt record": 4}
    assert sum(row["n"] for row in sink.rows()) == running.metrics().ledger.accepted == 68


def test_a_column_of_another_type_or_role_is_only_a_column(spark: SparkSession, tmp_path: Path) -> None:
    df = lines(tmp_path / "in", spark, "ts timestamp, price int, _corrupt_record string")
    for own in (df.selectExpr("ts", "1 AS _corrupt_record"), df.selectExpr("ts", "'a' AS _corrupt_record")):
        key = "_corrupt_record" if own.schema["_corrupt_record"].dataType.typeName() == "string" else None
        outputs = Outputs()
        running = run_to_end(sp.stream(own, time="ts", key=key).window("10 seconds").aggregate(n="count"), outputs)
        assert "corrupt record" not in running.metrics().ledger.quarantined_by_reason
