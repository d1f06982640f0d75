"""A query, a policy, a pane strategy, a sink and an emission from outside the package, in one continuous query."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import skypane as sp
from counted import COLUMN, Counted
from least_loaded import LeastLoaded
from near_best import NearBest
from recent_delays import RecentDelays
from sqlite_sink import SqliteSink
from tests.extend.conftest import EXAMPLES
from tests.support.spark.streams import WAIT_S, CollectSink, micros, random_batches, read_batches, write_batches

pytestmark = pytest.mark.spark

BATCHES = random_batches(seed=5, batches=4, rows=60)
SIZE_US, SLIDE_US = 1_000_000, 250_000
QUERY = NearBest("a", 1.0)


def expected(lost: set[int]) -> dict[tuple[str | None, int], list[int]]:
    """The numbers of the records that the reference chooses, for every city and window over the accepted ones."""
    members: dict[tuple[str | None, int], list[sp.extend.Row]] = defaultdict(list)
    for row in pa.concat_tables(BATCHES).to_pylist():
        if row["n"] not in lost:
            start = micros(row["ts"]) // SLIDE_US * SLIDE_US
            while start > micros(row["ts"]) - SIZE_US:
                members[row["city"], start].append(row)
                start -= SLIDE_US
    return {where: sorted(row["n"] for row in QUERY.reference(rows)) for where, rows in members.items()}


def answered(sink: SqliteSink) -> dict[tuple[str | None, int], list[int]]:
    """The same from the sink; every row says how many rows its answer has."""
    answers: dict[tuple[str | None, int], list[int]] = defaultdict(list)
    sizes: dict[tuple[str | None, int], set[int]] = defaultdict(set)
    for row in sink.read():
        where = (row["city"], micros(datetime.fromisoformat(row["window"]["start"])))
        answers[where].append(row["n"])
        sizes[where].add(row[COLUMN])
    assert sizes == {where: {len(numbers)} for where, numbers in answers.items()}
    return {where: sorted(numbers) for where, numbers in answers.items()}


def test_extensions_of_every_kind_work_together(spark: SparkSession, tmp_path: Path) -> None:
    """Also across a restart with fewer workers, from the checkpoint."""
    for path in EXAMPLES.glob("*.py"):
        spark.sparkContext.addPyFile(str(path))
    sink, late, quarantine = SqliteSink(tmp_path / "answers.db"), CollectSink(), CollectSink()

    def run(first: int, end: int, pane_degree: int, **options: Any) -> sp.RunningQuery:
        write_batches(tmp_path / "in", BATCHES[first:end], files=2, first=first)
        running = (
            sp.stream(read_batches(spark, tmp_path / "in", files=2), time="ts", key="city")
            .window("1 second", slide="250 milliseconds")
            .query(QUERY)
            .lateness(RecentDelays(3))
            .parallel(tuning=sp.Tuning(splitting=LeastLoaded, pane_degree=pane_degree))
            .emit(Counted())
            .start(
                sink=sink,
                late=late,
                quarantine=quarantine,
                checkpoint=tmp_path / "checkpoint",
                available_now=True,
                **options,
            )
        )
        assert running.await_termination(WAIT_S)
        return running

    first = run(0, 2, pane_degree=3, flush=False)
    assert "query         near_best: column=a, margin=1.0" in first.explain()
    assert "lateness      recent delays: steps 3\n" in first.explain()
    assert "pane stage    3 tasks, routed by least_loaded;" in first.explain()
    assert f"results       SQLite {tmp_path / 'answers.db'}" in first.explain()
    second = run(2, 4, pane_degree=2)
    tasks = [step.pane_tasks for query in (first, second) for step in query.metrics().recent if step.kind == "batch"]
    assert tasks == [3, 3, 2, 2]
    lost = [row["n"] for row in (*late.rows(), *quarantine.rows())]
    assert late.rows()
    assert len(lost) == len(set(lost))
    assert answered(sink) == expected(set(lost))
