"""docs/operations.md says what each sink guarantees: each row of its table is held to it.

A process dies after a sink has the rows of a step and before the checkpoint has it; the next one publishes them again.
"""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from rich.console import Console

import skypane as sp
from skypane.spark.sinks.base import Continuation, Sink, StepRows
from skypane.spark.store.writers import Written
from tests.support.spark.stand_in_delta import stand_in_delta

pytestmark = pytest.mark.spark

NUMBERS = pa.schema([("n", pa.int64())])
PAGE = Path(__file__).parents[3] / "docs" / "operations.md"
STEPS = {1: [1001, 1002], 2: [1003], 3: [1004, 1005]}
REPEATED = 2
Trial = tuple[Callable[[], Sink], Callable[[], list[int]]]
"""Makes the sink as each process does, and reads what it holds."""


def promised() -> dict[str, str]:
    """The guarantee of each sink, from the page."""
    section = PAGE.read_text().split("### What a sink guarantees")[1].split("\n### ")[0]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| [^|]+ \|$", section, re.MULTILINE)
    return {sink: guarantee for sink, guarantee in rows if sink not in {"sink", "---"}}


def parquet(spark: SparkSession, folder: Path) -> Trial:
    return lambda: sp.ParquetSink(folder / "out"), lambda: _numbers(spark, "parquet", folder)


def of_files(spark: SparkSession, folder: Path) -> Trial:
    return lambda: sp.FormatSink("JSON", path=folder / "out"), lambda: _numbers(spark, "json", folder)


def delta(spark: SparkSession, folder: Path) -> Trial:
    log = folder / "log"
    spark.dataSource.register(stand_in_delta(log))
    return (
        lambda: sp.FormatSink("delta", path=folder / "table"),
        lambda: [n for line in log.read_text().splitlines() for n in json.loads(line)[2]],
    )


def jdbc(spark: SparkSession, folder: Path) -> Trial:
    options = {"url": f"jdbc:derby:memory:{folder.name};create=true", "dbtable": "answers"}
    return (
        lambda: sp.FormatSink("jdbc", **options),
        lambda: [row[0] for row in spark.read.format("jdbc").options(**options).load().collect()],
    )


def memory(spark: SparkSession, folder: Path) -> Trial:
    sink = sp.MemorySink(folder.name.replace("-", "_"))
    return lambda: sink, lambda: sink.table().column("n").to_pylist()


def console(spark: SparkSession, folder: Path) -> Trial:
    text = io.StringIO()
    return (
        lambda: sp.ConsoleSink(console=Console(file=text, width=250, color_system=None)),
        lambda: [int(n) for n in re.findall(r"\b100\d\b", text.getvalue())],
    )


def function(spark: SparkSession, folder: Path) -> Trial:
    calls: list[tuple[int, list[int]]] = []

    def seen() -> list[int]:
        assert [step for step, _ in calls] == [1, 2, 2, 3]
        assert all(numbers == STEPS[step] for step, numbers in calls)
        return [n for _, numbers in calls for n in numbers]

    return lambda: sp.extend.CallableSink(lambda df, step: calls.append((step, [r.n for r in df.collect()]))), seen


def _numbers(spark: SparkSession, name: str, folder: Path) -> list[int]:
    return [row.n for row in spark.read.format(name).schema("n bigint").load(str(folder / "out")).collect()]


TRIALS: dict[str, Callable[[SparkSession, Path], Trial]] = {
    "`sp.ParquetSink(path)`": parquet,
    "`sp.FormatSink` with parquet, orc, json, csv, text, xml or avro": of_files,
    '`sp.FormatSink("delta")`': delta,
    '`sp.FormatSink("jdbc")`, Kafka and other formats': jdbc,
    "a function of (DataFrame, step)": function,
    "`sp.MemorySink(name)`": memory,
    "`sp.ConsoleSink()`": console,
}
COUNTED = "`sp.DiscardSink()`"


def crash_and_repeat(spark: SparkSession, scratch: Path, make: Callable[[], Sink]) -> None:
    """Two processes: the first dies when it has published a step, and has not committed it."""
    pending: list[Written] = []
    for committed, last in ((0, REPEATED), (REPEATED - 1, max(STEPS))):
        sink = make()
        sink.check(spark, NUMBERS)
        sink.open(spark, NUMBERS, Continuation("one", committed, shown=committed, pending=pending))
        for step in range(committed + 1, last + 1):
            stored = bool(pending)
            written = pending or prepared(sink, scratch, step)
            sink.publish(step, StepRows(spark, NUMBERS, written, stored=stored))
            pending = written if step == REPEATED and not stored else []
        sink.close()


def prepared(sink: Sink, scratch: Path, step: int) -> list[Written]:
    written = sink.writer(scratch).write([pa.table({"n": STEPS[step]}, NUMBERS)])
    assert written is not None
    return [written]


def test_the_page_has_every_sink() -> None:
    assert {*promised()} == {*TRIALS, COUNTED}


@pytest.mark.parametrize("name", TRIALS)
def test_a_sink_keeps_its_promise(spark: SparkSession, tmp_path: Path, name: str) -> None:
    make, held = TRIALS[name](spark, tmp_path)
    crash_and_repeat(spark, tmp_path, make)
    once = Counter(n for numbers in STEPS.values() for n in numbers)
    twice = once + Counter(STEPS[REPEATED])
    assert Counter(held()) == (once if promised()[name] == "exactly once" else twice)


def test_rows_that_are_discarded_are_counted_once(spark: SparkSession, tmp_path: Path) -> None:
    sink = sp.DiscardSink()
    crash_and_repeat(spark, tmp_path, lambda: sink)
    assert promised()[COUNTED] == "exactly once"
    assert sink.rows == sum(map(len, STEPS.values()))


def test_guarantees_have_few_names() -> None:
    assert {*promised().values()} == {"exactly once", "at least once", "at least once, with the same step and rows"}
