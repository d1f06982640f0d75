"""Sinks: each stores exactly the rows of the answer, with the types Spark would give them."""

from __future__ import annotations

import io
import re
import shutil
from collections.abc import Callable
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention
from rich.console import Console

import skypane as sp
from skypane.api.continuous_query import ContinuousQuery
from skypane.model.errors import OptionError
from skypane.spark.sinks.base import StepRows
from skypane.spark.store.writers import Written
from skypane.testing.sink_laws import STEPS, check_sink
from tests.support.records import SCHEMA
from tests.support.spark.rows import rows_of, run, texts
from tests.support.spark.streams import (
    WAIT_S,
    CollectSink,
    Outputs,
    random_batches,
    read_batches,
    write_batches,
)

pytestmark = pytest.mark.spark

RESULT_TYPE = (
    "struct<city:string,window:struct<start:timestamp,end:timestamp>,n:bigint,ts:timestamp,zone:int,a:double,b:bigint>"
)
RECORD_TYPE = "struct<n:bigint,ts:timestamp,city:string,zone:int,a:double,b:bigint"


def test_parquet(spark: SparkSession, query: ContinuousQuery, wanted: Outputs, tmp_path: Path) -> None:
    places = {name: tmp_path / name for name in ("sink", "late", "quarantine")}
    run(
        query.parallel(tuning=sp.Tuning(inline_rows=0)), **{name: sp.ParquetSink(path) for name, path in places.items()}
    )
    read = {name: spark.read.parquet(str(path)) for name, path in places.items()}
    assert read["sink"].schema.simpleString() == RESULT_TYPE
    late = f"{RECORD_TYPE},delay:interval day to second,watermark:timestamp,harmful:boolean>"
    assert read["late"].schema.simpleString() == late
    assert read["quarantine"].schema.simpleString() == f"{RECORD_TYPE},reason:string>"
    assert rows_of(read["sink"]) == texts(wanted.results.rows())
    assert rows_of(read["late"]) == texts(wanted.late.rows())
    assert rows_of(read["quarantine"]) == texts(wanted.quarantine.rows())
    assert read["late"].agg(F.max("delay")).collect()[0][0] >= timedelta(0)
    assert not list((tmp_path / "sink" / "_staging").iterdir())


def test_parquet_can_be_read_before_the_first_result(spark: SparkSession, tmp_path: Path) -> None:
    stream = sp.stream(read_batches(spark, tmp_path / "in"), time="ts", key="city")
    query = stream.window("1 second").skyline(minimize="a", maximize="b")
    running = query.start(sink=sp.ParquetSink(tmp_path / "out"), trigger="50 ms")
    try:
        df = spark.read.parquet(str(tmp_path / "out"))
        assert df.schema.simpleString() == RESULT_TYPE
        assert df.count() == 0
    finally:
        running.stop()


def test_a_folder_that_is_removed_under_a_running_query_ends_it(spark: SparkSession, tmp_path: Path) -> None:
    batches = random_batches(seed=7, batches=4)
    write_batches(tmp_path / "in", batches[:2])
    stream = sp.stream(read_batches(spark, tmp_path / "in"), time="ts", key="city")
    late = CollectSink()
    query = stream.window("1 second").skyline(minimize="a", maximize="b")
    running = query.start(sink=sp.ParquetSink(tmp_path / "out"), late=late, trigger="50 ms", idle_timeout=None)
    try:
        late.wait_for_steps(2)
        shutil.rmtree(tmp_path / "out")
        write_batches(tmp_path / "in", batches[3:], first=3)
        with pytest.raises(sp.StorageError, match="was removed while the query was running"):
            running.await_termination(WAIT_S)
    finally:
        running.stop()
    assert not (tmp_path / "out").exists()


def test_parquet_wants_a_folder(spark: SparkSession, tmp_path: Path) -> None:
    schema = pa.schema([("x", pa.int64())])
    (tmp_path / "file").write_text("")
    with pytest.raises(sp.OptionError, match="is a file; give a folder"):
        sp.ParquetSink(tmp_path / "file").open(spark, schema)


