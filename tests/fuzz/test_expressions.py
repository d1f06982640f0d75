"""Expressions: whatever a user writes is understood by Spark, or refused by skypane with the expression named."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

import skypane as sp
from skypane.api.options.run_options import RunOptions
from skypane.model.errors import SkypaneError
from skypane.queries.base import Expression
from skypane.spark.expressions import with_expressions

pytestmark = pytest.mark.spark

PIECES = [
    *("value", "timestamp", "other", "1", "-1.5", "null", "'x'", "'", "`", "``", '"', "(", ")", "()", "*", "+", "/"),
    *(",", ".", ";", "--", "/*", "and", "case when", "end", "interval 1 day", "array(1)", "explode(array(1, 2))"),
    *(
        "sum(value)",
        "rand()",
        "count(*) over ()",
        "max(",
        "struct(value)",
        "(select 1)",
        ":x",
        "?",
        "$",
        "\0",
        "as y",
        "∞",
    ),
]
texts = st.one_of(st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map(" ".join), st.text(max_size=6))


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts, st.sampled_from(["score", "argument", "whole aggregate", "attribute", "key", "time"]))
@example("sum(value)", "score")
@example("rand()", "argument")
@example("count(*) over ()", "score")
@example("(select 1)", "score")
@example("explode(array(1, 2))", "argument")
@example("", "score")
def test_any_expression_is_planned_or_refused_by_name(spark: SparkSession, text: str, place: str) -> None:
    df = spark.readStream.format("rate").load()
    where = {"time": text if place == "time" else "timestamp", "key": text if place == "key" else None}
    try:
        windowed = sp.stream(df, **where).window("1 second")  # type: ignore[arg-type]  # users give anything
        query = {
            "score": lambda: windowed.top_k(1, score=text),
            "argument": lambda: windowed.aggregate(n=f"max({text})"),
            "whole aggregate": lambda: windowed.aggregate(n=text),
            "attribute": lambda: windowed.skyline(minimize=text),
        }.get(place, lambda: windowed.aggregate(n="count"))()
        query.check(RunOptions(sp.DiscardSink()))
    except SkypaneError as error:
        refusal = str(error)
    else:
        return
    assert repr(text)[1:-1].strip() in refusal or text.strip() in refusal or place in refusal, refusal


POISON = """
    SELECT element_at(array(1, 0, -2147483648, 2147483647, NULL, 3), id + 1) AS i,
           element_at(array('5', 'n/a', '(', NULL, '%', '2020-02-30'), id + 1) AS s,
           element_at(array(array(1, 2), array(), NULL, array(NULL, 0), array(2147483647), array(7)), id + 1) AS a,
           element_at(array(map(1, 'x'), map(), NULL, map(0, NULL), map(7, '('), map(3, '')), id + 1) AS m,
           element_at(array(date'2020-02-29', NULL, date'0001-01-01', date'9999-12-31', NULL, NULL), id + 1) AS d,
           timestamp_micros(element_at(array(0L, 9223372036854775807L, -9223372036854775807L, NULL, 1, 2), id + 1)) AS t
    FROM (SELECT CAST(id AS INT) AS id FROM range(0, 6, 1, 1))"""
VALUES = ["i", "s", "a", "m", "d", "t", "i - 1", "concat(s, '(')", "coalesce(i, 7)", "if(i > 0, s, 'x')"]
"""No constants: those that are wrong fail before the first record."""
CALLS = [
    *("CAST({} AS INT)", "CAST({} AS DATE)", "CAST({} AS DECIMAL(3, 1))", "to_number({}, '999')", "unhex({})"),
    *("{} / {}", "{} % {}", "{} + {}", "{} * {}", "-{}", "abs({})", "div({}, {})", "pmod({}, {})", "factorial({})"),
    *(
        "element_at({}, {})",
        "{}[{}]",
        "elt({}, {}, {})",
        "size(sequence(1, {} % 5, 1))",
        "CAST(parse_json({}) AS STRING)",
    ),
    *("{} RLIKE {}", "regexp_extract({}, {}, {})", "regexp_replace({}, {}, {})", "{} LIKE {}", "split({}, {})[{}]"),
    *("make_date({}, {}, 1)", "make_timestamp(2020, {}, {}, 0, 0, 0)", "date_add(d, {})", "t + make_interval({})"),
    *("to_timestamp({}, 'yyyy')", "to_date({}, {})", "date_format(t, {})", "from_utc_timestamp(t, {})", "chr({})"),
    *("raise_error({})", "assert_true({} > {})", "if({} > {}, {}, {})", "coalesce({}, {})", "CASE WHEN {} THEN {} END"),
    *("transform(a, x -> x / {})[{}]", "aggregate(a, 0, (x, y) -> x + y * {})", "conv({}, {}, 10)", "decode({}, {})"),
    *(
        "to_binary({}, 'hex')",
        "from_json({}, 'x int', map('mode', 'FAILFAST')).x",
        "url_decode({})",
        "map_keys({})[{}]",
    ),
]
"""Functions that fail for some arguments, whatever the setting of ANSI errors says."""


def called(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def of(call: str) -> st.SearchStrategy[str]:
        arguments = st.tuples(*[inner] * call.count("{}"))
        return arguments.map(lambda given: call.format(*(f"({each})" for each in given)))

    return st.sampled_from(CALLS).flatmap(of)


calls = called(st.recursive(st.sampled_from(VALUES), called, max_leaves=4))


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(calls, min_size=3, max_size=6))
@example([call.format(*["(s)", "(i)", "(s)", "(i)"][: call.count("{}")]) for call in CALLS])
@example([call.format(*["(i)", "(i)", "(i)", "(s)"][: call.count("{}")]) for call in CALLS])
def test_no_expression_that_is_accepted_fails_for_any_record(spark: SparkSession, texts: list[str]) -> None:
    df = spark.sql(POISON)
    accepted = {f"x{n}": Expression(text) for n, text in enumerate(texts) if is_accepted(df, text)}
    assert with_expressions(df, accepted).toArrow().num_rows == 6


def is_accepted(df: DataFrame, text: str) -> bool:
    try:
        with_expressions(df, {"x": Expression(text)})
    except SkypaneError:
        return False
    return True
