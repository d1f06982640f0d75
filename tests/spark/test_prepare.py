"""How records are prepared: ids tell them apart, expressions fail no batch, the rest is refused at start, by name."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

import skypane as sp
from skypane.model.columns import GROUP
from skypane.queries.base import Expression
from skypane.queries.preferences import Preferences
from skypane.queries.skyline import Skyline
from skypane.spark.expressions import with_expressions
from skypane.spark.jobs.sending import Sending
from skypane.spark.prepare import with_computed_columns
from skypane.spark.record_id import record_id
from tests.support.spark.streams import WAIT_S

pytestmark = pytest.mark.spark

COLUMNS = [
    "timestamp AS ts",
    "cast(value AS int) AS whole",
    "cast(value AS tinyint) AS tiny",
    "value = 1 AS flag",
    "'a' AS text",
    "interval '1' second AS gap",
    "collate('a', 'UTF8_LCASE') AS folded",
    "make_ym_interval(1, 1) AS months",
    "map('k', 1) AS lookup",
]

TELLING = """
    SELECT * FROM VALUES
      (1, 'x', NULL, 0.0D, array(1, 2), array(3), map('a', 1), named_struct('p', 'x', 'q', NULL), array(NULL, -0.0D)),
      (2, NULL, 'x', 0.0D, array(1, 2), array(3), map('a', 1), named_struct('p', 'x', 'q', NULL), array(NULL, -0.0D)),
      (3, 'x', NULL, -0.0D, array(1, 2), array(3), map('a', 1), named_struct('p', 'x', 'q', NULL), array(NULL, -0.0D)),
      (4, 'x', NULL, 0.0D, array(1), array(2, 3), map('a', 1), named_struct('p', 'x', 'q', NULL), array(NULL, -0.0D)),
      (5, 'x', NULL, 0.0D, array(1, 2), NULL, map('a', 1), named_struct('p', 'x', 'q', NULL), array(NULL, -0.0D)),
      (6, 'x', NULL, 0.0D, array(1, 2), array(), map('a', 1), named_struct('p', 'x', 'q', NULL), array(NULL, -0.0D)),
      (7, 'x', NULL, 0.0D, array(1, 2), array(3), map('a', 0), named_struct('p', 'x', 'q', NULL), array(NULL, -0.0D)),
      (8, 'x', NULL, 0.0D, array(1, 2), array(3), map('a', 1), named_struct('p', NULL, 'q', 'x'), array(NULL, -0.0D)),
      (9, 'x', NULL, 0.0D, array(1, 2), array(3), map('a', 1), NULL, array(NULL, -0.0D)),
      (10, 'x', NULL, 0.0D, array(1, 2), array(3), map('a', 1), named_struct('p', 'x', 'q', NULL), array(-0.0D, NULL)),
      (11, 'x', NULL, 0.0D, array(1, 2), array(3), map('a', 1), named_struct('p', 'x', 'q', NULL), array(NULL, 0.0D)),
      (12, 'x', NULL, NULL, array(1, 2), array(3), map('a', 1), named_struct('p', 'x', 'q', NULL), array(NULL, -0.0D))
    AS t(n, a, b, d, x, y, m, s, z)"""


def test_records_that_differ_anywhere_have_different_ids(spark: SparkSession) -> None:
    df = spark.sql(TELLING).withColumn("c", F.expr("collate(a, 'UTF8_LCASE')")).drop("n")
    folded = df.limit(1).withColumn("c", F.expr("collate('X', 'UTF8_LCASE')"))
    ids = [row[0] for row in df.unionAll(folded).select(record_id(df)).collect()]
    assert len(set(ids)) == len(ids) == 13


def test_ties_are_cut_the_same_whatever_the_order(spark: SparkSession) -> None:
    answers = []
    for order in ("n", "-n"):
        df = spark.sql(TELLING).orderBy(F.expr(order)).coalesce(1).withColumn("place", F.lit(1)).drop("n")
        answers.append([repr(row) for row in sp.top_k(df, 5, score="place").collect()])
    assert answers[0] == answers[1]


def test_a_value_that_cannot_be_computed_is_null_and_the_session_stays_as_it_is(spark: SparkSession) -> None:
    df = spark.createDataFrame([(1, 0), (6, 2)], "a int, b int")
    setting = "spark.sql.ansi.enabled"
    assert spark.conf.get(setting) == "true"
    seen: list[str | None] = []
    failures: list[Exception] = []
    done = threading.Event()

    def prepares() -> None:
        try:
            for _ in range(4):
                with_expressions(df, {"__sp_in0": Expression("a / b")})
        except Exception as error:  # noqa: BLE001 - shown by the test
            failures.append(error)

    def watches() -> None:
        while not done.is_set():
            seen.append(spark.conf.get(setting))

    watcher = threading.Thread(target=watches)
    threads = [threading.Thread(target=prepares) for _ in range(4)]
    for thread in (watcher, *threads):
        thread.start()
    for thread in threads:
        thread.join()
    done.set()
    watcher.join()
    assert failures == []
    assert set(seen) == {"true"}
    spark.udf.register("plus_one", lambda value: value + 1, "int")
    computed = with_expressions(
        df, {"q": Expression("a / b"), "i": Expression("cast('x' AS int)"), "p": Expression("plus_one(a)")}
    )
    assert computed.sparkSession is spark
    assert [tuple(row) for row in computed.collect()] == [(1, 0, None, None, 2), (6, 2, 3.0, None, 7)]
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        df.selectExpr("a / b").collect()


def test_what_cannot_be_as_in_spark_is_refused_at_start_by_name(spark: SparkSession) -> None:
    df = spark.readStream.format("rate").load().selectExpr(*COLUMNS)
    usable = df.drop("months")

    def start(frame: DataFrame, key: str | None = None, **outputs: str) -> Any:
        question = sp.stream(frame, time="ts", key=key).window("1 second")
        return (question.aggregate(**outputs) if outputs else question.skyline(minimize="whole")).start(
            sink=sp.DiscardSink(), available_now=True
        )

    def ranked(score: str) -> Any:
        question = sp.stream(usable, time="ts").window("1 second").top_k(1, score=score)
        return question.start(sink=sp.DiscardSink(), available_now=True)

    cases: list[tuple[type[Exception], str, Any]] = [
        (
            sp.SchemaError,
            "Key 'folded' is a string collate UTF8_LCASE.*F.lower",
            lambda: start(usable, "folded", n="count"),
        ),
        (
            sp.SchemaError,
            "Key 'lookup' has type map<.*must be a plain column",
            lambda: start(usable, "lookup", n="count"),
        ),
        (sp.SchemaError, "Column 'months' has type interval year to month", lambda: start(df)),
        (
            sp.OptionError,
            r"'make_ym_interval\(1, tiny\)' is of type interval year to month",
            lambda: start(usable, lo="min(make_ym_interval(1, tiny))"),
        ),
        (
            sp.OptionError,
            "'folded' is a string collate UTF8_LCASE, which workers cannot compare",
            lambda: start(usable, lo="min(folded)"),
        ),
        (sp.SchemaError, r"x=sum\(...\) needs numbers, not duration", lambda: start(usable, x="sum(gap)")),
        (sp.SchemaError, r"x=max\(...\) cannot order values of type map", lambda: start(usable, x="max(lookup)")),
        (sp.SchemaError, r"x=max\(...\) cannot order values of type null", lambda: start(usable, x="max(null)")),
        (sp.OptionError, "uses a generator such as explode", lambda: start(usable, x="sum(explode(array(1, 2)))")),
        (sp.OptionError, "uses an aggregate function", lambda: start(usable, x="sum(max(tiny))")),
        (sp.OptionError, "uses a window function", lambda: start(usable, x="max(lag(tiny) OVER (ORDER BY ts))")),
        (sp.OptionError, "uses a subquery", lambda: start(usable, x="sum((SELECT 1))")),
        (sp.OptionError, r"'\*' gives \d+ columns", lambda: start(usable, x="sum(*)")),
        (sp.OptionError, "uses what Spark calls Filter", lambda: start(usable, x="count(window(ts, '1 second'))")),
        (sp.OptionError, "has 20,001 characters, .*nested too deeply", lambda: ranked("(" * 5000 + "1" + "+1)" * 5000)),
        (sp.OptionError, r"'sum\(whole\)' uses an aggregate function", lambda: ranked("sum(whole)")),
        (sp.OptionError, "'flag' is of type bool; it must be a number, a date", lambda: ranked("flag")),
        (sp.OptionError, "'text' is of type string; it must be", lambda: ranked("text")),
    ]
    for kind, message, call in cases:
        with pytest.raises(kind, match=message):
            call()
    assert not spark.streams.active


def test_a_time_at_the_end_of_the_range_is_quarantined(spark: SparkSession, tmp_path: Path) -> None:
    ends = [2**63 - 1, -(2**63), 2**61 + 1, -(2**61) - 1, 2**61, 0, 1, 2]
    micros = pa.array(ends, pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"ts": micros, "n": range(len(ends))}), tmp_path / "0.parquet")
    df = spark.readStream.schema("ts timestamp, n bigint").parquet(str(tmp_path))
    sink, quarantine = sp.MemorySink("in_range"), sp.MemorySink("out_of_range")
    query = (
        sp.stream(df, time="ts").window("1 second").aggregate(n="count").lateness(guard=sp.TimeGuard(max_future=None))
    )
    running = query.start(sink=sink, quarantine=quarantine, available_now=True, flush=True)
    assert running.await_termination(WAIT_S)
    assert running.metrics().ledger.quarantined_by_reason == {"time out of range": 4}
    assert sorted(quarantine.table().column("n").to_pylist()) == [0, 1, 2, 3]
    assert sink.table().column("n").to_pylist() == [3, 1]


def test_what_a_column_says_already_is_not_sent_and_tasks_see_the_same(spark: SparkSession) -> None:
    asked = {
        "__sp_in0": "1",
        "__sp_in1": "price",
        "__sp_in2": "PRICE",
        "__sp_in3": "true",
        "__sp_in4": "price + 1",
        "__sp_in5": "3000000000",
        "__sp_in6": "price",
    }
    rows = spark.sql("SELECT * FROM VALUES (1.5D, 'a', 2), (NULL, 'b', 3) AS t(price, `true`, `a.b`)")
    expressions = {name: Expression(sql) for name, sql in asked.items()}
    prepared = with_expressions(rows, expressions)
    sending = Sending.of(prepared, expressions, ["price"])
    # ``true`` is no column, and one that was taken for one makes the others doubtful.
    assert dict(sending.copies) == {}
    assert dict(sending.constants) == {"__sp_in0": 1}
    del expressions["__sp_in3"]
    prepared = with_expressions(rows, expressions)
    sending = Sending.of(prepared, expressions, ["price"])
    assert dict(sending.copies) == {"__sp_in1": "price", "__sp_in6": "price"}
    sent = sending.select(prepared)
    assert sent.columns == ["price", "true", "a.b", "__sp_in2", "__sp_in4", "__sp_in5"]
    seen = sending.completed(sent.toArrow())
    assert seen.select(prepared.columns).to_pylist() == prepared.toArrow().to_pylist()
    types = {field.name: field.type for field in prepared.toArrow().schema}
    assert {field.name: field.type for field in sending.schema(sent.toArrow().schema)} == types


def test_without_keys_all_are_of_one_key_group_which_is_not_sent(spark: SparkSession) -> None:
    sending = Sending.of(spark.range(2), {}, [])
    assert sending.completed(spark.range(2).toArrow()).column(GROUP).to_pylist() == [0, 0]


HASHED = {
    "whole": "CASE WHEN id % 7 > 0 THEN id * id * id * (id % 3 - 1) END",
    "number": "cast(id * 7919 % 65537 - 30000 AS int)",
    "small": "cast(id % 300 - 150 AS smallint)",
    "tiny": "CASE WHEN id % 5 > 0 THEN cast(id % 200 - 100 AS tinyint) END",
    "flag": "CASE WHEN id % 3 > 0 THEN id % 2 = 0 END",
    "day": "date_add(date'1969-12-01', cast(id AS int))",
    "at": "timestamp_micros(id * 987654321 - 1000000000)",
    "there": "cast(timestamp_micros(id * 987654321) AS timestamp_ntz)",
    "text": "CASE WHEN id % 11 > 0 THEN repeat(concat('\u00e4', id), cast(id % 19 AS int)) END",
    "raw": "encode(repeat('x', cast(id % 70 AS int)), 'UTF-8')",
}


@pytest.mark.parametrize("keys", [*([name] for name in HASHED), list(HASHED)], ids=lambda keys: "-".join(keys[:3]))
def test_tasks_find_the_key_groups_that_spark_would(spark: SparkSession, keys: list[str]) -> None:
    rows = spark.range(500).selectExpr(*(f"{sql} AS `{name}`" for name, sql in HASHED.items()))
    prepared = with_computed_columns(rows, Skyline(Preferences(("number",), ())), tuple(keys))
    sending = Sending.of(prepared, {}, keys)
    sent = sending.select(prepared)
    assert GROUP not in sent.columns
    table = sent.toArrow()
    groups = prepared.select(GROUP).toArrow().column(0).to_pylist()
    assert sending.completed(table).column(GROUP).to_pylist() == groups
    # In pieces, and from the middle of larger ones.
    parts = pa.concat_tables([table.slice(0, 3), table.slice(3, 0), table.slice(3)])
    assert sending.completed(parts).column(GROUP).to_pylist() == groups


@pytest.mark.parametrize("sql", ["1.5D", "1.5BD", "1.5F", "interval '1' second"])
def test_spark_says_the_key_group_of_other_keys(spark: SparkSession, sql: str) -> None:
    rows = spark.range(3).selectExpr("id", f"{sql} AS key")
    prepared = with_computed_columns(rows, Skyline(Preferences(("id",), ())), ("id", "key"))
    sending = Sending.of(prepared, {}, ["id", "key"])
    assert GROUP in sending.select(prepared).columns


def test_columns_that_nobody_reads_are_not_sent(spark: SparkSession) -> None:
    rows = spark.range(3).selectExpr("id", "id AS at", "id * 2 AS price", "'x' AS text", "id AS other")
    expressions = {"__sp_in0": Expression("price"), "__sp_in1": Expression("other + 1")}
    prepared = with_expressions(rows, expressions)
    sending = Sending.of(prepared, expressions, ["id"], read={"at"})
    sent = sending.select(prepared)
    assert sent.columns == ["id", "at", "price", "__sp_in1"]
    seen = sending.completed(sent.toArrow())
    assert seen.column("__sp_in0").to_pylist() == [0, 2, 4]
    assert "text" not in sending.schema(seen.schema).names
