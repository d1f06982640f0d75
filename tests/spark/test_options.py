"""How a query is run: triggers, flushing, idling, stopping, failing - and what it says about itself."""

from __future__ import annotations

import threading
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import skypane as sp
from skypane.api.continuous_query import ContinuousQuery
from tests.support.records import SCHEMA
from tests.support.spark.streams import (
    WAIT_S,
    CollectSink,
    Outputs,
    check_run,
    random_batches,
    read_batches,
    run_to_end,
    write_batches,
)

pytestmark = pytest.mark.spark


def skyline_of(spark: SparkSession, folder: Path, key: str | None = "city") -> ContinuousQuery:
    stream = sp.stream(read_batches(spark, folder), time="ts", key=key)
    return stream.window("1 second", slide="500 ms").skyline(minimize="a", maximize="b")


def test_unflushed_windows_stay_open_for_the_next_run(spark: SparkSession, tmp_path: Path) -> None:
    batches, outputs = random_batches(seed=1, batches=5), Outputs()
    query = skyline_of(spark, tmp_path / "in")
    write_batches(tmp_path / "in", batches[:3])
    first = run_to_end(query, outputs, checkpoint=tmp_path / "c", flush=False)
    before = len(outputs.results.rows())
    assert first.metrics().recent[-1].open_panes > 0
    write_batches(tmp_path / "in", batches[3:], first=3)
    # Another degree, another place for the window stage: none of it changes the answers.
    second = run_to_end(query.parallel(degree=3, tuning=sp.Tuning(inline_rows=0)), outputs, checkpoint=tmp_path / "c")
    check_run(spark, query, batches, outputs, second.metrics())
    assert len(outputs.results.rows()) > before
    assert second.metrics().steps == len(batches) + 1


def test_running_again_without_news_adds_nothing(spark: SparkSession, tmp_path: Path) -> None:
    batches, outputs = random_batches(seed=2, batches=2), Outputs()
    write_batches(tmp_path / "in", batches)
    query = skyline_of(spark, tmp_path / "in")
    first = run_to_end(query, outputs, checkpoint=tmp_path / "c").metrics()
    again = run_to_end(query, outputs, checkpoint=tmp_path / "c").metrics()
    assert (again.ledger, again.windows, again.steps) == (first.ledger, first.windows, first.steps)
    check_run(spark, query, batches, outputs, again)


@pytest.mark.parametrize("counts", [[], [0], [1], [0, 1, 0]], ids=str)
def test_few_records(spark: SparkSession, tmp_path: Path, counts: list[int]) -> None:
    record = pa.Table.from_pylist([{"n": 0, "ts": 5, "city": "ulm", "zone": 1, "a": 1.0, "b": 1}], SCHEMA)
    batches = [record.slice(0, count) for count in counts]
    write_batches(tmp_path / "in", batches)
    outputs = Outputs()
    query = skyline_of(spark, tmp_path / "in", key=None)
    metrics = run_to_end(query, outputs, checkpoint=tmp_path / "c").metrics()
    assert metrics.delivered == sum(counts)
    assert len(outputs.results.rows()) == 2 * sum(counts)
    if counts:
        check_run(spark, query, batches, outputs, metrics)


