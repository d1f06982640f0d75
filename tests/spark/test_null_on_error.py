"""What an expression cannot compute for a record is null there; what the user's DataFrame cannot, ends the query."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

import skypane as sp
from skypane.queries.base import Expression
from skypane.spark.expressions import with_expressions
from skypane.tuning import density
from tests.support.spark.streams import WAIT_S, CollectSink, Outputs, read_batches, run_to_end, write_batches

pytestmark = pytest.mark.spark

ROWS = [
    {"n": 0, "s": "5", "i": 1, "a": [10, 20]},
    {"n": 1, "s": "n/a", "i": 0, "a": [30]},
    {"n": 2, "s": None, "i": 2**31 - 1, "a": None},
    {"n": 3, "s": "(", "i": -2, "a": []},
]
SCHEMA = "n int, s string, i int, a array<int>"

VALUES: dict[str, list[Any]] = {
    "CAST(s AS INT)": [5, None, None, None],
    "to_number(s, '999') + 0": [5, None, None, None],
    "to_number(s, '999') + 1": [6, None, None, None],
    "10 / i": [10.0, None, 10 / (2**31 - 1), -5.0],
    "i + 1": [2, 1, None, -1],
    "i * 2": [2, 0, None, -4],
    "a[i]": [20, 30, None, None],
    "element_at(a, i)": [10, None, None, None],
    "size(sequence(1, CAST(i % 5 AS INT), 1))": [1, None, 2, None],
    "length(CAST(parse_json(s) AS STRING))": [1, None, None, None],
    "CASE WHEN '(' RLIKE s THEN 1 ELSE 0 END": [0, 0, 0, None],
    "regexp_replace('x', s, 'y')": ["x", "x", None, None],
    "CASE WHEN i = 0 THEN raise_error('no') ELSE i END": [1, None, 2**31 - 1, -2],
    "size(transform(a, x -> 1 / (x - 30)))": [2, None, None, 0],
    "unix_micros(timestamp_micros(0) + make_interval(0, 0, 0, i)) / 86400000000": [1.0, 0.0, None, -2.0],
    "from_json(s, 'x int', map('mode', 'FAILFAST')).x": [None, None, None, None],
    "year(make_date(i, 1, 1))": [1, 0, None, -2],
    "assert_true(i > 0) IS NULL": [True, None, True, None],
    "to_number('x', '999') + i": [None, None, None, None],
    "to_number('x', '999')": [None, None, None, None],
}
"""By expression, the value for each row."""


@contextmanager
def settings(spark: SparkSession, **values: str) -> Iterator[None]:
    names = {name.replace("__", "."): value for name, value in values.items()}
    before = {name: spark.conf.get(name) or "" for name in names}
    for name, value in names.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


@pytest.mark.parametrize("compiled", [True, False])
def test_what_cannot_be_computed_for_a_record_is_null_for_that_record_only(spark: SparkSession, compiled: bool) -> None:
    mode = {} if compiled else {"spark__sql__codegen__factoryMode": "NO_CODEGEN"}
    with settings(spark, spark__sql__codegen__wholeStage=str(compiled).lower(), **mode):
        df = spark.createDataFrame(ROWS, SCHEMA).repartition(2)  # so that Spark does not compute it in the driver
        computed = with_expressions(df, {f"x{n}": Expression(sql) for n, sql in enumerate(VALUES)})
        rows = sorted(computed.collect(), key=lambda row: int(row.n))
    for index, (sql, expected) in enumerate(VALUES.items()):
        for row, value in zip(rows, expected, strict=True):
            assert row[f"x{index}"] == value, (sql, row)


def test_the_session_decides_how_spark_computes(spark: SparkSession) -> None:
    asked = {"x": Expression("i + 1"), "y": Expression("'7' + 1")}
    types = []
    for ansi in ("true", "false"):
        with settings(spark, spark__sql__ansi__enabled=ansi):
            df = with_expressions(spark.createDataFrame(ROWS, SCHEMA), asked)
            types.append(dict(df.dtypes)["y"])
            assert df.where("n = 2").collect()[0].x == (None if ansi == "true" else -(2**31))
    assert types == ["bigint", "double"]


@pytest.mark.parametrize(
    "own",
    [
        "CAST(s AS INT)",
        "to_number(s, '999')",
        "coalesce(CAST(s AS INT), 0)",
        "array(1, 2)[i + 5]",
        "named_struct('p', CAST(s AS INT)).p",
    ],
)
def test_errors_of_the_users_own_dataframe_are_not_hidden(spark: SparkSession, own: str) -> None:
    df = spark.createDataFrame(ROWS, SCHEMA).repartition(2).select("n", F.expr(own).alias("mine"))
    with pytest.raises(PySparkException, match=r"n/a|INVALID_ARRAY_INDEX"):
        with_expressions(df, {"x": Expression("mine + 1")}).select("x").collect()


def test_spark_still_reads_only_the_fields_that_expressions_use(spark: SparkSession, tmp_path: Path) -> None:
    item = {"price": 3, "text": "long"}
    pq.write_table(pa.table({"order": [{"item": item, "rest": "x"}], "all": [[item]]}), tmp_path / "0.parquet")
    df = spark.read.parquet(str(tmp_path))
    asked = {"x": Expression("order.item.price / 0"), "y": Expression("size(transform(all.price, p -> p + 1))")}
    computed = with_expressions(df, asked).select("x", "y")
    assert "struct<order:struct<item:struct<price:bigint>>,all:array<struct<price:bigint>>>" in str(
        computed._jdf.queryExecution().executedPlan().toString()
    )
    assert [tuple(row) for row in computed.collect()] == [(None, 1)]


TS = pa.timestamp("us", "UTC")
RECORDS = pa.schema([("n", pa.int64()), ("ts", TS), ("k", pa.string()), ("s", pa.string()), ("i", pa.int32())])


def records(*texts: str | None) -> pa.Table:
    rows = [{"n": n, "ts": n * 100_000, "k": "ab"[n % 2], "s": text, "i": n % 3} for n, text in enumerate(texts)]
    return pa.Table.from_pylist(rows, RECORDS)


def test_one_poisonous_record_ends_no_query(spark: SparkSession, tmp_path: Path) -> None:
    write_batches(tmp_path / "in", [records("1", "n/a", "3", None, "5", "(")])
    windows = sp.stream(read_batches(spark, tmp_path / "in", RECORDS), time="ts", key="k").window("1 second")
    outputs = Outputs()
    run_to_end(windows.top_k(5, score="to_number(s, '999')"), outputs)
    assert [(row["k"], row["n"], int(row["score"])) for row in outputs.results.rows()] == [
        ("a", 4, 5),
        ("a", 2, 3),
        ("a", 0, 1),
    ]
    assert [(row["n"], row["reason"]) for row in outputs.quarantine.rows()] == [(n, "null score") for n in (1, 3, 5)]


def test_nor_where_spark_aggregates_before_it_sends(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(density, "MIN_RECORDS", 0)
    monkeypatch.setattr(density, "MIN_RECORDS_PER_ROW", 0)
    many = records(*[str(n % 7) if n % 5 else "n/a" for n in range(400)])
    write_batches(tmp_path / "in", [many.slice(0, 200), many.slice(200)])
    windows = sp.stream(read_batches(spark, tmp_path / "in", RECORDS), time="ts", key="k").window("1 minute")
    query = windows.aggregate(n="count", c="count(to_number(s, '9'))", m="max(CAST(to_number(s, '9') AS INT) % i)")
    sink = CollectSink()
    running = query.start(sink=sink, available_now=True, flush=True)
    assert running.await_termination(WAIT_S)
    assert sum(step.condensed for step in running.metrics().recent) > 0
    answers = sink.rows()
    assert sum(row["n"] for row in answers) == running.metrics().ledger.accepted == 400
    assert sum(row["c"] for row in answers) == 320
    assert max(row["m"] for row in answers) == 1


def test_what_the_dataframe_cannot_compute_is_named_and_the_batch_is_repeated(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_batches(tmp_path / "in", [records("1", "2"), records("3", "n/a")])
    df = read_batches(spark, tmp_path / "in", RECORDS)

    def start(own: DataFrame, sink: CollectSink) -> sp.RunningQuery:
        query = sp.stream(own, time="ts").window("1 second").aggregate(c="count", m="max(v + 1)")
        return query.start(sink=sink, checkpoint=tmp_path / "checkpoint", available_now=True, flush=True)

    whole = F.udf(lambda text: int(text) + 0, "int")
    sink = CollectSink()
    failing = {
        r"DataFrame that the query reads fails.*'n/a'.*in 'CAST\(s AS INT\)'.*try_cast": F.expr("CAST(s AS INT)"),
        "Python function that computes records has failed: ValueError: invalid literal .*'n/a'": whole("s"),
    }
    for message, mine in failing.items():
        running = start(df.withColumn("v", mine), sink)
        with pytest.raises(sp.SourceError, match=message):
            running.await_termination(WAIT_S)
    wrong = sp.stream(df, time="ts").window("1 second").aggregate(c="count(CASE WHEN s RLIKE '(' THEN 1 END)")
    running = wrong.start(sink=CollectSink(), available_now=True)
    with pytest.raises(sp.SourceError, match=r"or a constant in an expression.*Unclosed group"):
        running.await_termination(WAIT_S)
    assert start(df.withColumn("v", F.expr("try_cast(s AS INT)")), sink).await_termination(WAIT_S)
    assert [(row["c"], row["m"]) for row in sink.rows()] == [(4, 4)]
