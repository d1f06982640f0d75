"""Functions as sinks: they get the rows of every step as a DataFrame, and the step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

import skypane as sp
from skypane.api.continuous_query import ContinuousQuery
from tests.support.records import SCHEMA
from tests.support.spark.rows import run, texts
from tests.support.spark.streams import Outputs, read_batches, write_batches

pytestmark = pytest.mark.spark


def test_functions_get_a_dataframe_and_the_step(query: ContinuousQuery, wanted: Outputs) -> None:
    calls: list[tuple[int, list[dict[str, Any]], str]] = []

    def take(df: DataFrame, batch_id: int) -> None:
        calls.append((batch_id, df.toArrow().to_pylist(), df.schema.simpleString()))

    running = run(query, sink=take)
    assert "take" in running.explain()
    assert [step for step, _, _ in calls] == [s for s, table in sorted(wanted.results.steps.items()) if table.num_rows]
    assert texts([row for _, rows, _ in calls for row in rows]) == texts(wanted.results.rows())
    window = "window:struct<start:timestamp,end:timestamp>"
    assert {schema for _, _, schema in calls} == {
        f"struct<city:string,{window},n:bigint,ts:timestamp,zone:int,a:double,b:bigint>"
    }


def test_functions_get_large_outputs_too(spark: SparkSession, tmp_path: Path) -> None:
    count = 25_000  # More than the driver itself would hand to Spark.
    columns: dict[str, Any] = {
        "n": list(range(count)),
        "ts": [0] * count,
        "city": ["x"] * count,
        "zone": [1] * count,
        "a": [1.0] * count,
        "b": [1] * count,
    }
    write_batches(tmp_path / "in", [pa.table(columns, schema=SCHEMA)])
    seen: list[tuple[int, int]] = []

    def take(df: DataFrame, batch_id: int) -> None:
        row = df.agg(F.count("*").alias("rows"), F.sum("n").alias("total")).collect()[0]
        seen.append((row.rows, row.total))

    stream = sp.stream(read_batches(spark, tmp_path / "in"), time="ts").window("1 second")
    run(stream.skyline(minimize="a"), sink=take)
    assert seen == [(count, count * (count - 1) // 2)]
