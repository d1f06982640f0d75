"""One table, once: skyline, top-delta and top-k equal the brute-force oracle on thousands of generated tables."""

from __future__ import annotations

import logging.handlers
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.errors import AnalysisException
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

import skypane as sp
from skypane.queries.base import Query
from skypane.queries.preferences import Preferences
from skypane.queries.skyline import Skyline
from skypane.queries.top_delta import TopDelta
from skypane.queries.top_k import TopK
from tests.support.spark.tables import (
    answers_by_group,
    attribute_names,
    expected_by_group,
    generated,
    kinds_of,
    packed,
    tables,
)

pytestmark = pytest.mark.spark

EXAMPLES = 350


def ask(df: DataFrame, query: Query, by: list[str]) -> DataFrame:
    """The public function for a query object."""
    if isinstance(query, TopK):
        return sp.top_k(df, query.k, score=query.score, by=by)
    assert isinstance(query, Skyline | TopDelta)
    chosen: dict[str, Any] = {
        "minimize": query.preferences.minimize,
        "maximize": query.preferences.maximize,
        "by": by,
    }
    return sp.skyline(df, **chosen) if isinstance(query, Skyline) else sp.top_delta(df, query.delta, **chosen)


def queries_for(attributes: int) -> list[Query]:
    names = attribute_names(attributes)
    preferences = Preferences.of(names[: (attributes + 1) // 2], names[(attributes + 1) // 2 :])
    return [Skyline(preferences), TopDelta(3, preferences), TopK(3, names[-1])]


@pytest.mark.parametrize("attributes", [1, 2, 3, 5, 7, 16])
def test_thousands_of_packed_tables_equal_the_oracle(spark: SparkSession, attributes: int) -> None:
    kinds = kinds_of(attributes)
    examples = generated(tables(kinds, max_rows=12 if attributes < 16 else 8), EXAMPLES)
    # One attribute has few tables; with more, hypothesis finds as many as asked for.
    assert len(examples) > EXAMPLES // 2
    df = spark.createDataFrame(packed(examples, kinds)).repartition(3).cache()
    try:
        for query in queries_for(attributes):
            answer = ask(df, query, ["t"])
            assert answer.schema.fields[: len(df.columns)] == df.schema.fields
            assert answers_by_group(answer, ["t"]) == expected_by_group(df, query, ["t"]), query
    finally:
        df.unpersist()


@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), attributes=st.sampled_from([1, 2, 3, 4, 16]), partitions=st.integers(1, 3))
def test_single_tables_equal_the_oracle(
    spark: SparkSession, data: st.DataObject, attributes: int, partitions: int
) -> None:
    kinds = kinds_of(attributes)
    example = data.draw(tables(kinds, max_rows=30))
    df = spark.createDataFrame(packed([example], kinds)).repartition(partitions)
    for query in queries_for(attributes):
        got = answers_by_group(ask(df, query, []), [])
        assert got == expected_by_group(df, query, []), query


def rows_of(df: DataFrame) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in df.collect()), key=repr)


def test_groups_of_several_columns_with_nulls_and_zeros(spark: SparkSession) -> None:
    rows = [
        (city, zone, price, rating)
        for city in ("ulm", None, "bonn", "")
        for zone in (0.0, -0.0, None, float("nan"))
        for price, rating in ((1, 5), (2, 5), (2, 6), (1, 5))
    ]
    df = spark.createDataFrame(rows, "city string, zone double, price int, rating int").repartition(3)
    answer = sp.skyline(df, minimize="price", maximize="rating", by=["city", "zone"])
    best = F.struct("price", "rating")
    found = answer.groupBy("city", "zone").agg(F.sort_array(F.collect_list(best)).alias("best")).collect()
    sizes = {(row.city, repr(row.zone)): [tuple(b) for b in row.best] for row in found}
    cities: list[str | None] = ["ulm", None, "bonn", ""]
    once, twice = [(1, 5), (1, 5), (2, 6)], [(1, 5)] * 4 + [(2, 6)] * 2  # 0.0 and -0.0 are one zone
    wanted = {(city, "0.0"): twice for city in cities}
    wanted |= {(city, zone): once for city in cities for zone in ("None", "nan")}
    assert sizes == wanted


