"""FormatSink: any spelling of a format and a path means the same; what cannot be stored is refused before the start."""

from __future__ import annotations

import json
import logging
import shutil
import tempfile
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import skypane as sp
from skypane.api.continuous_query import ContinuousQuery
from skypane.spark.sinks.base import Continuation, Sink, StepRows
from tests.support.marks import LONG
from tests.support.spark.rows import rows_of, run, texts
from tests.support.spark.stand_in_delta import stand_in_delta
from tests.support.spark.streams import CollectSink, Outputs

pytestmark = pytest.mark.spark

NUMBERS = pa.schema([("n", pa.int64())])


def publish(spark: SparkSession, sink: Sink, step: int, *numbers: int) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        written = sink.writer(Path(scratch)).write([pa.table({"n": list(numbers)}, NUMBERS)])
        sink.publish(step, StepRows(spark, NUMBERS, [] if written is None else [written]))


def numbers(df: DataFrame) -> list[int]:
    return sorted(row.n for row in df.collect())


@pytest.mark.parametrize("name", ["json", LONG("orc"), "parquet"])
def test_spark_formats(spark: SparkSession, query: ContinuousQuery, wanted: Outputs, tmp_path: Path, name: str) -> None:
    run(query, sink=sp.FormatSink(name, path=str(tmp_path / "out")))
    kept = wanted.results.tables[0].schema
    read = spark.read.format(name).schema(spark.createDataFrame(kept.empty_table()).schema).load(str(tmp_path / "out"))
    assert rows_of(read.drop("batch_id")) == texts(wanted.results.rows())
    folders = {path.name for path in (tmp_path / "out").iterdir() if path.is_dir()}
    assert folders == {f"batch_id={step}" for step, rows in wanted.results.steps.items() if rows.num_rows}


@pytest.mark.parametrize(
    "name", ["JSON", "Json", "org.apache.spark.sql.json", "org.apache.spark.sql.execution.datasources.json"]
)
def test_a_format_is_the_same_however_it_is_written(spark: SparkSession, tmp_path: Path, name: str) -> None:
    place = tmp_path / "out"
    sink = sp.FormatSink(name, PATH=place)
    assert sink.place() == place
    sink.open(spark, NUMBERS, Continuation("one", 0))
    publish(spark, sink, 1, 1, 2)
    publish(spark, sink, 1, 1, 2, 3)
    with pytest.raises(sp.OptionError, match="is in use by another running query"):
        sp.FormatSink("json", path=place).open(spark, NUMBERS, Continuation("one", 0))
    sink.close()
    with pytest.raises(sp.OptionError, match="has results of another query"):
        sp.FormatSink("json", path=place).open(spark, NUMBERS, Continuation("two", 0))
    assert numbers(spark.read.json(str(place))) == [1, 2, 3]


def test_two_outputs_do_not_share_a_folder_however_it_is_written(
    query: ContinuousQuery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "out")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    first = sp.FormatSink("JSON", path=tmp_path / "out")
    for other in ("out/", "./out", "~/out", "link", f"file://{tmp_path}/out", f"file:{tmp_path}/link/"):
        for name in ("json", "Parquet"):
            with pytest.raises(sp.OptionError, match="sink and late write to the same folder"):
                query.explain(sink=first, late=sp.FormatSink(name, path=other))
    assert not list((tmp_path / "out").iterdir())


