"""Answers equal Spark SQL's own on the same expressions and types. What is refused: test_prepare.py."""

from __future__ import annotations

import random
from collections import Counter
from datetime import date, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

import skypane as sp
from skypane.local.preparation import prepare
from skypane.model.groups import Groups
from skypane.queries.top_k import SCORE, TopK
from skypane.spark.prepare import normalised_keys
from skypane.tables.grouping import key_codes
from tests.support.spark.streams import WAIT_S
from tests.support.spark.values import equal, plain_rows

pytestmark = pytest.mark.spark

NAN, INF = float("nan"), float("inf")
UTC = timezone.utc
FAR = 400_000_000_000_000_000
"""Microseconds: long after the year 9999, the last that Python knows."""

NUMBERS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "tiny": (pa.int8(), [-128, -1, 0, 1, 127]),
    "small": (pa.int16(), [-(2**15), -1, 0, 2, 2**15 - 1]),
    "whole": (pa.int32(), [-(2**31), -1, 0, 3, 2**31 - 1]),
    # Of one sign: whether Spark's own sums overflow on the way depends on the order of records otherwise.
    "big": (pa.int64(), [0, 1, 2**53, 2**53 + 1, 2**62, 2**63 - 1]),
    "below": (pa.int64(), [-(2**63), -(2**53) - 1, -(2**53), 0]),
    "money": (pa.decimal128(7, 2), [Decimal("-99999.99"), Decimal("0.00"), Decimal("0.01"), Decimal("33333.33")]),
    "long0": (pa.decimal128(18, 0), [Decimal(10) ** 18 - 1, Decimal(1), Decimal(-2), Decimal(0)]),
    "wide0": (pa.decimal128(38, 0), [Decimal("9" * 38), Decimal(10) ** 34 - 1, Decimal(10) ** 19, Decimal(1)]),
    "wide2": (pa.decimal128(38, 2), [Decimal("-9" * 1 + "9" * 35 + ".99"), Decimal("-0.01"), Decimal("-7.50")]),
    "wide10": (pa.decimal128(38, 10), [Decimal("0.0000000001"), Decimal("1234567890123456789012345678.0000000001")]),
    "fraction": (pa.decimal128(38, 38), [Decimal("0." + "3" * 38), Decimal("-0." + "0" * 37 + "1"), Decimal("0.5")]),
    "thirds": (pa.decimal128(36, 34), [Decimal("0." + "3" * 34), Decimal("1.5"), Decimal("-0." + "0" * 33 + "7")]),
    "single": (pa.float32(), [-INF, -0.5, -0.0, 0.0, 0.1, 1.0 + 2**-23, NAN]),
    "double": (pa.float64(), [-1.5, -0.0, 0.0, 0.1, 1.0 + 2**-52, 1e15, INF, NAN]),
    "finite": (pa.float64(), [-1.5, -0.0, 0.1, 0.2, 1e9]),
}
OTHERS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "flag": (pa.bool_(), [True, False]),
    "text": (pa.string(), ["", "a", "A", "ab", "é", "\U0001f600", "z\x00"]),
    "bytes": (pa.binary(), [b"", b"\x00", b"\x7f", b"\x80\xff", b"\xff"]),
    "day": (pa.date32(), [date(1, 1, 1), date(1969, 12, 31), date(9999, 12, 31), 5_000_000]),
    "instant": (pa.timestamp("us", "UTC"), [0, -1, 1, FAR, -60_000_000_000_000_000]),
    "local": (pa.timestamp("us"), [0, -1, 1, FAR]),
    "pause": (pa.int64(), [0, -1, 1, 86_400_000_000]),
}
PLAIN = {**NUMBERS, **OTHERS}
KEYS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "kd": (pa.float64(), [0.0, -0.0, NAN]),
    "kf": (pa.float32(), [-0.0, NAN]),
    "km": (pa.decimal128(20, 2), [Decimal("1.00"), Decimal("1.01")]),
    "kt": (pa.string(), ["a", "A"]),
    "kb": (pa.binary(), [b"", b"\x00"]),
    "ki": (pa.timestamp("us", "UTC"), [0, FAR]),
}
EXPRESSIONS = [
    "*",
    "timestamp_micros(pause) - timestamp_micros(0) AS gap",
    "collate(text, 'UTF8_LCASE') AS folded",
    "make_ym_interval(1, tiny) AS months",
    "map('k', small) AS lookup",
]
ROWS = 900


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file of records of every type: nulls, extremes, neighbours, many of them equal."""
    rng = random.Random(7)
    seconds = 12
    columns: dict[str, pa.Array] = {
        "ts": pa.array([rng.randrange(seconds * 1_000_000) for _ in range(ROWS)], pa.timestamp("us", "UTC")),
        "who": pa.array([rng.choice(["x", "y", None]) for _ in range(ROWS)]),
    }
    for name, (kind, pool) in {**PLAIN, **KEYS}.items():
        # Seldom more than a few values in a window, so that sums that fit are there as well as sums that do not.
        sparse = 0.7 if pa.types.is_decimal(kind) or name in {"big", "below"} else 0.2
        values = [None if rng.random() < sparse else rng.choice(pool) for _ in range(ROWS)]
        columns[name] = pa.array([_date32(v) for v in values], kind) if name == "day" else pa.array(values, kind)
    where = tmp_path_factory.mktemp("records")
    pq.write_table(pa.table(columns), where / "records.parquet", coerce_timestamps="us")
    return where


def _date32(value: Any) -> Any:
    """Days since the epoch, which go beyond the years that Python has."""
    return (value - date(1970, 1, 1)).days if isinstance(value, date) else value


def records(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.read.parquet(str(folder)).selectExpr(*EXPRESSIONS)


def stream(spark: SparkSession, folder: Path) -> DataFrame:
    schema = spark.read.parquet(str(folder)).schema
    return spark.readStream.schema(schema).parquet(str(folder)).selectExpr(*EXPRESSIONS)


def aggregates() -> dict[str, str]:
    """Every function of every type that it is for."""
    names = [*PLAIN, "gap"]
    outputs = {"n": "count"}
    outputs |= {f"count_{name}": f"count({name})" for name in (*WIDE, "text", "gap", "folded", "lookup")}
    outputs |= {f"{f}_{name}": f"{f}({name})" for name in names for f in ("min", "max")}
    outputs |= {f"{f}_{name}": f"{f}({name})" for name in NUMBERS for f in ("sum", "mean")}
    some = ("whole", "money", "wide10", "single", "double", "finite")
    outputs |= {f"{f}_{name}": f"{f}({name})" for name in some for f in ("variance", "stddev_samp", "var_pop")}
    outputs |= {f"{f}_{name}": f"{f}({name})" for name in (*names, "lookup") for f in ("first", "last")}
    outputs |= {f"by_{name}": f"max_by(text, if({name} IS NULL, NULL, ts))" for name in ("whole", "folded")}
    outputs |= {f"list_{name}": f"collect_list({name}, 7)" for name in LISTED}
    outputs |= {f"near_{name}": f"approx_percentile({name}, 0.3)" for name in RANKED}
    outputs |= {f"ends_{name}": f"approx_percentile({name}, array(0, 0.5, 1), 2000)" for name in ("tiny", "money")}
    return outputs | {f"distinct_{name}": f"approx_count_distinct({name})" for name in (*LISTED, "day")}


WIDE = ("big", "below", "wide0", "wide2")
LISTED = ("whole", "money", "double", "text", "bytes")
RANKED = ("tiny", "small", "whole", "money", "single", "double", "finite", "day", "pause", "gap")
"""Spark itself takes percentiles of doubles, so not those of long decimals and large integers."""
INEXACT = ("sum", "mean", "var", "stddev")
"""Where Spark adds up doubles in the order in which it reads them."""
SPARKS_OWN = {
    "sum(": "try_sum(",
    "mean(": "try_avg(",
    "approx_count_distinct(": "count(DISTINCT ",  # of few values ours is exact, too
}


def sparks_own(text: str) -> str:
    """What Spark calls the same; its own first and collect_list depend on the order in which it reads records."""
    function, _, argument = text.partition("(")
    if function in {"first", "last"}:
        return f"{'min' if function == 'first' else 'max'}_by({argument[:-1]}, ts)"
    if function == "collect_list":
        name, limit = argument[:-1].split(", ")
        there = f"collect_list(struct(ts, {name})) FILTER (WHERE {name} IS NOT NULL)"
        return f"slice(array_sort({there}).{name}, 1, {limit})"
    return "count(1)" if text == "count" else SPARKS_OWN.get(f"{function}(", f"{function}(") + argument


def test_aggregates_of_every_type_are_those_of_spark(spark: SparkSession, folder: Path) -> None:
    outputs, sink = aggregates(), sp.MemorySink("same_aggregates")
    query = sp.stream(stream(spark, folder).drop("months"), time="ts", key="who").window("1 second")
    running = query.aggregate(**outputs).start(sink=sink, available_now=True, flush=True)
    assert running.await_termination(WAIT_S)
    assert running.metrics().ledger.accepted == ROWS
    own = [F.expr(sparks_own(text)).alias(name) for name, text in outputs.items()]
    wanted = records(spark, folder).groupBy("who", F.window("ts", "1 second")).agg(*own)
    got = spark.table("same_aggregates")
    kinds = {f.name: f.dataType.simpleString() for f in got.schema.fields}
    assert kinds == {f.name: f.dataType.simpleString() for f in wanted.schema.fields}
    ours = {(row["who"], row["window"]): row for row in plain_rows(sink.table())}
    theirs = {(row["who"], row["window"]): row for row in plain_rows(wanted.toArrow())}
    assert ours.keys() == theirs.keys()
    different = [
        (where, name, ours[where][name], row[name])
        for where, row in theirs.items()
        for name, text in outputs.items()
        if not equal(ours[where][name], row[name], exact=not text.startswith(INEXACT))
    ]
    assert different == []
    for name in WIDE:  # they fit here and overflow there
        assert {row[f"sum_{name}"] is None for row in theirs.values() if row[f"count_{name}"]} == {True, False}
    assert {row["mean_wide0"] is None for row in theirs.values() if row["count_wide0"]} == {True, False}


def test_keys_of_every_type_are_grouped_as_by_spark(spark: SparkSession, folder: Path) -> None:
    keys, sink = tuple(KEYS), sp.MemorySink("same_keys")
    query = sp.stream(stream(spark, folder).select("ts", *keys), time="ts", key=list(keys)).window("4 seconds")
    assert query.aggregate(n="count").start(sink=sink, available_now=True, flush=True).await_termination(WAIT_S)
    wanted = records(spark, folder).groupBy(*keys, F.window("ts", "4 seconds")).agg(F.count("*").alias("n"))
    assert counted(sink.table()) == counted(wanted.toArrow())


def counted(table: pa.Table) -> Counter[str]:
    return Counter(repr(sorted(row.items())) for row in plain_rows(table))


def test_each_type_as_key_makes_the_groups_of_spark(spark: SparkSession, folder: Path) -> None:
    names = [*PLAIN, *KEYS, "gap"]
    df = records(spark, folder)
    df.createOrReplaceTempView("typed_records")
    sets = ", ".join(f"({name})" for name in names)
    grouped = (
        f"SELECT grouping_id({', '.join(names)}) AS g, count(*) AS n FROM typed_records GROUP BY GROUPING SETS ({sets})"
    )
    theirs: dict[int, list[int]] = {}
    for row in spark.sql(grouped).collect():
        theirs.setdefault(row.g, []).append(row.n)
    table = normalised_keys(df.select(*names), tuple(names)).toArrow()
    everything = (1 << len(names)) - 1
    for index, name in enumerate(names):
        ours = np.unique(key_codes(table, [name]), return_counts=True)[1].tolist()
        assert sorted(ours) == sorted(theirs[everything - (1 << (len(names) - 1 - index))]), name


def test_top_k_ranks_scores_of_every_type_as_spark_does(spark: SparkSession, folder: Path) -> None:
    names = [*NUMBERS, "day", "instant", "local", "gap"]
    df = records(spark, folder)
    best = []
    for name in names:
        usable = f"{name} IS NOT NULL" + (f" AND NOT isnan({name})" if name in {"single", "double"} else "")
        found = f"slice(sort_array(collect_list({name}) FILTER (WHERE {usable}), false), 1, 40)"
        best.append(F.expr(found).alias(name))
    theirs = df.agg(*best).toArrow()
    rows = df.drop("months").toArrow()
    for name in names:
        query = TopK(40, name)
        table = prepare(query, (), rows)
        query.check(table.schema)
        unusable = np.logical_or.reduce([problem.mask for problem in query.invalid(table)])
        table = table.filter(pa.array(~unusable))
        lifted = query.lift(table, Groups.whole(table.num_rows))
        ours = query.lower(*lifted).table.column(SCORE)
        wanted = theirs.column(name).combine_chunks().flatten()
        assert ours.type == wanted.type, name
        assert ours.combine_chunks().equals(wanted), name


def test_top_k_keeps_scores_exact_and_in_their_type(spark: SparkSession) -> None:
    df = spark.sql(
        """SELECT 'smaller' AS who, 9007199254740992 AS n, cast('123456789012345678.10' AS decimal(20, 2)) AS d
           UNION ALL SELECT 'larger', 9007199254740993, cast('123456789012345678.11' AS decimal(20, 2))"""
    )
    assert sp.top_k(df, 1, score="n").collect() == [("larger", 2**53 + 1, Decimal("123456789012345678.11"), 2**53 + 1)]
    by_decimal = sp.top_k(df, 1, score="d * 10")
    assert (
        by_decimal.schema["score"].dataType.simpleString() == df.selectExpr("d * 10").schema[0].dataType.simpleString()
    )
    assert [(row.who, row.score) for row in by_decimal.collect()] == [("larger", Decimal("1234567890123456781.10"))]


def test_payload_of_every_type_comes_through_as_it_was(spark: SparkSession, folder: Path) -> None:
    df = records(spark, folder).drop("months", "kd", "kf").where("whole = 3 AND tiny = 1").coalesce(1)
    wanted = df.toArrow()
    answer = sp.top_k(df, ROWS, score="whole")
    assert answer.schema.fields[:-1] == df.schema.fields
    assert wanted.num_rows > 10
    assert counted(answer.drop("score", "lookup").toArrow()) == counted(wanted.drop_columns(["lookup"]))