def test_many_rows_in_few_partitions_are_reduced_in_pieces(spark: SparkSession) -> None:
    # More rows than one piece (2**18) in one partition, so that partials of pieces are combined.
    df = spark.range(0, 600_000, 1, 1).select(
        F.col("id"),
        (F.col("id") % 997).alias("a"),
        (F.lit(1000) - F.col("id") % 997 + (F.col("id") * 7919) % 50).alias("b"),
        (F.col("id") % 2 == 0).alias("even"),
    )
    rows = df.toArrow().to_pylist()
    wanted = set()
    for even in (True, False):
        group = [row for row in rows if row["even"] == even]
        least: dict[int, int] = {}
        for row in group:
            least[row["a"]] = min(row["b"], least.get(row["a"], row["b"]))
        front, best = set(), 10**9
        for a in sorted(least):
            if least[a] < best:
                best = least[a]
                front.add((a, best))
        assert len(front) > 10
        wanted |= {row["id"] for row in group if (row["a"], row["b"]) in front}
    got = [row.id for row in sp.skyline(df, minimize=["a", "b"], by="even").select("id").collect()]
    assert len(got) == len(set(got))
    assert set(got) == wanted


@pytest.mark.parametrize("partitions", [1, 3])
def test_empty_tables_give_empty_answers_with_the_right_columns(spark: SparkSession, partitions: int) -> None:
    df = spark.createDataFrame([], "city string, price decimal(10,2), at timestamp").repartition(partitions)
    assert sp.skyline(df, minimize="price", by="city").collect() == []
    assert sp.skyline(df, minimize="price").schema == df.schema
    delta = sp.top_delta(df, 5, minimize="price")
    assert delta.collect() == []
    assert delta.schema.simpleString() == "struct<city:string,price:decimal(10,2),at:timestamp,kmax:int>"
    ranked = sp.top_k(df, 5, score="price * 2", by="city")
    assert ranked.collect() == []
    assert ranked.schema.simpleString() == "struct<city:string,price:decimal(10,2),at:timestamp,score:decimal(12,2)>"


def test_payload_of_any_type_comes_through_unchanged(spark: SparkSession) -> None:
    df = spark.sql(
        """select 1 as price, 'text' as s, array(1, 2) as list, named_struct('a', 1, 'b', array('x')) as nested,
                  date'2024-02-29' as d, timestamp'1969-12-31 23:59:59.999999' as t,
                  timestamp_ntz'2024-01-01 00:00:00' as ntz, cast('ab' as binary) as bin, interval '3' second as i,
                  true as flag, cast(null as string) as nothing, map('k', 1) as m"""
    )
    assert sp.skyline(df, minimize="price", by="s").collect() == df.collect()
    assert sp.top_k(df, 1, score="price").drop("score").collect() == df.collect()


def test_columns_with_dots_spaces_and_backticks_work(spark: SparkSession) -> None:
    df = spark.createDataFrame([(1, 2, "a"), (2, 3, "a"), (5, 6, "b")], "`p.x` int, `odd ``name` int, `k.ey` string")
    assert rows_of(sp.skyline(df, minimize=["p.x", "odd `name"], by="k.ey")) == [(1, 2, "a"), (5, 6, "b")]
    assert rows_of(sp.top_delta(df, 1, minimize=["p.x"], by=["k.ey"])) == [(1, 2, "a", 0), (5, 6, "b", 0)]
    assert rows_of(sp.top_k(df, 1, score="`p.x`", by=["k.ey"])) == [(2, 3, "a", 2), (5, 6, "b", 5)]


