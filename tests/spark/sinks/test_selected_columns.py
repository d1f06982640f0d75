"""The columns that a sink stores, as SQL expressions over a row."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, DoubleType, IntegerType, StringType, StructField, StructType, TimestampType

import skypane as sp
from skypane.spark.sinks.selected_columns import SelectedColumns

TIMES = StructType([StructField("start", TimestampType()), StructField("end", TimestampType())])
ROWS = StructType(
    [
        StructField("city", StringType()),
        StructField("window", TIMES),
        StructField("prices", ArrayType(DoubleType())),
        StructField("n", IntegerType()),
    ]
)


@pytest.mark.parametrize("given", [[], [""], ["city", " "], [1], {"a": "city"}, 3, b"city"])
def test_anything_but_texts_is_refused(given: Any) -> None:
    with pytest.raises(sp.OptionError, match=r"it: columns=.* must be a list of SQL expressions, e\.g\. columns="):
        SelectedColumns.of(given, "it")


def test_without_expressions_rows_stay_as_they_are(spark: SparkSession) -> None:
    assert SelectedColumns.of(None, "it").check(spark, ROWS) == ROWS


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ("city", "city"),
        (["window.start AS s", "n + 1 AS m"], "s,m"),
        (("city AS key", "to_json(struct(*)) AS value"), "key,value"),
        (["window.*", "explode(prices) AS price"], "start,end,price"),
        (["*", "row_number() OVER (ORDER BY n) AS place"], "city,window,prices,n,place"),
    ],
)
def test_expressions(spark: SparkSession, columns: Any, names: str) -> None:
    assert ",".join(SelectedColumns.of(columns, "it").check(spark, ROWS).names) == names


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["town"], r"columns=\['town'\] cannot be computed: .*town.* The rows have: city, window, prices, n\."),
        (["city + )"], "cannot be computed: "),
        (["count(*) AS n"], "an aggregate function, which would leave one row of each step"),
        (["n", "city AS N"], "gives two columns the name 'n'"),
        (["window.start", "window.start"], "gives two columns the name 'start'"),
    ],
)
def test_expressions_that_cannot_be_meant(
    spark: SparkSession, columns: list[str], message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(sp.OptionError, match=rf"it: {message}" if message.startswith("col") else message) as refused:
        SelectedColumns.of(columns, "it").check(spark, ROWS)
    assert "\n" not in str(refused.value)
    assert "QueryContextLogger" not in capfd.readouterr().err