def test_parquet_of_another_checkpoint_is_not_overwritten(
    spark: SparkSession, query: ContinuousQuery, wanted: Outputs, tmp_path: Path
) -> None:
    sink = sp.ParquetSink(tmp_path / "out")
    run(query, sink=sink, checkpoint=tmp_path / "c")
    with pytest.raises(sp.OptionError, match=rf"has results of another query, which has the checkpoint {tmp_path}/c\."):
        run(query, sink=sink, checkpoint=tmp_path / "new")
    run(query, sink=sink, checkpoint=tmp_path / "c")
    assert rows_of(spark.read.parquet(str(tmp_path / "out"))) == texts(wanted.results.rows())


def test_places_that_get_in_each_others_way_are_refused(query: ContinuousQuery, tmp_path: Path) -> None:
    def refuse(message: str, **options: Any) -> None:
        with pytest.raises(sp.OptionError, match=message):
            query.start(available_now=True, **options)

    x = tmp_path / "x"
    refuse("sink and late write to the same folder", sink=sp.ParquetSink(x), late=sp.ParquetSink(f"{x}/"))
    refuse(
        "late and quarantine write to the same table same",
        sink=print,
        late=sp.MemorySink("same"),
        quarantine=sp.MemorySink("same"),
    )
    refuse("checkpoint and sink write to the same folder", sink=sp.ParquetSink(x), checkpoint=x)
    refuse("sink is in .*/x/state, inside the folder", sink=sp.FormatSink("json", path=x / "state"), checkpoint=x)
    refuse("checkpoint is in .*/x/c, inside the folder .* of sink", sink=sp.ParquetSink(x), checkpoint=x / "c")
    assert not x.exists()


def test_memory(spark: SparkSession, query: ContinuousQuery, wanted: Outputs) -> None:
    results, late = sp.MemorySink("answers"), sp.MemorySink("late_ones")
    run(query, sink=results, late=late)
    assert spark.table("answers").schema.simpleString() == RESULT_TYPE
    assert rows_of(spark.table("answers")) == texts(wanted.results.rows())
    assert rows_of(spark.table("late_ones")) == texts(wanted.late.rows())
    assert texts(results.table().to_pylist()) == texts(wanted.results.rows())
    assert spark.sql("select max(window.end) from answers").collect()[0][0] is not None
    with pytest.raises(sp.OptionError, match="the name becomes a table"):
        sp.MemorySink("no good")


def test_a_memory_sink_holds_one_query(
    spark: SparkSession, query: ContinuousQuery, wanted: Outputs, tmp_path: Path
) -> None:
    sink = sp.MemorySink("used_again")
    run(query, sink=sink, flush=False, checkpoint=tmp_path / "c")
    part = texts(sink.table().to_pylist())
    assert 0 < len(part) < len(wanted.results.rows())
    run(query, sink=sink, checkpoint=tmp_path / "c")
    assert texts(sink.table().to_pylist()) == texts(wanted.results.rows())
    run(query, sink=sink, flush=False)
    assert texts(sink.table().to_pylist()) == part
    assert rows_of(spark.table("used_again")) == part


def test_console(query: ContinuousQuery, wanted: Outputs) -> None:
    text = io.StringIO()
    console = Console(file=text, width=250, color_system=None)
    run(query, sink=sp.ConsoleSink(max_rows=3, console=console))
    shown = text.getvalue()
    titles = [int(count) for count in re.findall(r"step \d+: (\d+) rows", shown)]
    assert titles == [table.num_rows for table in wanted.results.tables if table.num_rows]
    assert [int(n) for n in re.findall(r"\.\.\. and (\d+) more", shown)] == [n - 3 for n in titles if n > 3]
    assert re.search(r"city\s+│\s+window", shown) or re.search(r"city\s+┃\s+window", shown)
    assert re.search(r"2001-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \.\. \d\d:\d\d:\d\d\.\d{3}", shown)


def test_console_tells_outputs_apart(query: ContinuousQuery, wanted: Outputs) -> None:
    text = io.StringIO()
    sink = sp.ConsoleSink(console=Console(file=text, width=250, color_system=None))
    run(query, sink=sink, late=sink, quarantine=sink)
    titles = re.findall(r"^step \d+(.*): (\d+) rows", text.getvalue(), re.MULTILINE)
    for title, output in (("", wanted.results), (", late", wanted.late), (", quarantine", wanted.quarantine)):
        counts = [int(count) for its, count in titles if its == title]
        assert counts == [table.num_rows for table in output.tables if table.num_rows]
        assert counts


