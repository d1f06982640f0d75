"""Streams with exact batch cuts, a sink that tests can wait for, and what a run must have answered."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

import skypane as sp
from skypane.api.continuous_query import ContinuousQuery
from skypane.flow.definition import Definition
from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.policy import Lateness
from skypane.local.engine import Engine
from skypane.spark.sinks.base import Sink, StepRows
from skypane.testing.oracle import Answer, actual_answers, answers_by_reference
from tests.support.records import SCHEMA
from tests.support.spark.tables import with_oracle_columns

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
HOUR_US = 3_600_000_000
WAIT_S = 300
"""For events that must come: only a hang takes this long."""


def micros(when: datetime) -> int:
    return (when.replace(tzinfo=when.tzinfo or timezone.utc) - EPOCH) // timedelta(microseconds=1)


def random_batches(seed: int, batches: int = 5, rows: int = 40, start_us: int = -3_000_000) -> list[pa.Table]:
    """Records that drift upwards through time with disorder; a few cannot be used, one batch is empty."""
    rng = random.Random(seed)
    tables, n, now = [], 0, start_us
    for batch in range(batches):
        records = []
        for _ in range(0 if batch == batches // 2 else rng.randint(rows // 2, rows)):
            now += rng.choice([0, 1, 50_000, 130_000])
            when: int | None = now - (rng.randint(0, 2_500_000) if rng.random() < 0.3 else 0)
            a: float | None = rng.choice([-1.5, -0.0, 0.0, 1.0, 2.0, float("inf"), float("-inf"), rng.random()])
            b: int | None = rng.choice([0, 1, 2, 3, 2**53, 2**53 + 1, -(2**63)])
            fate = rng.random()
            if fate < 0.02:
                when = None
            elif fate < 0.04:
                when = 10**16 + n
            elif fate < 0.07:
                a = rng.choice([None, float("nan")])
            elif fate < 0.09:
                b = None
            city, zone = rng.choice(["ulm", "bonn", "", None]), rng.choice([1, 2, 3, 4, 5, None])
            records.append({"n": n, "ts": when, "city": city, "zone": zone, "a": a, "b": b})
            n += 1
        tables.append(pa.Table.from_pylist(records, SCHEMA))
    return tables


def write_batches(folder: Path, batches: Sequence[pa.Table], *, files: int = 1, first: int = 0) -> None:
    """Each batch as so many files; their times say in which order Spark takes them."""
    folder.mkdir(parents=True, exist_ok=True)
    for index, batch in enumerate(batches, start=first):
        for part in range(files):
            share = batch.take(pa.array(range(part, batch.num_rows, files), pa.int64()))
            path = folder / f"{index:04d}-{part}.parquet"
            hidden = folder / f".{path.name}"
            pq.write_table(share, hidden, coerce_timestamps="us")
            when = 1_700_000_000 + index * 10 + part
            os.utime(hidden, (when, when))
            hidden.rename(path)


def read_batches(
    spark: SparkSession, folder: Path, schema: pa.Schema = SCHEMA, *, files: int = 1, mode: str = "parquet"
) -> DataFrame:
    """The stream of what :func:`write_batches` wrote, and will yet write."""
    folder.mkdir(exist_ok=True)
    reader = spark.readStream.schema(from_arrow_schema(schema, prefer_timestamp_ntz=True))
    return reader.option("maxFilesPerTrigger", files).format(mode).load(str(folder))


class CollectSink(Sink):
    """Keeps the rows of every step; others can wait until there are enough."""

    def __init__(self) -> None:
        self.steps: dict[int, pa.Table] = {}
        self._changed = threading.Condition()

    def publish(self, step: int, rows: StepRows) -> None:
        with self._changed:
            assert step not in self.steps or self.steps[step].equals(rows.table())
            self.steps[step] = rows.table()
            self._changed.notify_all()

    def describe(self) -> str:
        return "a test"

    @property
    def tables(self) -> list[pa.Table]:
        return [self.steps[step] for step in sorted(self.steps)]

    def rows(self) -> list[dict[str, Any]]:
        return [row for table in self.tables for row in table.to_pylist()]

    def wait_for_steps(self, count: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.steps) >= count, WAIT_S), f"{count} steps did not come"

    def wait_for_rows(self, count: int) -> None:
        with self._changed:
            enough = self._changed.wait_for(lambda: sum(t.num_rows for t in self.steps.values()) >= count, WAIT_S)
            assert enough, f"{count} rows did not come"


@dataclass
class Outputs:
    """The sinks of a query; given to several runs of one checkpoint they add up."""

    results: CollectSink = field(default_factory=CollectSink)
    late: CollectSink = field(default_factory=CollectSink)
    quarantine: CollectSink = field(default_factory=CollectSink)
    duplicates: CollectSink | None = None
    """Of a stream with ``distinct_by``."""

    def options(self) -> dict[str, Any]:
        own = {"sink": self.results, "late": self.late, "quarantine": self.quarantine}
        return own if self.duplicates is None else {**own, "duplicates": self.duplicates}

    def lost(self) -> set[int]:
        """The numbers of the records that were not accepted; none of them is there twice."""
        copies = [] if self.duplicates is None else self.duplicates.rows()
        lost = [row["n"] for row in (*self.late.rows(), *self.quarantine.rows(), *copies)]
        assert len(lost) == len(set(lost))
        return set(lost)


def definition_of(query: ContinuousQuery) -> Definition:
    source = query.source
    return Definition(query.question, query.spec, source.time, source.keys, distinct=source.distinct)


def run_to_end(query: ContinuousQuery, outputs: Outputs, **options: Any) -> sp.RunningQuery:
    """Process what the source has and flush; fail if the query fails."""
    running = query.start(available_now=True, **outputs.options(), **{"flush": True, **options})
    assert running.await_termination(WAIT_S)
    return running


def expected(spark: SparkSession, definition: Definition, accepted: pa.Table) -> Answer:
    """Every window over the accepted records by brute force, with the expressions and ids that Spark computes."""
    if not accepted.num_rows:
        return {}
    df = spark.createDataFrame(accepted, schema=from_arrow_schema(accepted.schema, prefer_timestamp_ntz=True))
    return answers_by_reference(definition, with_oracle_columns(df, definition.query).toArrow().to_pylist())


def check_run(
    spark: SparkSession,
    query: ContinuousQuery,
    batches: Sequence[pa.Table],
    outputs: Outputs,
    metrics: Any,
    *,
    in_order: bool = True,
) -> None:
    """The answers are the oracle's over accepted records; the fates are the pure engine's; the ledger adds up."""
    definition = definition_of(query)
    assert_answers(spark, definition, batches, outputs, in_order=in_order)
    assert_fates(definition, query.lateness_options.policy, batches, outputs)
    delivered = sum(batch.num_rows for batch in batches)
    assert metrics.delivered == delivered
    assert metrics.ledger.accepted == delivered - len(outputs.lost())
    assert metrics.ledger.late == len(outputs.late.rows())
    assert metrics.ledger.quarantined == len(outputs.quarantine.rows())
    assert metrics.ledger.duplicate == (0 if outputs.duplicates is None else len(outputs.duplicates.rows()))


def assert_answers(
    spark: SparkSession,
    definition: Definition,
    batches: Sequence[pa.Table],
    outputs: Outputs,
    *,
    in_order: bool = True,
) -> None:
    """Each (key, window) once, in order unless tasks took turns, with the oracle's answer over the accepted records."""
    every, lost = pa.concat_tables(batches), outputs.lost()
    accepted = every.filter(pa.array([n not in lost for n in every.column("n").to_pylist()], pa.bool_()))
    assert actual_answers(definition, outputs.results.tables) == expected(spark, definition, accepted)
    if in_order:
        assert_windows_in_order(definition, outputs.results)