def test_a_relative_path_means_the_folder_of_this_process(
    spark: SparkSession, query: ContinuousQuery, wanted: Outputs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark has the working directory that the process had when Spark was started, and knows no ``~``."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "a")
    monkeypatch.setenv("HOME", str(tmp_path))
    sinks = {"sink": sp.FormatSink("json", path="out"), "late": sp.FormatSink("json", path="~/late")}
    monkeypatch.chdir(tmp_path / "b")
    for _ in range(2):
        run(query, checkpoint="checkpoint", **sinks)
    assert {path.parent for path in tmp_path.rglob("batch_id=*")} == {tmp_path / "a" / "out", tmp_path / "late"}
    assert (tmp_path / "b" / "checkpoint" / "spark" / "offsets" / "0").exists()
    assert spark.read.json(str(tmp_path / "a" / "out")).count() == len(wanted.results.rows())
    assert spark.read.json(str(tmp_path / "late")).count() == len(wanted.late.rows())


@pytest.mark.parametrize("name", ["a b", "50%", "a%20b", "ünï", "{a,b}*?[c]", "12:30", "x.JSON"])
@pytest.mark.parametrize("written", ["plain", "address", "slash"])
def test_any_name_of_a_folder(spark: SparkSession, tmp_path: Path, name: str, written: str) -> None:
    place = tmp_path / name
    path = {"plain": str(place), "address": place.as_uri(), "slash": f"{place}/"}[written]
    sink = sp.FormatSink("json", path=path)
    sink.open(spark, NUMBERS, Continuation("one", 0))
    publish(spark, sink, 1, 1, 2)
    sink.close()
    assert [path.name for path in tmp_path.iterdir()] == [name]
    rows = [json.loads(line) for file in place.glob("batch_id=1/*.json") for line in file.read_text().splitlines()]
    assert sorted(row["n"] for row in rows) == [1, 2]
    sp.FormatSink("json", path=place).open(spark, NUMBERS, Continuation("one", 1))


def test_an_address_of_another_file_system_is_sparks(spark: SparkSession) -> None:
    sink = sp.FormatSink("json", path="s3a://bucket/out")
    assert sink.place() is None
    assert sink.describe() == "Spark format json s3a://bucket/out"
    sink.check(spark, NUMBERS)


def test_csv_takes_flat_rows_and_refuses_windows_clearly(
    spark: SparkSession, query: ContinuousQuery, wanted: Outputs, tmp_path: Path
) -> None:
    message = (
        r"FormatSink\('CSV', path='.*out'\) cannot store the column 'window' of type struct<.*>: csv has no such type\."
        r' Choose what to store of it, e\.g\. columns=\["city", "window\.start AS window_start", "window\.end AS wind'
    )
    for call in (query.start, query.explain):
        with pytest.raises(sp.OptionError, match=message):
            call(sink=sp.FormatSink("CSV", path=str(tmp_path / "out")), checkpoint=tmp_path / "c", available_now=True)
    assert not list(tmp_path.iterdir())
    columns = ["n", "window.start AS window_start"]
    results = sp.FormatSink("csv", path=str(tmp_path / "out"), header=True, columns=columns)
    flat = sp.FormatSink("csv", path=str(tmp_path / "quarantine"), header=True)
    run(query, sink=results, quarantine=flat)
    read = spark.read.schema("n bigint, window_start timestamp").csv(str(tmp_path / "out"), header=True)
    assert sorted((r.n, r.window_start.timestamp()) for r in read.drop("batch_id").collect()) == sorted(
        (r["n"], r["window"]["start"].timestamp()) for r in wanted.results.rows()
    )
    schema = "n bigint, ts timestamp, city string, zone int, a double, b bigint, reason string"
    read = spark.read.schema(schema).csv(str(tmp_path / "quarantine"), header=True)
    assert sorted((r.n, r.reason) for r in read.collect()) == sorted(
        (r["n"], r["reason"]) for r in wanted.quarantine.rows()
    )
    with pytest.raises(sp.OptionError, match="needs path="):
        sp.FormatSink("csv")


def test_a_table_of_a_database(
    spark: SparkSession, query: ContinuousQuery, wanted: Outputs, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Derby comes with Spark."""
    options = {"url": f"jdbc:derby:memory:{tmp_path.name};create=true"}
    with pytest.raises(sp.OptionError, match=r"FormatSink\('jdbc'\) cannot store the column 'window'") as refused:
        query.explain(sink=sp.FormatSink("jdbc", dbtable="answers", **options))
    with pytest.raises(sp.OptionError, match=r"cannot store the column 'delay'.*\"CAST\(delay AS STRING\) AS delay\""):
        query.explain(sink=CollectSink(), late=sp.FormatSink("jdbc", dbtable="late", **options))
    columns = ["n", "window.start AS window_start", "window.end AS window_end", "b"]
    assert all(f'"{column}"' in str(refused.value) for column in columns)
    sink = sp.FormatSink("jdbc", columns=columns, dbtable="answers", **options)
    assert "results       Spark format jdbc, at least once: after a crash" in query.explain(sink=sink)
    with caplog.at_level(logging.WARNING, "skypane"):
        run(query, sink=sink)
    assert [r.message for r in caplog.records if "at least once" in r.message] == [
        "FormatSink('jdbc') stores rows at least once: after a crash the rows of the last step may be there twice."
    ]
    stored = (
        spark.read.format("jdbc").options(dbtable="answers", **options).load().toDF("n", "start", "end", "b").collect()
    )
    assert sorted((row.n, row.start.timestamp(), row.b) for row in stored) == sorted(
        (row["n"], row["window"]["start"].timestamp(), row["b"]) for row in wanted.results.rows()
    )


def test_a_folder_of_another_checkpoint_is_refused_by_a_format_sink(query: ContinuousQuery, tmp_path: Path) -> None:
    place = str(tmp_path / "json")
    run(query, sink=sp.FormatSink("json", path=place), checkpoint=tmp_path / "one")
    message = rf"FormatSink\('json'.* has results of another query, which has the checkpoint {tmp_path}/one\."
    with pytest.raises(sp.OptionError, match=message):
        run(query, sink=sp.FormatSink("json", path=place), checkpoint=tmp_path / "two")


def test_a_folder_that_is_removed_under_a_running_query(spark: SparkSession, tmp_path: Path) -> None:
    place = tmp_path / "out"
    sink = sp.FormatSink("json", path=place)
    sink.open(spark, NUMBERS, Continuation("one", 0))
    publish(spark, sink, 1, 1)
    shutil.rmtree(place)
    with pytest.raises(sp.StorageError, match=rf"the folder {place} was removed while the query was running"):
        publish(spark, sink, 2, 2)
    assert not place.exists()
    sink.close()


def test_delta_is_told_whose_steps_they_are(spark: SparkSession, tmp_path: Path) -> None:
    """Delta passes over a transaction that it has seen: the same step of another query must be another one."""
    log = tmp_path / "log"
    spark.dataSource.register(stand_in_delta(log))
    for query, output in (("monday", "sink"), ("tuesday", "sink"), ("tuesday", "late")):
        sink = sp.FormatSink("Delta", path="/data/table")
        sink.open(spark, NUMBERS, Continuation(query, 0, output=output))
        publish(spark, sink, 7, 1)
        sink.close()
    names = ["skypane-monday-sink", "skypane-tuesday-sink", "skypane-tuesday-late"]
    assert [json.loads(line)[:2] for line in log.read_text().splitlines()] == [[name, 7] for name in names]


def test_a_source_of_the_sessions_own_is_found_from_any_thread(spark: SparkSession, tmp_path: Path) -> None:
    spark.dataSource.register(stand_in_delta(tmp_path / "log"))
    failures: list[Exception] = []

    def check() -> None:
        try:
            sp.FormatSink("DELTA", path="/data/table").check(spark, NUMBERS)
        except Exception as error:  # noqa: BLE001 - for the assertion
            failures.append(error)

    thread = threading.Thread(target=check)
    thread.start()
    thread.join()
    check()
    assert failures == []


@pytest.mark.parametrize("format_", ["", "  ", None, 3])
def test_a_format_needs_a_name(format_: Any) -> None:
    with pytest.raises(sp.OptionError, match="give the name of a format"):
        sp.FormatSink(format_, path="out")