def test_console_shows_text_that_looks_like_markup(spark: SparkSession, tmp_path: Path) -> None:
    rows = [{"n": 1, "ts": 0, "city": "[/bold] [red]x", "zone": 1, "a": 1.0, "b": 1}]
    write_batches(tmp_path / "in", [pa.Table.from_pylist(rows, SCHEMA)])
    text = io.StringIO()
    console = Console(file=text, width=250, color_system=None)
    stream = sp.stream(read_batches(spark, tmp_path / "in"), time="ts").window("1 second")
    run(stream.skyline(minimize="a"), sink=sp.ConsoleSink(console=console))
    assert "[/bold] [red]x" in text.getvalue()


def test_console_hides_nothing_where_it_is_narrow(query: ContinuousQuery, wanted: Outputs) -> None:
    text = io.StringIO()
    run(query, sink=sp.ConsoleSink(max_rows=10_000, console=Console(file=text, width=80, color_system=None)))
    shown = text.getvalue()
    assert "…" not in shown
    assert len(re.findall(r"^ +row \d+$", shown, re.MULTILINE)) == len(wanted.results.rows())
    assert sorted(int(n) for n in re.findall(r"^ +n +(\d+)$", shown, re.MULTILINE)) == sorted(
        row["n"] for row in wanted.results.rows()
    )


def test_console_shows_any_zone_and_any_year(spark: SparkSession, tmp_path: Path) -> None:
    last_second_us = 253_402_300_799_000_000
    rows = [{"n": i, "ts": last_second_us + i, "city": "x", "zone": 1, "a": 1.0, "b": 1} for i in range(6)]
    write_batches(tmp_path / "in", [pa.Table.from_pylist(rows, SCHEMA)])
    text = io.StringIO()
    console = Console(file=text, width=250, color_system=None)
    try:
        spark.conf.set("spark.sql.session.timeZone", "GMT+1")
        stream = sp.stream(read_batches(spark, tmp_path / "in"), time="ts").window("1 second")
        run(stream.aggregate(n="count"), sink=sp.ConsoleSink(console=console))
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert re.search(r"10000-01-01 00:59:59\.000 \.\. 01:00:00\.000 │ +6 │", text.getvalue())


def test_an_empty_piece_does_not_end_the_rows(spark: SparkSession, tmp_path: Path) -> None:
    schema = pa.schema([("n", pa.int64())])
    path = tmp_path / "rows.arrow"
    with pa.OSFile(str(path), "wb") as stream, pa.ipc.new_file(stream, schema) as writer:
        for numbers in ([1, 2], [], [3]):
            writer.write_batch(pa.record_batch([pa.array(numbers, pa.int64())], schema=schema))
    rows = StepRows(spark, schema, [Written(str(path), 3)])
    assert sorted(row.n for row in rows.dataframe().collect()) == [1, 2, 3]


