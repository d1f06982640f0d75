"""Late records on Spark: revisions that sinks replace, controlled slack over restarts, lagging and idle partitions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import skypane as sp
from skypane.api.continuous_query import ContinuousQuery
from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.policy import Lateness
from skypane.local.engine import Engine
from skypane.testing.oracle import as_text
from tests.support.marks import LONG
from tests.support.records import SCHEMA
from tests.support.spark.streams import (
    HOUR_US,
    Outputs,
    definition_of,
    expected,
    micros,
    random_batches,
    read_batches,
    run_to_end,
    write_batches,
)

pytestmark = pytest.mark.spark


def skyline_of(spark: SparkSession, folder: Path, policy: Lateness, **stream: Any) -> ContinuousQuery:
    source = sp.stream(read_batches(spark, folder, files=2), time="ts", **stream)
    return source.window("1 second", "500 ms").skyline(minimize="a", maximize="b").lateness(policy)


@pytest.mark.parametrize("inline_rows", [LONG(100_000), 0])
def test_sinks_hold_the_last_revision_of_every_window(spark: SparkSession, tmp_path: Path, inline_rows: int) -> None:
    batches = random_batches(5, batches=5)
    write_batches(tmp_path / "in", batches, files=2)
    query = skyline_of(spark, tmp_path / "in", sp.FixedDelay("100 ms"), key="city").lateness(allowed="1 second")
    query = query.parallel(degree=3, tuning=sp.Tuning(inline_rows=inline_rows))
    outputs = Outputs()
    running = run_to_end(query, outputs)
    rows = outputs.results.rows()
    revised = [row for row in rows if row["revision"]]
    assert revised
    assert sum(step.revised for step in running.metrics().recent) == len(
        {(r["city"], r["window"]["start"], r["revision"]) for r in revised}
    )
    definition = definition_of(query)
    every, lost = pa.concat_tables(batches), outputs.lost()
    accepted = every.filter(pa.array([n not in lost for n in every.column("n").to_pylist()], pa.bool_()))
    wanted = expected(spark, definition, accepted)

    def answers(stored: list[dict[str, Any]]) -> dict[tuple[Any, ...], list[str]]:
        found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
        for row in stored:
            where = (row["city"], micros(row["window"]["start"]))
            found.setdefault(where, []).append({k: v for k, v in row.items() if k != "revision"})
        return {where: as_text(definition, group) for where, group in found.items()}

    parquet, memory = sp.ParquetSink(tmp_path / "out"), sp.MemorySink("revised_answers")
    for sink in (parquet, memory):
        running = query.start(sink=sink, available_now=True)
        assert running.await_termination(300)
    stored = pa.concat_tables([pq.ParquetFile(path).read() for path in sorted((tmp_path / "out").glob("step*"))])
    assert answers(stored.to_pylist()) == wanted
    assert answers(spark.table("revised_answers").toArrow().to_pylist()) == wanted
    appended = spark.createDataFrame(pa.concat_tables(outputs.results.tables).combine_chunks())
    assert answers(sp.latest_revisions(appended, key="city").toArrow().to_pylist()) == wanted


@pytest.mark.parametrize("policy", [LONG(sp.DropRatio(0.05)), sp.Harm(0.02), sp.KSlack(memory="5 seconds")])
def test_a_controlled_slack_survives_restarts(spark: SparkSession, tmp_path: Path, policy: Lateness) -> None:
    batches = random_batches(11, batches=6)
    query = skyline_of(spark, tmp_path / "in", policy)
    outputs, slacks = Outputs(), []
    for index, batch in enumerate(batches):
        write_batches(tmp_path / "in", [batch], files=2, first=index)
        running = run_to_end(query, outputs, checkpoint=tmp_path / "c", flush=False)
        last = running.metrics().last
        assert last is not None
        slacks.append(last.slack_us)
    engine = Engine(replace(definition_of(query), harm_horizon_us=10_000_000), policy, FutureGuard(HOUR_US))
    state, wanted = engine.start(), []
    for batch in batches:
        state, _ = engine.step(state, [batch])
        wanted.append(policy.slack_us(state.progress.policy_state))
    assert slacks == wanted
    assert max(slacks) > 0


def test_in_order_processing_gives_the_same_answers(spark: SparkSession, tmp_path: Path) -> None:
    write_batches(tmp_path / "in", random_batches(3), files=2)
    query = skyline_of(spark, tmp_path / "in", sp.KSlack(), key="zone")
    runs = []
    for processing in ("out_of_order", "in_order"):
        outputs = Outputs()
        running = run_to_end(query.parallel(degree=2, tuning=sp.Tuning(processing=processing)), outputs)
        runs.append((sorted(map(repr, outputs.results.rows())), sorted(map(repr, outputs.late.rows()))))
        held = [step.state_rows for step in running.metrics().recent]
        runs[-1] = (*runs[-1], held)  # type: ignore[assignment]
    (answers, late, held), (answers_in_order, late_in_order, held_in_order) = runs  # type: ignore[misc]
    assert answers_in_order == answers
    assert late_in_order == late
    assert sum(held_in_order) > sum(held)


def test_a_lagging_partition_is_waited_for_and_an_idle_one_is_not(spark: SparkSession, tmp_path: Path) -> None:
    def batch(first: int, **newest_s: float) -> pa.Table:
        rows = [
            {"n": first + i, "ts": int(second * 1e6), "city": name, "zone": 1, "a": float(i), "b": 1}
            for i, (name, second) in enumerate(newest_s.items())
        ]
        return pa.Table.from_pylist(rows, random_batches(1)[0].schema)

    def counts(timeout: str) -> ContinuousQuery:
        partition = sp.Partition("city", across="min", max_lag="30 s", timeout=timeout)
        source = sp.stream(read_batches(spark, tmp_path / "in"), time="ts", partition=partition)
        return source.window("1 second").aggregate(rows="count").lateness(sp.FixedDelay("0 seconds"))

    query = counts("1 hour")
    outputs = Outputs()

    def run(first: int, query: ContinuousQuery = query, **newest_s: float) -> Any:
        write_batches(tmp_path / "in", [batch(first, **newest_s)], first=first)
        running = run_to_end(query, outputs, checkpoint=tmp_path / "c", flush=False)
        return running.metrics().last

    assert run(0, fast=10.0, slow=2.0).watermark_us == 2_000_000
    assert run(10, fast=11.0, slow=3.0).watermark_us == 3_000_000
    # The slow one is more than 30 seconds behind: waited for no longer.
    assert run(20, fast=50.0, slow=4.0).watermark_us == 20_000_000
    # How long to wait is not a part of the query: with this time-out any partition without a record is idle.
    impatient = counts("1 microsecond")
    assert run(30, impatient, fast=51.0).watermark_us == 51_000_000
    run(40, impatient, fast=52.0, slow=5.0)
    assert [row["n"] for row in outputs.late.rows()] == [41]
    assert (
        "the slowest is waited for, at most 30 s; one idle for 1 h is not"
        in query.start(available_now=True, sink=sp.DiscardSink()).explain()
    )


def test_held_records_survive_a_restart_in_another_time_zone(spark: SparkSession, tmp_path: Path) -> None:
    def batch(first: int, *seconds: float) -> pa.Table:
        rows = [
            {"n": first + i, "ts": int(second * 1e6), "city": "ulm", "zone": 1, "a": 1.0, "b": 1}
            for i, second in enumerate(seconds)
        ]
        return pa.Table.from_pylist(rows, SCHEMA)

    outputs, zone = Outputs(), str(spark.conf.get("spark.sql.session.timeZone"))
    batches = [batch(0, 1.0, 1.5, 90_000.2), batch(10, 90_000.4), batch(20, 90_001.5, 90_002.5)]
    held = []
    try:
        for index, rows in enumerate(batches):
            spark.conf.set("spark.sql.session.timeZone", ("UTC", "Asia/Tokyo", "UTC")[index])
            write_batches(tmp_path / "in", [rows], first=index)
            source = sp.stream(read_batches(spark, tmp_path / "in"), time="ts").window("1 second")
            query = source.aggregate(rows="count", least="min(n)").lateness(sp.FixedDelay("0 seconds"))
            running = run_to_end(query, outputs, checkpoint=tmp_path / "c", flush=index == 2)
            held.append(running.metrics().ledger.held)
            assert running.metrics().delivered == sum(b.num_rows for b in batches[: index + 1])
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    assert held == [1, 0, 0]
    answers = [(micros(r["window"]["start"]) // 10**6, r["rows"], r["least"]) for r in outputs.results.rows()]
    assert answers == [(1, 2, 0), (90_000, 2, 2), (90_001, 1, 20), (90_002, 1, 21)]


def test_records_that_are_held_without_columns_that_nobody_read_go_on_when_somebody_does(
    spark: SparkSession, tmp_path: Path
) -> None:
    """And the other way round: what a run keeps of a held record depends on who gets whole records."""

    def batch(first: int, *seconds: float) -> pa.Table:
        rows = [
            {"n": first + i, "ts": int(second * 1e6), "city": "ulm", "zone": 1, "a": 1.0, "b": 1}
            for i, second in enumerate(seconds)
        ]
        return pa.Table.from_pylist(rows, SCHEMA)

    batches = [batch(0, 1.0, 1.5, 90_000.2), batch(10, 1.7), batch(20, 90_000.4, 90_001.5), batch(30, 90_002.5)]
    for name, kept in {"few first": (False, True), "all first": (True, False)}.items():
        sink, folder = sp.MemorySink(f"q_{name[:3]}"), tmp_path / name
        for index, rows in enumerate(batches):
            write_batches(folder / "in", [rows], first=index)
            source = sp.stream(read_batches(spark, folder / "in"), time="ts", key="city").window("1 second")
            query = source.aggregate(rows="count", least="min(n)").lateness(sp.FixedDelay("0 seconds"))
            running = query.start(
                sink=sp.ParquetSink(folder / "out"),
                quarantine=sink if kept[index % 2] else None,
                checkpoint=folder / "c",
                available_now=True,
                flush=index == 3,
            )
            running.await_termination()
        assert running.metrics().ledger.accepted == 7
        found = spark.read.parquet(str(folder / "out")).orderBy("window").collect()
        assert [(row["rows"], row["least"]) for row in found] == [(3, 0), (2, 2), (1, 21), (1, 30)]


def test_a_slack_of_many_windows_is_warned_about_once(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [[10.0, 10.1], [3.0, 11.0], [12.0], [13.0]]
    for index, seconds in enumerate(rows):
        ts = pa.array([int(second * 1e6) for second in seconds], pa.timestamp("us", "UTC"))
        write_batches(tmp_path / "in", [pa.table({"ts": ts})], first=index)
    source = sp.stream(read_batches(spark, tmp_path / "in", pa.schema([ts_field()])), time="ts").window("1 second")
    running = run_to_end(source.aggregate(rows="count"), Outputs())
    warnings = [step.slack_warning for step in running.metrics().recent]
    assert warnings[0] is None
    assert warnings[-1] is not None
    assert warnings[-1].startswith("answers wait 7100 ms for late records, more than 3 windows")
    assert [record.getMessage() for record in caplog.records if record.name == "skypane"] == [warnings[-1]]


def ts_field() -> pa.Field:
    return pa.field("ts", pa.timestamp("us", "UTC"))


def test_latencies_are_those_of_the_definitions(spark: SparkSession, tmp_path: Path) -> None:
    write_batches(tmp_path / "in", random_batches(8, batches=6), files=2)
    running = run_to_end(skyline_of(spark, tmp_path / "in", sp.FixedDelay("500 ms")), Outputs())
    steps = [step for step in running.metrics().recent if step.window_latency_ms is not None]
    assert steps
    for step in steps:
        assert step.window_latency_ms is not None
        assert step.window_latency_ms >= 0
        assert step.closing_lag_ms is None or step.closing_lag_ms >= 0
