"""What failed for a reason that passes is repeated; anything else ends the query at once."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError, Py4JNetworkError
from pyspark.errors import AnalysisException, PySparkException, PythonException
from pyspark.sql import SparkSession

import skypane as sp
from skypane.model.errors import CheckpointError, FunctionError
from skypane.spark import ports, retries
from skypane.spark.executors.choice import slots_of
from skypane.spark.executors.cluster import Cluster
from skypane.spark.retries import PAUSES_S, repeated, transient
from skypane.spark.session import is_embedded
from tests.support.records import SCHEMA
from tests.support.spark.streams import WAIT_S, CollectSink, read_batches, write_batches

LOST = "Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times, most recent failure: Lost task 0.0: "
SLOW_WORKER = f"{LOST}org.apache.spark.SparkException: Python worker failed to connect back."
IN_PYTHON = 'Traceback (most recent call last):\n  File "mine.py", line 1, in f\n'
HADOOP = "Call From a/1 to b:8020 failed on connection exception: java.net.ConnectException: Connection refused"
REFUSED = "java.net.ConnectException: Connection refused\n\tat java.base/sun.nio.ch.Net.pollConnect(Native Method)\n"


class JavaError(Py4JJavaError):  # type: ignore[misc]  # theirs has no types
    """As Spark's errors arrive, with a text of its own."""

    def __init__(self, text: str) -> None:
        Exception.__init__(self, text)
        self.text = text

    def __str__(self) -> str:
        return self.text


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (JavaError(SLOW_WORKER), "a Python worker did not start in time"),
        (PySparkException(SLOW_WORKER), "a Python worker did not start in time"),
        (JavaError(f"{LOST}ExecutorLostFailure (executor 1 exited) Reason: Remote RPC"), "an executor was lost"),
        (JavaError("org.apache.spark.shuffle.FetchFailedException: Connection reset"), "a shuffle file could not be"),
        (JavaError(f"java.io.IOException: {HADOOP}; see wiki"), "a file system refused the connection"),
        (JavaError(f"Caused by: {REFUSED}\tat org.apache.hadoop.ipc.Client.call(Client.java:1)"), "a file system"),
        # Someone else's connection, not that of a file system.
        (JavaError(f"Caused by: {REFUSED}\tat com.mine.Udf.call(Udf.java:1)"), None),
        (JavaError(f"{REFUSED}\tat com.mine.Udf.call(Udf.java:1)\nCaused by: x\n\tat org.apache.hadoop.y(Z)"), None),
        # Exceptions of Python code, whatever they are about.
        (PythonException(f"{IN_PYTHON}ConnectionRefusedError: refused"), None),
        (PythonException(SLOW_WORKER), None),
        (JavaError(f"{LOST}{IN_PYTHON}RuntimeError: Python worker failed to connect back"), None),
        (JavaError(f"{LOST}{IN_PYTHON}ValueError: FetchFailedException"), None),
        (ConnectionRefusedError("refused"), None),
        (FunctionError("Python worker failed to connect back"), None),
        (CheckpointError("ExecutorLostFailure"), None),
        (OSError(5, "Input/output error"), None),
        # Expressions, the end of the session, a stop.
        (AnalysisException("[UNRESOLVED_COLUMN] x"), None),
        (PySparkException("[DIVIDE_BY_ZERO] Division by zero"), None),
        (JavaError(f"{SLOW_WORKER}\nJob 3 cancelled because SparkContext was shut down"), None),
        (JavaError(f"java.lang.InterruptedException\n{SLOW_WORKER}"), None),
        (Py4JNetworkError("An error occurred while trying to connect to the Java server: Connection refused"), None),
        (KeyboardInterrupt(), None),
    ],
)
def test_what_passes_and_what_does_not(error: BaseException, reason: str | None) -> None:
    found = transient(error)
    assert found is None if reason is None else str(found).startswith(reason)


def failing(*errors: Exception) -> Any:
    """Fails with each of them, then returns how often it was called."""
    calls: list[int] = []

    def run() -> int:
        calls.append(0)
        if len(calls) <= len(errors):
            raise errors[len(calls) - 1]
        return len(calls)

    return run


def test_it_is_repeated_after_pauses_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    paused: list[float] = []
    with caplog.at_level(logging.WARNING, "skypane"):
        assert repeated(failing(JavaError(SLOW_WORKER), JavaError(SLOW_WORKER)), "Step 7", paused.append) == 3
    assert paused == list(PAUSES_S[:2])
    assert caplog.messages == [
        "Step 7 failed, since a Python worker did not start in time. Trying again in 1 s (1 of 3).",
        "Step 7 failed, since a Python worker did not start in time. Trying again in 5 s (2 of 3).",
    ]


def test_in_the_end_the_error_is_raised() -> None:
    errors = [JavaError(f"{SLOW_WORKER} {n}") for n in range(9)]
    paused: list[float] = []
    with pytest.raises(JavaError, match=f"back. {len(PAUSES_S)}"):
        repeated(failing(*errors), "Step 7", paused.append)
    assert paused == list(PAUSES_S)


def test_an_error_that_does_not_pass_is_raised_at_once() -> None:
    paused: list[float] = []
    with pytest.raises(ZeroDivisionError):
        repeated(failing(ZeroDivisionError()), "Step 7", paused.append)
    with pytest.raises(PythonException):
        repeated(failing(PythonException(SLOW_WORKER)), "Step 7", paused.append)
    assert paused == []


def test_a_step_that_is_repeated_answers_as_if_nothing_had_happened(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Each stage has written all its files when the machine fails it."""
    rows = [{"n": n, "ts": n * 500_000, "city": "ulm", "zone": 1, "a": 1.0, "b": 1} for n in range(8)]
    write_batches(tmp_path / "in", [pa.Table.from_pylist(rows[i : i + 4], SCHEMA) for i in (0, 4)])
    failures = {name: [JavaError(SLOW_WORKER)] for name in ("run_pane_job", "run_window_job")}

    def then_fails(name: str) -> Any:
        stage = getattr(ports, name)

        def run(*args: Any, **options: Any) -> Any:
            done = stage(*args, **options)
            if failures[name]:
                raise failures[name].pop()
            return done

        return run

    for name in failures:
        monkeypatch.setattr(ports, name, then_fails(name))
    monkeypatch.setattr(retries, "PAUSES_S", (0.0, 0.0, 0.0))
    query = sp.stream(read_batches(spark, tmp_path / "in"), time="ts").window("1 second").skyline(minimize="n")
    sink, aside = CollectSink(), sp.DiscardSink()
    running = query.start(sink=sink, checkpoint=tmp_path / "c", late=aside, available_now=True)
    assert running.await_termination(WAIT_S)
    assert failures == {"run_pane_job": [], "run_window_job": []}
    assert [row["n"] for row in sink.rows()] == [0, 2, 4, 6]
    assert running.metrics().ledger.accepted == 8
    assert sum("Step 1 failed, since a Python worker" in message for message in caplog.messages) == 2


def test_a_task_of_the_embedded_session_is_repeated(spark: SparkSession, tmp_path: Path) -> None:
    """As on a cluster; the number of slots is as before."""
    seen = tmp_path / "seen"

    def fails_once(number: int) -> int:
        if not seen.exists():
            seen.touch()
            raise RuntimeError("once")
        return number

    assert spark.sparkContext.parallelize([7], 1).map(fails_once).collect() == [7]
    assert slots_of(spark) == 2
    assert is_embedded(spark)
    assert Cluster(spark.sparkContext).max_slots == 2
