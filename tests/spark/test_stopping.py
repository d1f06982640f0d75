"""However a query is told to stop, it ends at the border of a step, says so, and loses nothing."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import skypane as sp
from skypane.model.errors import SkypaneError
from tests.support.records import SCHEMA
from tests.support.spark.streams import WAIT_S, CollectSink, read_batches, write_batches

BATCHES = 12
IN_BATCH = 10


def numbered(index: int) -> pa.Table:
    """Records in order, ten in a second."""
    rows = range(index * IN_BATCH, (index + 1) * IN_BATCH)
    return pa.Table.from_pylist(
        [{"n": n, "ts": n * 100_000, "city": "ulm", "zone": 1, "a": 1.0, "b": 1} for n in rows], SCHEMA
    )


def counts(spark: SparkSession, folder: Path, window: str = "1 second") -> Any:
    write_batches(folder, [numbered(index) for index in range(BATCHES)])
    return sp.stream(read_batches(spark, folder), time="ts").window(window).aggregate(n="count")


def test_only_what_users_need_is_public() -> None:
    public = {name for name in dir(sp.RunningQuery) if not name.startswith("_")}
    assert public == {
        "await_termination",
        "exception",
        "explain",
        "is_active",
        "is_working",
        "metrics",
        "planning",
        "stop",
    }


def test_a_sink_may_stop_its_query_but_not_wait_for_it(spark: SparkSession, tmp_path: Path) -> None:
    started, refused = threading.Event(), []
    running: list[sp.RunningQuery] = []

    def enough(rows: DataFrame, step: int) -> None:
        assert started.wait(WAIT_S)
        with pytest.raises(SkypaneError, match="would wait for itself") as error:
            running[0].await_termination(WAIT_S)
        refused.append((step, error.value))
        running[0].stop()
        assert running[0].is_active

    running.append(counts(spark, tmp_path / "in").start(sink=enough, trigger="0 seconds"))
    started.set()
    assert running[0].await_termination(WAIT_S)
    assert running[0].metrics().steps == refused[0][0], "the step was finished, no other begun"
    assert len(refused) == 1
    spark_query = running[0]._run._spark_query
    assert spark_query is not None
    assert spark_query.exception() is None, "for Spark the batch after that was no error, which it would log at length"


@pytest.mark.parametrize("what", [KeyboardInterrupt, SystemExit])
def test_an_exit_in_a_sink_ends_the_query(spark: SparkSession, tmp_path: Path, what: type[BaseException]) -> None:
    def leaves(rows: DataFrame, step: int) -> None:
        raise what("of the sink")

    running = counts(spark, tmp_path / "in").start(sink=leaves, available_now=True)
    with pytest.raises(what, match="of the sink"):
        running.await_termination(WAIT_S)
    assert "failed" in repr(running)


class Held(CollectSink):
    """Tells when a step is under way, and goes on when it is told to."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self._at = at
        self.entered, self.go_on = threading.Event(), threading.Event()

    def publish(self, step: int, rows: Any) -> None:
        if step == self._at:
            self.entered.set()
            assert self.go_on.wait(WAIT_S)
        super().publish(step, rows)


def stopped_by_spark(spark: SparkSession, sink: Held) -> None:
    """``stop()`` of Spark's own handle, in the middle of a step."""
    (query,) = spark.streams.active
    stopper = threading.Thread(target=query.stop)
    stopper.start()
    stopper.join(1.0)  # Spark waits for the step, or gives it up: either may be.
    sink.go_on.set()
    stopper.join(WAIT_S)
    assert not stopper.is_alive()


def test_stopped_through_spark_is_not_the_end_of_the_stream(spark: SparkSession, tmp_path: Path) -> None:
    query, sink = counts(spark, tmp_path / "in", "1 minute"), Held(at=3)
    running = query.start(sink=sink, checkpoint=tmp_path / "c", available_now=True)
    assert sink.entered.wait(WAIT_S)
    stopped_by_spark(spark, sink)
    assert running.await_termination(WAIT_S)
    assert running.exception() is None
    assert {step.kind for step in running.metrics().recent} == {"batch"}
    assert sink.rows() == []
    second = query.start(sink=sink, checkpoint=tmp_path / "c", available_now=True)
    assert second.await_termination(WAIT_S)
    assert second.metrics().ledger.accepted == BATCHES * IN_BATCH
    assert [row["n"] for row in sink.rows()] == [BATCHES * IN_BATCH]


@pytest.fixture
def slow_job(spark: SparkSession, tmp_path: Path) -> Iterator[tuple[Path, Path, Callable[[], None]]]:
    """A Spark job that says when it runs, and runs until it is let go."""
    runs, let_go = tmp_path / "runs", tmp_path / "let_go"

    def wait(batches):  # type: ignore[no-untyped-def]
        runs.touch()
        while not let_go.exists():
            time.sleep(0.02)
        yield from batches

    yield runs, let_go, lambda: spark.range(1).mapInArrow(wait, "id long").foreach(lambda _: None)
    let_go.touch()


def test_ctrl_c_ends_the_wait_and_not_the_step(
    spark: SparkSession, tmp_path: Path, slow_job: tuple[Path, Path, Callable[[], None]]
) -> None:
    runs, let_go, job = slow_job
    steps = []

    def sink(rows: DataFrame, step: int) -> None:
        job()
        steps.append(step)

    def press() -> None:
        while not runs.exists():
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    running = counts(spark, tmp_path / "in").start(sink=sink, trigger="0 seconds")
    threading.Thread(target=press, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        running.await_termination(WAIT_S)
    assert signal.getsignal(signal.SIGINT) is before
    assert running.is_active
    let_go.touch()
    running.stop()
    assert running.exception() is None
    assert steps, "the step under way was finished"
    assert running.metrics().steps < BATCHES
