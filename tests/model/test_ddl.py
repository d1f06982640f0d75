"""Columns as SQL writes them: read as Spark reads them, without Spark."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from skypane.model.ddl import as_schema, parse_schema, schema_text
from skypane.model.errors import OptionError

TEXTS = (
    "a int, b bigint, c double",
    "a: tinyint, b: smallint, `odd name` float, `a``b` string",
    "flag BOOLEAN NOT NULL, code binary COMMENT 'what, it is', day date",
    "at timestamp, there timestamp_ntz, pause interval day to second",
    "d decimal, e decimal(5), f numeric(38, 10)",
    "xs array<double>, m map<string, array<int>>, s struct<a: int, b: struct<c: string>>",
    "struct<a: int, b: array<string>>",
)


@pytest.mark.spark
def test_texts_are_read_as_spark_reads_them(spark: SparkSession) -> None:
    assert spark is not None
    for text in TEXTS:
        theirs: Any = StructType.fromDDL(text[7:-1] if text.startswith("struct") else text)
        wanted = [(f.name, _plain(f.type)) for f in to_arrow_schema(theirs, timezone="UTC")]
        assert [(f.name, _plain(f.type)) for f in parse_schema(text, "schema")] == wanted, text
        assert [(f.name, _plain(f.type)) for f in as_schema(theirs, "schema")] == wanted, text


def _plain(kind: pa.DataType) -> str:
    """Without what Spark says about nulls inside."""
    return str(kind).replace(" not null", "").replace("element:", "item:")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a", "'nothing' is not a type"),
        ("a lon", "'lon' is not a type; there are boolean"),
        ("a int b int", "'the end' is missing before 'b'"),
        ("a array<int", "'>' is missing before 'the end'"),
        ("a int,, b int", "the name of a column is missing before ','"),
        ("a decimal(x)", "a number is missing before 'x'"),
        ("a int; b", "at '; b'"),
        ("a interval year to month", "only 'interval day to second'"),
    ],
)
def test_what_cannot_be_read_is_told_with_the_place(text: str, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        parse_schema(text, "schema")


def test_columns_are_written_as_they_are_read() -> None:
    text = "n long, i int, s struct<at: timestamp, m: map<string, array<double>>>, d decimal(5, 2), t timestamp_ntz"
    assert schema_text(parse_schema(text, "schema")) == text
    for text in TEXTS:
        schema = parse_schema(text, "schema")
        types = [schema_text(pa.schema([("a", field.type)])) for field in schema]
        assert [parse_schema(one, "schema").field("a").type for one in types] == [field.type for field in schema]
    assert schema_text(pa.schema([("a", pa.uint8())])) == "a uint8"