def test_works_in_a_transform_chain_and_with_sql_scores(spark: SparkSession) -> None:
    df = spark.createDataFrame([(4.0, 2), (9.0, 3), (8.0, 4)], "rating double, price int")
    chained = df.transform(sp.skyline, minimize=["price"], maximize=["rating"]).where("price > 2")
    assert rows_of(chained) == [(9.0, 3)]
    best = df.transform(lambda d: sp.top_k(d, 1, score="rating / price + CASE WHEN price = 2 THEN 0 ELSE 1 END"))
    assert rows_of(best) == [(9.0, 3, 4.0)]
    assert rows_of(df.transform(sp.top_delta, 1, minimize=["price"], maximize=["rating"])) == [(4.0, 2, 1)]


def test_invalid_rows_stop_the_query_or_are_dropped(spark: SparkSession) -> None:
    df = spark.createDataFrame(
        [(1.0, 1), (float("nan"), 1), (None, 2), (3.0, None)], "price double, rating int"
    ).coalesce(1)
    with pytest.raises(Exception, match=r"1 rows: null in attribute 'rating'\. Filter .* invalid='drop'"):
        sp.skyline(df.where("price = 3"), minimize="price", maximize="rating").collect()
    with pytest.raises(Exception, match="1 rows: NaN in attribute 'price'"):
        sp.skyline(df.where("price is not null"), minimize="price").collect()
    with pytest.raises(Exception, match="1 rows: NaN score"):
        sp.top_k(df.where("price is not null"), 1, score="price").collect()
    assert rows_of(sp.skyline(df, minimize="price", maximize="rating", invalid="drop")) == [(1.0, 1)]
    assert rows_of(sp.top_k(df, 9, score="price", invalid="drop")) == [(1.0, 1, 1.0), (3.0, None, 3.0)]


def test_refused_options_say_what_is_wrong(spark: SparkSession) -> None:
    df = spark.createDataFrame(
        [(1, "x", (1,), 1, 1.0, True)],
        "price int, name string, nested struct<a:int>, kmax int, score double, flag boolean",
    )
    usable = df.drop("kmax", "score")
    cases: list[tuple[type[Exception], str, Any]] = [
        (
            sp.SchemaError,
            "Attribute 'prize' is not a column. Did you mean 'price'\\? The columns are: price,",
            lambda: sp.skyline(df, minimize="prize"),
        ),
        (
            sp.SchemaError,
            "Attribute 'name' has type string; attributes must be numeric",
            lambda: sp.skyline(df, minimize="name"),
        ),
        (sp.SchemaError, "Attribute 'flag' has type bool", lambda: sp.skyline(df, minimize="flag")),
        (sp.SchemaError, "Grouping column 'town' is not a column", lambda: sp.skyline(df, minimize="price", by="town")),
        (
            sp.SchemaError,
            "Grouping column 'nested' must be a plain column",
            lambda: sp.skyline(df, minimize="price", by="nested"),
        ),
        (sp.SchemaError, "a column 'kmax', which top-delta adds", lambda: sp.top_delta(df, 1, minimize="price")),
        (sp.SchemaError, "a column 'score', which top-k adds", lambda: sp.top_k(df, 1, score="price")),
        (
            sp.SchemaError,
            "'__sp_x'.*reserved",
            lambda: sp.skyline(df.withColumnRenamed("name", "__sp_x"), minimize="price"),
        ),
        (sp.SchemaError, "is there twice", lambda: sp.skyline(df.select("price", "price"), minimize="price")),
        (sp.OptionError, "at least one attribute", lambda: sp.skyline(df)),
        (sp.OptionError, "'price' is named twice", lambda: sp.skyline(df, minimize="price", maximize="price")),
        (sp.OptionError, "delta=0 must be a whole number", lambda: sp.top_delta(usable, 0, minimize="price")),
        (sp.OptionError, "k=1.5 must be a whole number", lambda: sp.top_k(usable, 1.5, score="price")),  # type: ignore[arg-type]
        (sp.OptionError, "score='  ' must be a SQL expression", lambda: sp.top_k(usable, 1, score="  ")),
        (sp.OptionError, "'prize / 2' cannot be computed", lambda: sp.top_k(usable, 1, score="prize / 2")),
        (sp.OptionError, "'flag' is of type bool; it must be a number", lambda: sp.top_k(usable, 1, score="flag")),
        (sp.OptionError, "'name' is of type string; it must be a number", lambda: sp.top_k(usable, 1, score="name")),
        (sp.OptionError, r"'price \+' cannot be computed: \[PARSE", lambda: sp.top_k(usable, 1, score="price +")),
        (sp.SchemaError, "a column 'score'", lambda: sp.top_k(usable.withColumn("Score", F.lit(1)), 1, score="1")),
        (sp.OptionError, "invalid='skip' must be 'error'", lambda: sp.skyline(df, minimize="price", invalid="skip")),
        (
            sp.OptionError,
            "for a stream use sp.stream",
            lambda: sp.skyline(spark.readStream.format("rate").load(), minimize="value"),
        ),
    ]
    for kind, message, call in cases:
        with pytest.raises(kind, match=message):
            call()


