"""Expressions: whatever a user writes is understood by Spark, or refused by skypane with the expression named."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import skypane as sp
from skypane.api.options.run_options import RunOptions
from skypane.model.errors import SkypaneError

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