def test_a_hundred_thousand_keys_in_one_batch(spark: SparkSession, tmp_path: Path) -> None:
    keys = 100_000
    columns: dict[str, Any] = {
        "n": list(range(2 * keys)),
        "ts": [i % 1_000_000 for i in range(2 * keys)],
        "city": [f"key-{i % keys}" for i in range(2 * keys)],
        "zone": [i % 7 for i in range(2 * keys)],
        "a": [float(i // keys) for i in range(2 * keys)],
        "b": [0] * (2 * keys),
    }
    write_batches(tmp_path / "in", [pa.table(columns, schema=SCHEMA)])
    sink = CollectSink()
    stream = sp.stream(read_batches(spark, tmp_path / "in"), time="ts", key="city").window("1 second")
    running = stream.skyline(minimize="a").parallel(degree=2).start(sink=sink, available_now=True)
    assert running.await_termination(WAIT_S)
    assert running.metrics().windows == keys
    table = pa.concat_tables(sink.tables)
    # The record with the smaller attribute wins in each key: the one that came first.
    assert sorted(table.column("n").to_pylist()) == list(range(keys))
    assert len(set(table.column("city").to_pylist())) == keys


def test_an_idle_stream_gives_its_last_windows(spark: SparkSession, tmp_path: Path) -> None:
    # One file at a time, and its windows awaited: however slow the machine, no idle step can come in between.
    whole = pa.concat_tables(random_batches(seed=4, batches=2))
    # Without those of the year 2286, which would be held until then.
    batches = [whole.filter(pa.array([ts is None or ts.year < 2000 for ts in whole.column("ts").to_pylist()]))]
    outputs = Outputs()
    query = skyline_of(spark, tmp_path / "in")
    wanted = Outputs()
    write_batches(tmp_path / "all", batches)
    run_to_end(skyline_of(spark, tmp_path / "all"), wanted)
    running = query.start(trigger="50 ms", idle_timeout="1 second", **outputs.options())
    try:
        write_batches(tmp_path / "in", batches)
        outputs.results.wait_for_rows(len(wanted.results.rows()))
        check_run(spark, query, batches, outputs, running.metrics())
        assert running.is_active
        assert not running.await_termination(timeout=0.01)
        # A stream that goes on after it was idle: records of closed windows are late, the others are answered.
        last = max(row["ts"] for batch in batches for row in batch.to_pylist() if row["ts"] and row["ts"].year < 2000)
        more = [
            {"n": 900 + i, "ts": int(last.timestamp() * 1e6) + shift, "city": "ulm", "zone": 1, "a": 1.0, "b": 1}
            for i, shift in enumerate((0, 5_000_000))
        ]
        write_batches(tmp_path / "in", [pa.Table.from_pylist(more, SCHEMA)], first=1)
        outputs.results.wait_for_rows(len(wanted.results.rows()) + 2)
        assert [row["n"] for row in outputs.late.rows() if row["n"] >= 900] == [900]
        assert {row["n"] for row in outputs.results.rows() if row["n"] >= 900} == {901}
    finally:
        running.stop()
    kinds = groupby(step.kind for step in running.metrics().recent if step.records or step.windows)
    assert [kind for kind, _ in kinds] == ["batch", "idle", "batch", "idle"]


def test_stop_and_restart_lose_nothing(spark: SparkSession, spark_log: Path, tmp_path: Path) -> None:
    batches, outputs = random_batches(seed=5, batches=6), Outputs()
    query = skyline_of(spark, tmp_path / "in")
    write_batches(tmp_path / "in", batches[:2])
    noise = spark_log.read_text().count("StackOverflowError")
    running = query.start(checkpoint=tmp_path / "c", trigger="50 ms", idle_timeout=None, **outputs.options())
    outputs.results.wait_for_rows(1)
    running.stop()
    running.stop()  # Twice does no harm.
    assert not running.is_active
    assert running.exception() is None
    assert running.await_termination(timeout=0)
    write_batches(tmp_path / "in", batches[2:], first=2)
    second = run_to_end(query, outputs, checkpoint=tmp_path / "c")
    check_run(spark, query, batches, outputs, second.metrics())
    assert spark_log.read_text().count("StackOverflowError") == noise


def test_stop_while_busy_ends_after_the_step_that_is_under_way(
    spark: SparkSession, spark_log: Path, tmp_path: Path
) -> None:
    batches, outputs = random_batches(seed=6, batches=6), Outputs()
    write_batches(tmp_path / "in", batches)
    query = skyline_of(spark, tmp_path / "in")
    entered, go_on = threading.Event(), threading.Event()

    class SlowSink(CollectSink):
        def publish(self, step: int, rows: Any) -> None:
            outputs.results.publish(step, rows)
            entered.set()
            assert go_on.wait(WAIT_S)

    noise = spark_log.read_text().count("StackOverflowError")
    options = {**outputs.options(), "sink": SlowSink()}
    running = query.start(checkpoint=tmp_path / "c", trigger="0 seconds", **options)
    assert entered.wait(WAIT_S)
    stopper = threading.Thread(target=running.stop)
    stopper.start()
    assert running._run.stopping.wait(WAIT_S)
    go_on.set()
    stopper.join(WAIT_S)
    assert not stopper.is_alive()
    assert running.exception() is None
    assert running.metrics().steps < len(batches)
    second = run_to_end(query, outputs, checkpoint=tmp_path / "c")
    check_run(spark, query, batches, outputs, second.metrics())
    assert spark_log.read_text().count("StackOverflowError") == noise


def test_a_failing_sink_ends_the_query_with_its_own_error(spark: SparkSession, tmp_path: Path) -> None:
    batches, outputs = random_batches(seed=8, batches=3), Outputs()
    write_batches(tmp_path / "in", batches)
    query = skyline_of(spark, tmp_path / "in")

    def full(rows: DataFrame, batch_id: int) -> None:
        raise OSError(f"disk full at {batch_id}")

    running = query.start(checkpoint=tmp_path / "c", available_now=True, **{**outputs.options(), "sink": full})
    with pytest.raises(OSError, match=r"^disk full at \d+$"):
        running.await_termination(WAIT_S)
    assert isinstance(running.exception(), OSError)
    assert not running.is_active
    # Once the sink works again, the failed step is repeated and nothing is missing.
    second = run_to_end(query, outputs, checkpoint=tmp_path / "c")
    check_run(spark, query, batches, outputs, second.metrics())


def test_explain_and_metrics_say_what_happens(spark: SparkSession, tmp_path: Path) -> None:
    batches, outputs = random_batches(seed=9, batches=2), Outputs()
    write_batches(tmp_path / "in", batches)
    query = skyline_of(spark, tmp_path / "in").lateness(sp.KSlack("2 seconds", max_slack="1 minute"))
    query = query.parallel(degree=3, tuning=sp.Tuning(inline_rows=7))
    before = query.explain(available_now=True)
    running = run_to_end(query, outputs)
    text = running.explain()
    for words in (
        "skyline: minimize=['a'], maximize=['b']",
        "sliding windows of 1 s every 500 ms, by ts; 2 panes of 500 ms each",
        "city",
        "K-slack: initial slack 2 s, max slack 1 min",
        "more than 1 s ahead of the clock, or 1 h ahead of the stream and fewer than 5",
        "what is available now, then end; all windows are closed",
        "up to 3 tasks by key group; in the driver below 7 rows",
        "none given: without one a query cannot be restarted",
    ):
        assert words in text
        assert words in before
    assert "results       to the sink that start() is given" in before
    assert "results       discarded" in query.explain(sink=sp.DiscardSink())
    metrics = running.metrics()
    steps = metrics.recent
    assert [step.kind for step in steps] == ["batch", "batch", "flush"]
    assert [step.records for step in steps] == [batch.num_rows for batch in batches] + [0]
    assert sum(step.windows for step in steps) == metrics.windows
    assert sum(step.rows_emitted for step in steps) == len(outputs.results.rows())
    assert steps[-1].open_panes == steps[-1].state_rows == 0
    assert steps[0].open_panes > 0
    assert metrics.last == steps[-1]
    assert metrics.as_dict()["delivered"] == metrics.delivered


def test_a_temporary_checkpoint_is_gone_when_the_query_ends(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    write_batches(tmp_path / "in", random_batches(seed=10, batches=1))
    run_to_end(skyline_of(spark, tmp_path / "in"), Outputs())
    with pytest.raises(sp.OptionError):
        skyline_of(spark, tmp_path / "in").start(sink=sp.ParquetSink("s3://bucket/x"))
    assert list((tmp_path / "tmp").iterdir()) == []


def test_names_with_dots_and_backticks(spark: SparkSession, tmp_path: Path) -> None:
    write_batches(tmp_path / "in", random_batches(seed=12, batches=2))
    df = read_batches(spark, tmp_path / "in").withColumnsRenamed({"city": "ci.ty", "a": "a`b", "ts": "t.s"})
    sink = CollectSink()
    query = sp.stream(df, time="t.s", key=["ci.ty"]).window("1 second").skyline(minimize=["a`b"])
    running = query.parallel(tuning=sp.Tuning(inline_rows=0)).start(sink=sink, available_now=True)
    assert running.await_termination(WAIT_S)
    assert sink.rows()
    assert set(sink.rows()[0]) == {"ci.ty", "window", "n", "t.s", "zone", "a`b", "b"}


def test_bad_options_are_refused_before_anything_starts(spark: SparkSession, tmp_path: Path) -> None:
    write_batches(tmp_path / "in", random_batches(seed=13, batches=1))
    df = read_batches(spark, tmp_path / "in")
    sink = CollectSink()

    def start(frame: DataFrame = df, time: str = "ts", key: Any = None, **options: Any) -> None:
        question = sp.stream(frame, time=time, key=key).window("1 second").skyline(minimize="a")
        question.start(**{"sink": sink, "checkpoint": tmp_path / "c", "available_now": True, **options})

    windowed = sp.stream(df, time="ts", key="city").window("1 second")
    plain = windowed.skyline(minimize="a")
    cases: list[tuple[type[Exception], str, Any]] = [
        (sp.OptionError, r"needs a streaming DataFrame.* or sp\.skyline_intervals\(df", lambda: start(spark.range(1))),
        (sp.SchemaError, "Time column 'when' is not a column", lambda: start(time="when")),
        (
            sp.SchemaError,
            r"Time column 'n' has type int64; it must be a timestamp.*F\.to_timestamp",
            lambda: start(time="n"),
        ),
        (sp.SchemaError, "Key 'town' is not a column", lambda: start(key="town")),
        (sp.OptionError, "names a column twice", lambda: start(key=["city", "city"])),
        (
            sp.SchemaError,
            "a column 'Window', which the result adds",
            lambda: start(df.withColumnRenamed("zone", "Window")),
        ),
        (sp.SchemaError, "'__sp_id': names that start", lambda: start(df.withColumnRenamed("zone", "__sp_id"))),
        (
            sp.SchemaError,
            "'Delay', which late records get",
            lambda: start(df.withColumnRenamed("zone", "Delay"), late=sink),
        ),
        (
            sp.SchemaError,
            "'reason', which quarantined",
            lambda: start(df.withColumnRenamed("zone", "reason"), quarantine=sink),
        ),
        (
            sp.OptionError,
            "An aggregate cannot be called 'city'",
            lambda: windowed.aggregate(city="count").start(sink=sink),
        ),
        (
            sp.SchemaError,
            "a column 'score', which top-k adds. Rename it",
            lambda: (
                sp.stream(df.withColumnRenamed("city", "score"), time="ts", key="score")
                .window("1 s")
                .top_k(2, score="a")
                .start(sink=sink)
            ),
        ),
        (sp.OptionError, "sink='out' is not a sink", lambda: start(sink="out")),
        (sp.OptionError, "late=3 is not a sink", lambda: start(late=3)),
        (sp.OptionError, "degree=0 must be a whole number from 1", lambda: plain.parallel(degree=0)),
        (
            sp.OptionError,
            "inline_rows=-1 must be a whole number from 0",
            lambda: plain.parallel(tuning=sp.Tuning(inline_rows=-1)),
        ),
        (sp.OptionError, "trigger='soon' is not a duration", lambda: start(trigger="soon")),
        (sp.OptionError, "idle_timeout='0 seconds' must be longer", lambda: start(idle_timeout="0 seconds")),
        (
            sp.OptionError,
            "max_future='1 month': a month has no fixed length",
            lambda: plain.lateness(guard=sp.TimeGuard(max_future="1 month")),
        ),
        (
            sp.OptionError,
            "support=0 must be a whole number from 1",
            lambda: plain.lateness(guard=sp.TimeGuard(support=0)),
        ),
        (sp.OptionError, "checkpoint='hdfs://x/y'.*not hdfs://", lambda: start(checkpoint="hdfs://x/y")),
        (sp.OptionError, r"lateness\(5\): give a policy", lambda: plain.lateness(5)),  # type: ignore[arg-type]
        (sp.OptionError, "'nope' is not an aggregate", lambda: windowed.aggregate(x="nope")),
        (
            sp.SchemaError,
            r"x=sum\(...\) needs numbers, not string",
            lambda: windowed.aggregate(x="sum(city)").start(sink=sink),
        ),
        (
            sp.OptionError,
            r"'a \* rand\(\)' gives other values each time",
            lambda: windowed.top_k(2, score="a * rand()").start(sink=sink),
        ),
        (
            sp.OptionError,
            r"partition=3 must be the name of a column, or an sp.Partition",
            lambda: sp.stream(plain.source.df, time="ts", partition=3),  # type: ignore[arg-type]
        ),
        (
            sp.OptionError,
            r"lateness\(allowed=\.\.\.\) corrects whole answers",
            lambda: plain.lateness(allowed="1 s").emit("changes").start(sink=sink),
        ),
        (
            sp.OptionError,
            "processing='sorted' is unknown; it must be",
            lambda: plain.parallel(tuning=sp.Tuning(processing="sorted")),
        ),
        (
            sp.OptionError,
            "Harm needs to judge late records, and harm_horizon=None",
            lambda: plain.lateness(sp.Harm(0.1), harm_horizon=None).start(sink=sink),
        ),
        (sp.OptionError, "'nope' cannot be computed", lambda: windowed.aggregate(x="sum(nope)").start(sink=sink)),
    ]
    for kind, message, call in cases:
        with pytest.raises(kind, match=message):
            call()
    assert not (tmp_path / "c").exists()
    assert not spark.streams.active