def test_what_spark_refuses_is_told_but_not_logged(spark: SparkSession) -> None:
    table = spark.createDataFrame([(1.0, "a")], "price double, name string")
    logger, logged = PySparkLogger.getLogger("SQLQueryContextLogger"), logging.handlers.BufferingHandler(10)
    logging.Logger.addHandler(logger, logged)
    try:
        with pytest.raises(sp.OptionError, match="'prize' cannot be computed"):
            sp.top_k(table, 1, score="prize")
        assert logged.buffer == []
        with pytest.raises(AnalysisException):
            table.selectExpr("prize")
        assert len(logged.buffer) == 1
    finally:
        logger.removeHandler(logged)


def test_a_small_table_takes_one_job(spark: SparkSession, tmp_path: Path) -> None:
    rows = [(n, n % 7, f"k{n % 3}") for n in range(1000)]
    schema = "n int, price int, city string"
    listed = spark.createDataFrame(rows, schema)
    listed.write.parquet(str(tmp_path / "small"))
    held = listed.where("n < 900").cache()
    held.count()
    few_tasks = {
        "list": listed,
        "arrow": spark.createDataFrame(pa.table({"n": range(1000), "price": [5] * 1000, "city": ["x"] * 1000})),
        "files": spark.read.parquet(str(tmp_path / "small")).where("n % 2 = 0").selectExpr("n", "price + 1 AS price"),
        "range": spark.range(1000).selectExpr("id AS n", "id % 7 AS price"),
        "cached": held,
    }
    slow = F.udf(lambda n: n, "int")
    many_tasks = {
        "large": spark.range(10_000_000).selectExpr("id AS n", "id % 7 AS price").where("n < 10"),
        "exploding": spark.range(10).selectExpr("id AS n", "explode(sequence(1, 10)) AS price"),
        "python": spark.range(10).select(slow("id").alias("n"), F.lit(1).alias("price")),
        "long list": spark.createDataFrame(rows * 30, schema),
    }
    for name, df in {**few_tasks, **many_tasks}.items():
        assert jobs_of(sp.skyline(df, minimize="price"), name) == (1 if name in few_tasks else 2), name
    held.unpersist()


def jobs_of(df: DataFrame, name: str) -> int:
    context = df.sparkSession.sparkContext
    context.setJobGroup(name, name)
    try:
        df.collect()
        return len(context.statusTracker().getJobIdsForGroup(name))
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]  # takes it back


def test_score_ties_are_cut_the_same_whatever_the_partitions(spark: SparkSession) -> None:
    table = pa.table({"n": list(range(60)), "points": [i % 3 for i in range(60)]})
    answers = [
        rows_of(sp.top_k(spark.createDataFrame(table).repartition(parts), 25, score="points")) for parts in (1, 2, 5)
    ]
    assert answers[0] == answers[1] == answers[2]
    assert [row[1] for row in answers[0]].count(2) == 20
