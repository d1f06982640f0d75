"""What Spark's writers can store is known before anything is written."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

import skypane as sp
from skypane.spark.sinks.selected_columns import SelectedColumns
from skypane.spark.sinks.storable import Target, check_storable

pytestmark = pytest.mark.spark

ROWS = "city string, window struct<start timestamp, end timestamp>, delay interval day to second, price double"
NUMBERS = pa.schema([("n", pa.int64())])
DERBY = {"url": "jdbc:derby:memory:storable;create=true", "dbtable": "t"}


def columns_of(ddl: str) -> StructType:
    parsed = StructType.fromDDL(ddl)
    assert isinstance(parsed, StructType)
    return parsed


def check(spark: SparkSession, name: str, rows: str, **options: str) -> None:
    check_storable(spark, Target(f"FormatSink({name!r})", name, options), columns_of(rows))


@pytest.mark.parametrize(
    ("name", "options", "rows", "words"),
    [
        ("nosuch", {}, "a int", ["FormatSink('nosuch'): ", "nosuch", "spark.jars.packages"]),
        ("jsn", {}, "a int", ["Did you mean 'json'?"]),
        ("avro", {}, "a int", ["avro", "spark.jars.packages"]),
        ("rate", {}, "a int", ["Spark can read rate, but not write it"]),
        ("Skypane-Traffic", {}, "a int", ["can read Skypane-Traffic, but not write it"]),
        ("binaryFile", {}, "a int", ["Spark refuses to write binaryfile"]),
        ("csv", {}, ROWS, ["cannot store the column 'window' of type struct<start:timestamp,end:timestamp>"]),
        ("orc", {}, "v variant", ["cannot store the column 'v' of type variant", '"to_json(v) AS v"']),
        ("org.apache.spark.sql.hive.orc", {}, "d interval day to second", ["cannot store the column 'd'"]),
        ("text", {}, "a string, b string", ["text stores one column", "a string, b string", "to_json(struct(*))"]),
        ("text", {}, "a int", ["text stores one column of type string"]),
        ("xml", {}, "a int", ["rowTag"]),
        ("json", {"compression": "nosuch"}, "a int", ["Spark refuses to write json", "nosuch"]),
        ("jdbc", {"url": DERBY["url"]}, "a int", ["Spark refuses to write jdbc", "dbtable"]),
        ("jdbc", {"dbtable": "t"}, "a int", ["Spark refuses to write jdbc", "url"]),
        ("jdbc", {"url": "jdbc:nosuch:secret", "dbtable": "t"}, "a int", ["No suitable driver"]),
        ("jdbc", DERBY, "a array<int>", ["cannot store the column 'a'", '"to_json(a) AS a"']),
        ("kafka", {}, ROWS, ["Kafka needs a column 'value' of type string or binary", "to_json(struct(*)) AS value"]),
        ("kafka", {}, "value int", ["have one of type int"]),
        ("Kafka", {}, "value string, city string", ["would drop city"]),
        ("kafka", {}, "value string", ["needs the option topic"]),
        ("kafka", {"topic": "t"}, "value string", ["Kafka", "spark.jars.packages"]),
    ],
)
def test_refused(spark: SparkSession, name: str, options: dict[str, str], rows: str, words: list[str]) -> None:
    with pytest.raises(sp.OptionError) as refused:
        check(spark, name, rows, **options)
    for word in words:
        assert word in str(refused.value)
    assert not re.search(r"secret|SQLSTATE|\[[A-Z_]+\]", str(refused.value))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "options", "rows"),
    [
        *((name, {}, ROWS) for name in ("parquet", "JSON", "orc", "org.apache.spark.sql.parquet", "noop", "console")),
        ("com.databricks.spark.avro", {}, ROWS),
        ("text", {}, "line string"),
        ("xml", {"rowtag": "row"}, ROWS),
        ("csv", {}, "a int, d interval day to second"),
        ("JDBC", {"URL": DERBY["url"], "dbTable": "t"}, "city string, at timestamp, price double"),
    ],
)
def test_accepted(spark: SparkSession, name: str, options: dict[str, str], rows: str) -> None:
    check(spark, name, rows, **options)


@pytest.mark.parametrize(("name", "options"), [("csv", {}), ("jdbc", DERBY), ("org.apache.spark.sql.hive.orc", {})])
def test_the_columns_of_the_message_can_be_stored(spark: SparkSession, name: str, options: dict[str, str]) -> None:
    rows = f"`a b` struct<`c.d`: struct<e: int>, `f` array<int>>, m map<string, variant>, {ROWS}"
    if name != "csv":
        rows = rows.replace("m map<string, variant>", "m map<string, int>")
    with pytest.raises(sp.OptionError) as refused:
        check(spark, name, rows, **options)
    found = re.search(r"columns=\[(.*)\]; or use", str(refused.value))
    assert found
    columns = SelectedColumns.of(re.findall(r'"(.*?)"', found[1]), "it")
    check_storable(spark, Target("it", name, options), columns.check(spark, columns_of(rows)))


def test_nothing_is_touched(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("json", "parquet", "orc", "csv"):
        sp.FormatSink(name, path="out").check(spark, NUMBERS)
    sp.FormatSink("jdbc", url=f"jdbc:derby:{tmp_path}/database;create=true", dbtable="t").check(spark, NUMBERS)
    assert list(tmp_path.iterdir()) == []
