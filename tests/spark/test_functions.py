"""Functions over windows on Spark: the oracle's answers, clean failures, mended functions, failed windows set aside."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import skypane as sp
from skypane.api.continuous_query import ContinuousQuery
from skypane.api.windowed import Windowed
from skypane.flow.program import Program
from skypane.testing.oracle import actual_answers, as_text, micros
from tests.support import functions as samples
from tests.support.marks import LONG
from tests.support.spark.streams import (
    WAIT_S,
    CollectSink,
    Outputs,
    definition_of,
    expected,
    random_batches,
    read_batches,
    run_to_end,
    write_batches,
)

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def batches() -> list[pa.Table]:
    return random_batches(3, batches=4)


def windowed(spark: SparkSession, folder: Path, batches: list[pa.Table]) -> Windowed:
    write_batches(folder / "in", batches)
    return sp.stream(read_batches(spark, folder / "in"), time="ts", key="city").window("1 second", "500 ms")


def accepted(batches: list[pa.Table], outputs: Outputs) -> pa.Table:
    every, lost = pa.concat_tables(batches), outputs.lost()
    return every.filter(pa.array([n not in lost for n in every.column("n").to_pylist()], pa.bool_()))


@pytest.mark.parametrize("asked", ["apply", "fold"])
def test_answers_in_tasks_are_the_oracles(
    spark: SparkSession, tmp_path: Path, batches: list[pa.Table], asked: str
) -> None:
    windows = windowed(spark, tmp_path, batches)
    schema = "label string, place int, n bigint"
    query = windows.apply(samples.every_other, schema) if asked == "apply" else windows.fold(samples.MOMENTS)
    query = query.lateness(sp.FixedDelay("300 ms")).parallel(degree=2, tuning=sp.Tuning(inline_rows=0))
    outputs = Outputs()
    run_to_end(query, outputs)
    definition = definition_of(query)
    wanted = {where: texts for where, texts in expected(spark, definition, accepted(batches, outputs)).items() if texts}
    assert actual_answers(definition, outputs.results.tables) == wanted
    assert outputs.late.rows()
    assert all(row["harmful"] for row in outputs.late.rows())


def test_an_ordered_fold_continues_from_its_checkpoint(
    spark: SparkSession, tmp_path: Path, batches: list[pa.Table]
) -> None:
    def query() -> ContinuousQuery:
        source = sp.stream(read_batches(spark, tmp_path / "in"), time="ts", key="city").window("1 second", "500 ms")
        asked = source.fold(sp.Fold(**samples.DIGEST, merge=samples.digest_merge))
        return asked.lateness(sp.FixedDelay("300 ms"))

    outputs = Outputs()
    for number, batch in enumerate(batches):
        write_batches(tmp_path / "in", [batch], first=number)
        last = number == len(batches) - 1
        run_to_end(query(), outputs, checkpoint=tmp_path / "checkpoint", flush=last)
    definition = definition_of(query())
    assert Program.of(definition).processing.buffers
    assert actual_answers(definition, outputs.results.tables) == expected(spark, definition, accepted(batches, outputs))


def breaks(key: tuple[Any, ...], records: pa.Table) -> dict[str, Any]:
    """Fails for one key."""
    if key == ("bonn",):
        raise ValueError("no bonn,\nplease")
    return {"rows": records.num_rows}


def mended(key: tuple[Any, ...], records: pa.Table) -> dict[str, Any]:
    del key
    return {"rows": records.num_rows}


@pytest.mark.parametrize("inline_rows", [LONG(100_000), 0])
def test_a_function_that_fails_ends_the_query_and_a_mended_one_continues(
    spark: SparkSession, tmp_path: Path, batches: list[pa.Table], inline_rows: int
) -> None:
    windows = windowed(spark, tmp_path, batches).apply
    outputs = Outputs()
    options = {"checkpoint": tmp_path / "checkpoint", "available_now": True, "flush": True, **outputs.options()}
    lateness = sp.FixedDelay("300 ms")

    def asked(function: Any) -> ContinuousQuery:
        return windows(function, "rows long").lateness(lateness).parallel(tuning=sp.Tuning(inline_rows=inline_rows))

    running = asked(breaks).start(**options)
    said = r"test_functions:breaks raised ValueError: no bonn, please \(line .*\), for city='bonn', window \["
    with pytest.raises(sp.FunctionError, match=said):
        running.await_termination(WAIT_S)
    with pytest.raises(sp.CheckpointError, match=r"other code:\n  function: was .*breaks#\w+, now .*mended#"):
        asked(mended).start(**options)
    again = asked(mended).start(**options, accept_changed_code=True)
    assert again.await_termination(WAIT_S)
    definition = definition_of(asked(mended))
    assert actual_answers(definition, outputs.results.tables) == expected(spark, definition, accepted(batches, outputs))
    assert again.metrics().delivered == sum(batch.num_rows for batch in batches)
    # From now on the checkpoint is the mended function's.
    assert asked(mended).start(**options).await_termination(WAIT_S)


def exits(records: pa.Table) -> dict[str, Any]:
    sys.exit(f"{records.num_rows} records")


@pytest.mark.parametrize("inline_rows", [100_000, LONG(0)])
def test_a_function_that_exits_ends_the_query_and_nothing_else(
    spark: SparkSession, tmp_path: Path, batches: list[pa.Table], inline_rows: int
) -> None:
    query = (
        windowed(spark, tmp_path, batches).apply(exits, "rows long").parallel(tuning=sp.Tuning(inline_rows=inline_rows))
    )
    running = query.start(sink=CollectSink(), available_now=True)
    with pytest.raises(sp.FunctionError, match=r"test_functions:exits raised SystemExit: \d+ records \(line"):
        running.await_termination(WAIT_S)


def test_a_module_that_workers_do_not_have_is_named(
    spark: SparkSession, tmp_path: Path, batches: list[pa.Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "only_in_the_driver.py").write_text("def rows(records):\n    return {'n': records.num_rows}\n")
    monkeypatch.syspath_prepend(tmp_path)
    query = windowed(spark, tmp_path, batches).apply(import_module("only_in_the_driver").rows, "n long")
    with pytest.raises(sp.FunctionError, match=r"cannot import the module 'only_in_the_driver'.*addPyFile"):
        run_to_end(query, Outputs())


def test_what_cannot_be_sent_and_what_spark_has_no_type_for_is_refused(
    spark: SparkSession, tmp_path: Path, batches: list[pa.Table]
) -> None:
    windows, lock = windowed(spark, tmp_path, batches), threading.Lock()
    with pytest.raises(sp.OptionError, match=r"apply cannot be sent to Spark's workers: .*lock.*[Cc]reate it inside"):
        windows.apply(lambda records: {"free": lock.locked()}, "free boolean").start(sink=CollectSink())
    with pytest.raises(sp.OptionError, match=r"schema: column 'at' has type list<.*timestamp\[ns\]>; Spark's times"):
        windows.apply(breaks, pa.schema([("at", pa.list_(pa.timestamp("ns")))]))
    with pytest.raises(sp.OptionError, match=r"schema='x decimal\(50, 2\)': decimal\(50, 2\) has more than 38 digits"):
        windows.apply(breaks, "x decimal(50, 2)")


@pytest.mark.parametrize("merged", [False, True])
def test_failed_windows_are_set_aside(
    spark: SparkSession, tmp_path: Path, batches: list[pa.Table], merged: bool
) -> None:
    """Exactly those of the key that fails, each once, with the number of their records; the others are answered."""
    windows, outputs, failed = windowed(spark, tmp_path, batches), Outputs(), CollectSink()
    query = windows.fold(FAILING) if merged else windows.apply(breaks, "rows long")
    query = query.lateness(sp.FixedDelay("300 ms"), allowed="500 ms" if not merged else "0 s")
    running = run_to_end(query, outputs, failed=failed)
    rows = failed.rows()
    assert list(rows[0]) == ["city", "window", "function", "error", "records"]
    assert {row["city"] for row in rows} == {"bonn"}
    assert {row["function"].split(":")[1] for row in rows} == {"fails_on_bonn" if merged else "breaks"}
    assert all(re.match("ValueError: no bonn", row["error"]) for row in rows)
    counted = windows.apply(mended, "rows long")
    wanted = expected(spark, definition_of(counted), accepted(batches, outputs))
    last = {micros(row["window"]["start"]): row["records"] for row in rows}
    assert {("bonn", start): as_text(definition_of(counted), [{"rows": n}]) for start, n in last.items()} == {
        where: texts for where, texts in wanted.items() if where[0] == "bonn"
    }
    answered = {(row["city"], micros(row["window"]["start"])) for row in outputs.results.rows()}
    assert answered == {where for where in wanted if where[0] != "bonn"}
    assert running.metrics().failed == len(rows)


def fails_on_bonn(state: dict[str, Any], records: pa.Table) -> dict[str, Any]:
    if "bonn" in records.column("city").to_pylist():
        raise ValueError("no bonn")
    return {"rows": state["rows"] + records.num_rows}


FAILING = sp.Fold(
    {"rows": 0},
    fails_on_bonn,
    lambda left, right: {"rows": left["rows"] + right["rows"]},
    combine="commutative",
)


def test_mistakes_are_told_before_anything_starts(spark: SparkSession, tmp_path: Path, batches: list[pa.Table]) -> None:
    windows = windowed(spark, tmp_path, batches)
    strange = pa.schema([("rows", pa.month_day_nano_interval())])
    mistakes: list[tuple[Callable[[], object], str]] = [
        (lambda: windows.apply(breaks, "rows lon"), "schema='rows lon': 'lon' is not a type"),
        (lambda: windows.apply(lambda a, b, c, d: None, "rows long"), "has 4 parameters"),
        (lambda: windows.apply(breaks, "window long"), "'window' is a name that the result has already"),
        (lambda: windows.fold({"xs": []}, breaks), r"Declare all types"),
        (
            lambda: windows.apply(breaks, strange),
            "Spark has no type for column 'rows'",
        ),
    ]
    for ask, said in mistakes:
        with pytest.raises(sp.OptionError, match=said):
            ask()
    with pytest.raises(sp.OptionError, match="the result has the key 'city' already"):
        windows.apply(breaks, "City string").start(sink=sp.DiscardSink(), available_now=True)
    with pytest.raises(sp.OptionError, match="failed= is for apply and fold"):
        windows.aggregate(rows="count").start(sink=sp.DiscardSink(), failed=sp.DiscardSink(), available_now=True)
