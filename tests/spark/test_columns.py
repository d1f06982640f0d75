"""Columns are found when they are named, as Spark finds them, and before anything starts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import skypane as sp
from tests.support.records import SCHEMA
from tests.support.spark.streams import WAIT_S, CollectSink, read_batches, write_batches

ROWS = [{"n": n, "ts": n * 500_000, "city": "ulm", "zone": 1, "a": 1.0, "b": 1} for n in range(4)]


@pytest.fixture(scope="module")
def records(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    folder = tmp_path_factory.mktemp("in")
    write_batches(folder, [pa.Table.from_pylist(ROWS, SCHEMA)])
    return read_batches(spark, folder)


@pytest.fixture
def exact_case(spark: SparkSession) -> Iterator[None]:
    spark.conf.set("spark.sql.caseSensitive", "true")
    yield
    spark.conf.unset("spark.sql.caseSensitive")


@pytest.mark.parametrize(
    ("wrong", "wanted"),
    [
        (lambda df: sp.stream(df, time="tss"), "Time column 'tss' is not a column. Did you mean 'ts'?"),
        (lambda df: sp.stream(df, time="city"), "Time column 'city' has type string; it must be a timestamp"),
        (lambda df: sp.stream(df, time="ts", key="cty"), "Key 'cty' is not a column. Did you mean 'city'?"),
        (lambda df: sp.stream(df, time="ts", key=["city", "CITY"]), "names a column twice"),
        (lambda df: sp.stream(df, time="ts", key=column("city")), "key=Column<'city'> must be a column name"),
        (lambda df: sp.stream(df, time="ts", partition="zones"), "Partition column 'zones' is not a column. Did you"),
        (lambda df: windowed(df).skyline(minimize="aa"), "Attribute 'aa' is not a column. Did you mean 'a'?"),
        (lambda df: windowed(df).skyline(minimize="city"), "Attribute 'city' has type string"),
        (lambda df: windowed(df).skyline(minimize="a", maximize="A"), "Attribute 'a' is named twice"),
        (lambda df: windowed(df).skyline(minimize=F.col("a")), "minimize=Column<'a'> must be a column name"),
        (lambda df: windowed(df).top_delta(3, minimize="aa"), "Attribute 'aa' is not a column"),
        (lambda df: windowed(df).top_k(3, score="aa / b"), "The expression 'aa / b' cannot be computed"),
        (lambda df: windowed(df).aggregate(m="mean(aa)"), "The expression 'aa' cannot be computed"),
        (lambda df: windowed(df).aggregate(m="sum(city)"), "m=sum(...) needs numbers"),
        (lambda df: sp.stream(table(df), time="ts"), "needs a streaming DataFrame (spark.readStream...); this one is"),
        (lambda df: sp.stream(df.sparkSession.readStream, time="ts"), "Call .load() first"),
        (lambda df: sp.skyline(table(df), minimize="aa"), "Attribute 'aa' is not a column. Did you mean 'a'?"),
        (
            lambda df: sp.skyline(table(df), minimize="a", by="cty"),
            "Grouping column 'cty' is not a column. Did you mean",
        ),
        (lambda df: sp.skyline(table(df), minimize="a", by=column("city")), "by=Column<'city'> must be a column name"),
    ],
)
def test_a_wrong_name_is_refused_where_it_is_given(
    records: DataFrame, wrong: Callable[[DataFrame], Any], wanted: str
) -> None:
    with pytest.raises((sp.SchemaError, sp.OptionError)) as error:
        wrong(records)
    assert wanted in str(error.value)


def column(name: str) -> Any:
    """Not what type checkers let pass."""
    return F.col(name)


def windowed(df: DataFrame) -> Any:
    return sp.stream(df, time="ts").window("1 second")


def table(df: DataFrame) -> DataFrame:
    return df.sparkSession.createDataFrame([("ulm", 1.0), ("bonn", 2.0), ("ulm", 3.0)], "city string, a double")


def test_any_case_will_do_where_spark_does_not_tell_it_apart(records: DataFrame, tmp_path: Path) -> None:
    query = sp.stream(records, time="TS", key="City", partition="ZONE").window("1 second").skyline(minimize="A")
    assert (query.source.time, query.source.keys) == ("ts", ("city",))
    assert query.source.partition == sp.Partition("zone")
    sink = CollectSink()
    running = query.start(sink=sink, checkpoint=tmp_path / "c", available_now=True)
    assert running.await_termination(WAIT_S)
    assert [row["n"] for row in sink.rows()] == [0, 1, 2, 3]
    assert {"city", "a"} <= set(sink.rows()[0])
    spelled = sp.stream(records, time="ts", key="city", partition="zone").window("1 second").skyline(minimize="a")
    assert spelled.explain(checkpoint=tmp_path / "c"), "it is the same query: the checkpoint knows it"
    once = sp.skyline(table(records), minimize="A", by="CITY")
    assert sorted(tuple(row) for row in once.collect()) == [("bonn", 2.0), ("ulm", 1.0)]
    assert once.columns == ["city", "a"]


@pytest.mark.usefixtures("exact_case")
def test_case_counts_where_spark_says_so(records: DataFrame) -> None:
    with pytest.raises(sp.SchemaError, match=r"Key 'City' is not a column\. Did you mean 'city'\?"):
        sp.stream(records, time="ts", key="City")
    with pytest.raises(sp.SchemaError, match=r"Attribute 'A' is not a column\. Did you mean 'a'\?"):
        sp.skyline(table(records), minimize="A")
