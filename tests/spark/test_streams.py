"""A stream, continuously: on Spark the answers equal the oracle over accepted records, however the query is run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import skypane as sp
from skypane.api.continuous_query import ContinuousQuery
from skypane.api.windowed import Windowed
from skypane.lateness.policy import Lateness
from skypane.tuning.sharing import stage
from tests.support.marks import LONG
from tests.support.records import SCHEMA
from tests.support.spark.streams import (
    Outputs,
    assert_answers,
    check_run,
    definition_of,
    micros,
    random_batches,
    read_batches,
    run_to_end,
    write_batches,
)

pytestmark = pytest.mark.spark

INLINE, ON_SPARK = 100_000, 0
PATIENT = (sp.KSlack("1 second"), sp.FixedDelay("1 second"))
"""Policies that may wait long enough for every record."""


def skyline(windowed: Windowed) -> ContinuousQuery:
    return windowed.skyline(minimize="a", maximize="b")


def top_delta(windowed: Windowed) -> ContinuousQuery:
    return windowed.top_delta(2, minimize="a", maximize="b")


def top_k(windowed: Windowed) -> ContinuousQuery:
    return windowed.top_k(3, score="a")


def aggregate(windowed: Windowed) -> ContinuousQuery:
    return windowed.aggregate(rows="count", least="min(a)", most="max(b)", total="sum(n)", middle="mean(n)")


QUESTIONS = {"skyline": skyline, "top_delta": top_delta, "top_k": top_k, "aggregate": aggregate}
SLIDING, TUMBLING, HOPPING, ODD = ("1 second", "200 ms"), ("1 second", None), ("500 ms", "2 seconds"), ("7 ms", "3 ms")


@dataclass(frozen=True)
class Case:
    """One way to ask and to run."""

    question: str
    window: tuple[str, str | None]
    key: str | list[str] | None
    policy: Lateness
    degree: int
    inline_rows: int
    files: int
    """Source files, and so pane-stage tasks, per batch."""


CASES = [
    Case("skyline", SLIDING, "city", sp.KSlack(), 2, ON_SPARK, 2),
    Case("skyline", TUMBLING, None, sp.KSlack(), 1, INLINE, 1),
    Case("skyline", HOPPING, ["city", "zone"], sp.FixedDelay("300 ms"), 4, ON_SPARK, 3),
    Case("skyline", ("3 seconds", "2 seconds"), "zone", sp.KSlack("1 second"), 4, INLINE, 1),
    Case("top_delta", SLIDING, "zone", sp.FixedDelay("1 second"), 4, ON_SPARK, 1),
    Case("top_delta", TUMBLING, ["zone", "city"], sp.KSlack(), 2, INLINE, 2),
    Case("top_delta", HOPPING, None, sp.KSlack(max_slack="1 second"), 1, ON_SPARK, 1),
    Case("top_k", SLIDING, ["city", "zone"], sp.KSlack(), 4, INLINE, 3),
    Case("top_k", TUMBLING, "city", sp.KSlack(), 1, ON_SPARK, 1),
    Case("top_k", HOPPING, "zone", sp.FixedDelay("0 seconds"), 2, INLINE, 2),
    Case("top_k", ODD, None, sp.KSlack(), 2, INLINE, 1),
    Case("aggregate", SLIDING, None, sp.KSlack(), 2, INLINE, 2),
    Case("aggregate", TUMBLING, ["city", "zone"], sp.FixedDelay("500 ms"), 4, ON_SPARK, 1),
    Case("aggregate", HOPPING, "city", sp.KSlack(), 2, ON_SPARK, 3),
    Case("aggregate", ("900 ms", "1300 ms"), "zone", sp.KSlack(), 1, INLINE, 1),
]
MORE = (3, 6, 8, 9, 12)
"""Of which each part is in another one."""


@pytest.mark.parametrize(
    "index",
    [LONG(i) if i in MORE else i for i in range(len(CASES))],
    ids=lambda i: f"{i}-{CASES[i].question}",
)
def test_answers_equal_the_oracle_over_accepted_records(spark: SparkSession, tmp_path: Path, index: int) -> None:
    case, batches, outputs = CASES[index], random_batches(seed=index), Outputs()
    write_batches(tmp_path / "in", batches, files=case.files)
    df = read_batches(spark, tmp_path / "in", files=case.files)
    windowed = sp.stream(df, time="ts", key=case.key).window(*case.window)
    query = QUESTIONS[case.question](windowed).lateness(case.policy)
    query = query.parallel(degree=case.degree, tuning=sp.Tuning(inline_rows=case.inline_rows))
    running = run_to_end(query, outputs, checkpoint=tmp_path / "checkpoint")
    check_run(spark, query, batches, outputs, running.metrics())
    # Otherwise the case shows nothing about one of the stages.
    steps = running.metrics().recent
    assert {step.window_inline for step in steps if step.window_tasks} == {case.inline_rows == INLINE}
    assert max(step.pane_tasks for step in steps) == min(case.files, 2)
    assert running.metrics().windows > 2
    if case.key is not None:
        # In the driver one does it all.
        assert max(step.window_tasks for step in steps) == (1 if case.inline_rows == INLINE else case.degree)
    assert outputs.quarantine.rows()
    assert outputs.late.rows() or case.policy in PATIENT


def test_threads_of_the_driver_answer_like_one(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stage, "THREADED_ROWS", 0)
    batches, outputs = random_batches(seed=7), Outputs()
    write_batches(tmp_path / "in", batches)
    windowed = sp.stream(read_batches(spark, tmp_path / "in"), time="ts", key="city").window(*SLIDING)
    query = QUESTIONS["aggregate"](windowed).parallel(degree=4, tuning=sp.Tuning(inline_rows=INLINE))
    assert query.question.in_threads
    running = run_to_end(query, outputs)
    check_run(spark, query, batches, outputs, running.metrics())
    steps = [step for step in running.metrics().recent if step.window_tasks]
    assert {step.window_inline for step in steps} == {True}
    assert max(step.window_tasks for step in steps) > 1


def test_every_record_that_is_not_accepted_says_why(spark: SparkSession, tmp_path: Path) -> None:
    second, day = 1_000_000, 86_400_000_000

    def record(n: int, ts: int | None, a: float | None = 1.0, b: int | None = 1) -> dict[str, Any]:
        return {"n": n, "ts": ts, "city": "ulm", "zone": 1, "a": a, "b": b}

    first = [record(0, 0), record(1, 10 * second), record(2, None), record(3, 30 * day)]
    # Without slack the first batch has punctuated at 10 s: what is dated 9.9 s is 0.1 s late, 10.2 s is in time.
    then = [
        record(4, 9_900_000),
        record(5, 10_200_000),
        record(6, 10_300_000, a=float("nan")),
        record(7, 10_300_000, a=None),
        record(8, 0, b=None),
        record(9, None, a=None),
    ]
    # Now there is a slack of 0.1 s, so that the punctuation is at 10.1 s.
    last = [record(10, 9_999_999), record(11, 10_000_000)]
    batches = [pa.Table.from_pylist(rows, SCHEMA) for rows in (first, then, last)]
    write_batches(tmp_path / "in", batches)
    stream = sp.stream(read_batches(spark, tmp_path / "in"), time="ts").window("1 second")
    query, outputs = stream.skyline(minimize="a", maximize="b"), Outputs()
    metrics = run_to_end(query, outputs).metrics()
    assert {row["n"]: row["reason"] for row in outputs.quarantine.rows()} == {
        2: "null time",
        3: "time beyond the future guard",
        6: "NaN in attribute 'a'",
        7: "null in attribute 'a'",
        8: "null in attribute 'b'",
        9: "null time",
    }
    late = {row["n"]: (row["delay"], micros(row["watermark"])) for row in outputs.late.rows()}
    assert late == {
        4: (timedelta(milliseconds=100), 10 * second),
        10: (timedelta(microseconds=200_001), 10_100_000),
    }
    assert metrics.ledger.accepted == 4
    assert dict(metrics.ledger.quarantined_by_reason)["null time"] == 2
    check_run(spark, query, batches, outputs, metrics)


def test_one_record_per_batch_and_one_batch_for_all_answer_the_same(spark: SparkSession, tmp_path: Path) -> None:
    records = random_batches(seed=99, batches=2, rows=16)[0].sort_by("ts")
    single = [records.slice(i, 1) for i in range(records.num_rows)]
    answers = []
    for name, batches in (("single", single), ("together", [records])):
        outputs = Outputs()
        write_batches(tmp_path / name, batches)
        query = skyline(sp.stream(read_batches(spark, tmp_path / name), time="ts", key="city").window("1 second"))
        running = run_to_end(query, outputs)
        check_run(spark, query, batches, outputs, running.metrics())
        answers.append(sorted(map(repr, outputs.results.rows())))
    assert answers[0] == answers[1]


def test_sql_expressions_reach_scores_and_aggregates(spark: SparkSession, tmp_path: Path) -> None:
    batches = random_batches(seed=3, batches=2)
    write_batches(tmp_path / "in", batches)
    source = sp.stream(read_batches(spark, tmp_path / "in"), time="ts", key="zone").window("1 second")
    questions = [
        source.top_k(2, score="CASE WHEN a > 0 THEN n / 2 ELSE -n END"),
        source.aggregate(
            pairs="sum(n * zone)", spread="stddev(n + 1)", named="count(city)", first="min(city)", share="mean(n / 7)"
        ),
    ]
    for query in questions:
        outputs = Outputs()
        assert run_to_end(query, outputs).metrics().windows > 5
        assert_answers(spark, definition_of(query), batches, outputs)


def test_a_score_that_cannot_be_computed_is_quarantined(spark: SparkSession, tmp_path: Path) -> None:
    """A division by zero would otherwise fail the batch, and every replay of it."""
    rows = [{"n": n, "ts": n * 1_000, "city": "ulm", "zone": 1, "a": float(n % 2), "b": 6} for n in range(6)]
    write_batches(tmp_path / "in", [pa.Table.from_pylist(rows, SCHEMA)])
    outputs = Outputs()
    windowed = sp.stream(read_batches(spark, tmp_path / "in"), time="ts").window("1 second")
    query = windowed.top_k(2, score="b / a").start(available_now=True, **outputs.options())
    query.await_termination()
    assert [row["n"] for row in outputs.quarantine.rows()] == [0, 2, 4]
    assert {row["reason"] for row in outputs.quarantine.rows()} == {"null score"}
    assert [row["score"] for row in outputs.results.rows()] == [6.0, 6.0]