def assert_windows_in_order(definition: Definition, sink: CollectSink) -> None:
    newest: dict[tuple[Any, ...], int] = {}
    for row in sink.rows():
        key = tuple(row[k] for k in definition.keys)
        start = micros(row["window"]["start"])
        assert start >= newest.get(key, start), f"a window of {key} came after a later one"
        newest[key] = start


def assert_fates(definition: Definition, policy: Lateness, batches: Sequence[pa.Table], outputs: Outputs) -> None:
    """Lost rows, each with all it says, are those of the engine that runs without Spark."""
    horizon_us = 10 * definition.window.reach_us
    engine = Engine(
        replace(definition, harm_horizon_us=horizon_us),
        policy,
        FutureGuard(max(HOUR_US, horizon_us)),
    )
    state, late, quarantined, duplicates = engine.start(), [], [], []
    now_us = time.time_ns() // 1_000  # long after all records, but for those of the year 2286
    for batch in batches:
        state, output = engine.step(state, [batch], now_us=now_us)
        late += [row for table in output.late for row in table.to_pylist()]
        quarantined += [row for table in output.quarantined for row in table.to_pylist()]
        duplicates += [row for table in output.duplicates for row in table.to_pylist()]
    _, output = engine.flush(state, now_us=now_us)
    quarantined += [row for table in output.quarantined for row in table.to_pylist()]
    assert _sorted(outputs.late.rows()) == _sorted(late)
    assert _sorted(outputs.quarantine.rows()) == _sorted(quarantined)
    assert _sorted([] if outputs.duplicates is None else outputs.duplicates.rows()) == _sorted(duplicates)


def _sorted(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(repr(sorted(row.items())) for row in rows)