class TestLaws:
    """Every sink of ours keeps the laws that we ask of others."""

    def test_parquet(self, spark: SparkSession, tmp_path: Path) -> None:
        def read(_: sp.ParquetSink, folder: Path) -> list[dict[str, Any]]:
            return list(spark.read.parquet(str(folder / "out")).toArrow().to_pylist())

        check_sink(lambda f: sp.ParquetSink(f / "out"), read, spark=spark, folder=tmp_path, replaces=True)

    def test_memory(self, spark: SparkSession, tmp_path: Path) -> None:
        def read(sink: sp.MemorySink, _: Path) -> list[dict[str, Any]]:
            return list(spark.table(sink.name).toArrow().to_pylist())

        sinks = kept(lambda folder: sp.MemorySink(f"rows_of_{folder.name.replace('-', '_')}"))
        check_sink(sinks, read, spark=spark, folder=tmp_path, replaces=True, durable=False)

    def test_json(self, spark: SparkSession, tmp_path: Path) -> None:
        columns = "city string, window struct<start: timestamp, end: timestamp>, revision int, n bigint, x double"

        def read(_: sp.FormatSink, folder: Path) -> list[dict[str, Any]]:
            rows = spark.read.schema(columns).json(str(folder / "out")).drop("batch_id").toArrow().to_pylist()
            return [{k: v for k, v in row.items() if k != "revision" or v is not None} for row in rows]

        check_sink(lambda f: sp.FormatSink("json", path=f / "out"), read, spark=spark, folder=tmp_path)

    def test_functions_that_are_idempotent_by_the_step(self, spark: SparkSession, tmp_path: Path) -> None:
        steps: dict[tuple[Path, int], list[dict[str, Any]]] = {}

        def make(folder: Path) -> sp.extend.CallableSink:
            return sp.extend.CallableSink(lambda df, step: steps.update({(folder, step): df.toArrow().to_pylist()}))

        def read(_: sp.extend.CallableSink, folder: Path) -> list[dict[str, Any]]:
            return [row for (place, _), rows in steps.items() if place == folder for row in rows]

        check_sink(make, read, spark=spark, folder=tmp_path)

    def test_discarding(self, spark: SparkSession, tmp_path: Path) -> None:
        sinks = kept(lambda _: sp.DiscardSink())
        check_sink(sinks, lambda sink, _: [{}] * sink.rows, spark=spark, folder=tmp_path, keeps=lambda _: "a row")

    def test_console(self, spark: SparkSession, tmp_path: Path) -> None:
        """What has been printed stays printed: a repeated step is there twice."""
        texts: dict[Path, io.StringIO] = {}

        def make(folder: Path) -> sp.ConsoleSink:
            text = texts.setdefault(folder, io.StringIO())
            return sp.ConsoleSink(console=Console(file=text, width=250, color_system=None))

        def read(_: sp.ConsoleSink, folder: Path) -> list[dict[str, Any]]:
            known = {*range(1001, 1010), *(row["n"] for rows in STEPS.values() for row in rows)}
            numbers = [int(text) for text in re.findall(r"(?<![\d.:])-?\d+(?![\d.:])", texts[folder].getvalue())]
            return [{"n": number} for number in numbers if number in known]

        check_sink(make, read, spark=spark, folder=tmp_path, keeps=lambda row: row["n"], exactly_once=False)

    @pytest.mark.parametrize("law", ["publishing_twice_equals_once", "a_restart_does_not_show"])
    def test_a_sink_that_breaks_one_is_told(self, spark: SparkSession, tmp_path: Path, law: str) -> None:
        class Faulty(CollectSink):
            """Appends a repeated step, or knows it again only until it is closed."""

            def __init__(self) -> None:
                super().__init__()
                self.all: list[dict[str, Any]] = []

            def publish(self, step: int, rows: StepRows) -> None:
                if step not in self.steps or law == "publishing_twice_equals_once":
                    self.all += rows.table().to_pylist()
                self.steps[step] = rows.table()

            def close(self) -> None:
                self.steps = {}

        with pytest.raises(AssertionError, match=rf"breaks the law {law}: (.*\n)*.*the sink has"):
            check_sink(kept(lambda _: Faulty()), lambda sink, _: sink.all, spark=spark, folder=tmp_path)


def kept(make: Callable[[Path], Any]) -> Callable[[Path], Any]:
    """The same sink for the same folder, as a process has it that starts a query again."""
    return cache(make)


def test_batches_without_a_limit_of_records(spark: SparkSession, tmp_path: Path) -> None:
    write_batches(tmp_path / "in", random_batches(seed=3, batches=2))
    query = sp.stream(read_batches(spark, tmp_path / "in"), time="ts").window("1 second").aggregate(n="count")
    setting = "spark.sql.execution.arrow.maxRecordsPerBatch"
    seen: list[Any] = []
    limit = str(spark.conf.get(setting))
    spark.conf.set(setting, "-1")
    try:
        with pytest.raises(OptionError, match=setting):
            query.start(sink=sp.MemorySink("unlimited"), available_now=True)
        running = query.start(sink=lambda df, step: seen.extend(df.collect()), available_now=True)
        assert running.await_termination(WAIT_S)
    finally:
        spark.conf.set(setting, limit)
    assert len(seen) == running.metrics().windows > 0
