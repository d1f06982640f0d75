"""Records that Spark adds up before they are sent: nobody can tell from what comes of them."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention
from pyspark.sql.pandas.types import from_arrow_schema

import skypane as sp
from skypane.api.continuous_query import ContinuousQuery
from skypane.flow.definition import Definition
from skypane.flow.panes.admission import Frontier
from skypane.flow.panes.worker import PaneWorker
from skypane.flow.program import Program
from skypane.flow.reports import PaneReport
from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.progress import Progress
from skypane.model.windows import WindowSpec
from skypane.queries.aggregates import Aggregates
from skypane.spark.condensing.certain_range import certain_range
from skypane.spark.condensing.eligibility import condensing_of
from skypane.spark.jobs.sending import Sending
from skypane.spark.prepare import normalised_keys, with_computed_columns
from skypane.spark.session_copies import SessionCopies
from skypane.tuning import density
from tests.support.records import SCHEMA
from tests.support.spark.streams import WAIT_S, CollectSink, random_batches, read_batches, write_batches

pytestmark = pytest.mark.spark

SECOND_US = 1_000_000
GUARD = FutureGuard(60 * SECOND_US)
ASKED = {
    "n": "count",
    "named": "count(city)",
    "floats": "count(a)",
    "most": "max(b)",
    "least": "min(zone)",
    "newest": "max(ts)",
    "days": "min(CAST(ts AS DATE))",
    "total": "sum(b)",
    "zones": "sum(zone)",
    "mean": "mean(zone)",
    "tiny": "avg(CAST(zone AS TINYINT))",
    "half": "sum(CAST(n % 7 AS SMALLINT) - 3)",
}


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few records there are."""
    monkeypatch.setattr(density, "MIN_RECORDS", 0)
    monkeypatch.setattr(density, "MIN_RECORDS_PER_ROW", 0)


def dirty(rng: random.Random, rows: int) -> pa.Table:
    """Records of any time: none, before 1970, late, far ahead, out of range."""
    times = [None, -(2**62), 2**62, -5 * SECOND_US, -1, 0, 70 * SECOND_US, 200 * SECOND_US]
    records = [
        {
            "n": n,
            "ts": rng.choice(times) if rng.random() < 0.2 else rng.randint(-20 * SECOND_US, 30 * SECOND_US),
            "city": rng.choice(["ulm", "bonn", "", None]),
            "zone": rng.choice([1, 2, -(2**31), 2**31 - 1, None]),
            "a": rng.choice([0.0, float("nan"), 1.5, None]),
            "b": rng.choice([0, 1, -1, 2**53 + 1, 2**63 - 1, -(2**63), None]),
        }
        for n in range(rows)
    ]
    return pa.Table.from_pylist(records, SCHEMA)


def dataframe(spark: SparkSession, rows: pa.Table) -> DataFrame:
    return spark.createDataFrame(rows, schema=from_arrow_schema(rows.schema, prefer_timestamp_ntz=True))


KEYS = [(), ("city",), ("zone", "city"), ("a",), ("ts",)]


@pytest.mark.parametrize("keys", KEYS, ids="-".join)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_task_reports_the_same(spark: SparkSession, keys: tuple[str, ...], seed: int) -> None:
    rng = random.Random(f"{keys}{seed}")
    rows = dirty(rng, 400)
    window = rng.choice([WindowSpec(3 * SECOND_US, SECOND_US), WindowSpec(SECOND_US, 2 * SECOND_US)])
    definition = Definition(Aggregates.of(ASKED, "ts"), window, "ts", keys)
    df = normalised_keys(dataframe(spark, rows), keys)
    prepared = with_computed_columns(df, definition.query, keys)
    expressions = definition.query.expressions()
    sending = Sending.of(prepared, expressions, keys, {"ts", *(definition.query.reads() or ())})
    condensing = condensing_of(prepared, definition, sending, GUARD, whole_records=False)
    assert condensing is not None
    sent = sending.select(prepared)
    bounds = ((None, None, None), (-8 * SECOND_US, 25 * SECOND_US, -6 * SECOND_US), (4 * SECOND_US, None, SECOND_US))
    for punctuation_us, limit_us, oldest_us in bounds:
        progress = Progress(t_max_us=10 * SECOND_US, front_us=10 * SECOND_US, punctuation_us=punctuation_us)
        frontier = Frontier(progress, GUARD, limit_us, oldest_us=oldest_us)
        plain = PaneWorker(Program.of(definition), frontier)
        plain.feed(sending.completed(sent.toArrow()))
        rows_of_both = condensing.select(sent, frontier, 2, SessionCopies()).toArrow()
        worker = PaneWorker(Program.of(definition), frontier)
        worker.feed_condensed(condensing.condensed(rows_of_both))
        worker.feed(condensing.records(rows_of_both))
        one, other = plain.finish(), worker.finish()
        assert 0 < other.condensed < rows.num_rows
        assert one.condensed == 0
        assert contents(one) == contents(other)


def contents(report: PaneReport[pa.Table]) -> dict[str, Any]:
    """All but how it came about; rows in any order."""
    rows = {
        name: Counter(tuple(map(str, row.values())) for table in getattr(report, name) for row in by_name(table))
        for name in ("partials", "suspects", "late")
    }
    quarantined = sum(table.num_rows for table in report.quarantined)  # of columns that nobody reads nothing is left
    # Of the newest times only how far apart they are is guessed.
    newest = (report.newest_us[0], len(report.newest_us))
    ways = {"condensed": 0, "tasks": (), "quarantined": quarantined, "newest_us": newest}
    return {**vars(report), **rows, **ways}


def by_name(table: pa.Table) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.select(sorted(table.column_names)).cast(_numbers(table)).to_pylist()
    return rows


def _numbers(table: pa.Table) -> pa.Schema:
    """Times as numbers, since Python's end with the year 9999; the same types otherwise."""
    fields = [table.schema.field(name) for name in sorted(table.column_names)]
    return pa.schema([pa.field(f.name, pa.int64() if pa.types.is_timestamp(f.type) else f.type) for f in fields])


def asked(df: DataFrame, seed: int) -> ContinuousQuery:
    windows = sp.stream(df, time="ts", key=KEYS[seed]).window("1 second", slide="500 milliseconds")
    allowed = "1 second" if seed == 2 else "0 seconds"
    return windows.aggregate(**ASKED).lateness(sp.FixedDelay("100 milliseconds"), allowed=allowed)


def answers(query: ContinuousQuery, **options: Any) -> tuple[list[str], sp.RunningQuery]:
    sink = CollectSink()
    running = query.start(available_now=True, flush=True, sink=sink, **options)
    assert running.await_termination(WAIT_S)
    return sorted(map(str, sink.rows())), running


@pytest.mark.parametrize("seed", range(3))
def test_answers_and_fates_are_the_same(
    spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest, seed: int
) -> None:
    write_batches(tmp_path / "in", random_batches(seed, batches=6, rows=60))
    plain, running = answers(asked(read_batches(spark, tmp_path / "in"), seed))
    request.getfixturevalue("always")
    found, other = answers(asked(read_batches(spark, tmp_path / "in"), seed))
    assert plain == found
    assert plain
    before, after = running.metrics(), other.metrics()
    assert before.ledger == after.ledger
    assert after.ledger.late
    assert after.ledger.quarantined
    compared = ("records", "late", "held", "quarantined", "t_max_us", "front_us", "watermark_us", "slack_us", "windows")
    assert [[getattr(step, name) for name in compared] for step in before.recent] == [
        [getattr(step, name) for name in compared] for step in after.recent
    ]
    assert [step.condensed for step in before.recent] == [0] * len(before.recent)
    condensed = [step.condensed for step in after.recent if step.records]
    assert condensed[0] == 0  # nothing is known of the stream yet
    assert all(condensed[1:])
    assert "added up by Spark" in other.explain()
    assert "added up by Spark" in asked(read_batches(spark, tmp_path / "in"), seed).explain()


@pytest.mark.usefixtures("always")
def test_not_where_records_are_wanted_one_by_one(spark: SparkSession, tmp_path: Path) -> None:
    write_batches(tmp_path / "in", random_batches(7, batches=3))
    stream = sp.stream(read_batches(spark, tmp_path / "in"), time="ts", key="city").window("2 seconds")
    by_zone = sp.stream(read_batches(spark, tmp_path / "in"), time="ts", key="city", partition="zone")
    counted = stream.aggregate(n="count")
    local = read_batches(spark, tmp_path / "in").withColumn("ts", F.expr("CAST(ts AS TIMESTAMP_NTZ)"))
    for query, options in (
        (counted, {"late": CollectSink()}),
        (counted, {"quarantine": CollectSink()}),
        (by_zone.window("2 seconds").aggregate(n="count"), {}),
        (sp.stream(local, time="ts").window("2 seconds").aggregate(n="count"), {}),
        (
            counted.lateness(guard=sp.TimeGuard(max_future="1 second")),
            {},
        ),  # how far apart records are would be guessed, and matter
        (counted.parallel(tuning=sp.Tuning(splitting="tuple_rr")), {}),
        (counted.parallel(elastic=True), {}),
        (stream.aggregate(n="count", mean="mean(a)"), {}),
        (stream.aggregate(most="max(a)"), {}),
        (stream.skyline(minimize=["a"]), {}),
    ):
        _, running = answers(query, **options)
        assert [step.condensed for step in running.metrics().recent if step.condensed] == []
        assert "added up by Spark" not in running.explain()
        assert "added up by Spark" not in query.explain(**options)


def test_it_pays_for_many_records_of_few_keys(spark: SparkSession, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(density, "MIN_RECORDS", 30)
    write_batches(tmp_path / "in", random_batches(8, batches=4, rows=200, start_us=0))
    narrow = sp.stream(read_batches(spark, tmp_path / "in"), time="ts", key="n").window("1 second")
    wide = sp.stream(read_batches(spark, tmp_path / "in"), time="ts").window("1 minute")
    _, one_by_one = answers(narrow.aggregate(count="count"))
    _, together = answers(wide.aggregate(count="count"))
    assert sum(step.condensed for step in one_by_one.metrics().recent) == 0
    assert sum(step.condensed for step in together.metrics().recent) > 0


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize(
    "setting",
    [
        ("spark.sql.retainGroupColumns", "false"),
        ("spark.sql.parser.quotedRegexColumnNames", "true"),
        ("spark.sql.variable.substitute", "true"),
        ("spark.sql.functionResolution.sessionOrder", "first"),
    ],
    ids=lambda setting: str(setting[0]),
)
def test_settings_of_the_session_change_nothing(spark: SparkSession, tmp_path: Path, setting: tuple[str, str]) -> None:
    strange = {"ts": "t.s", "city": "${spark.master}"}  # and others that they would match as patterns
    names = ["txs" if name == "a" else strange.get(name, name) for name in SCHEMA.names]
    write_batches(tmp_path / "in", [batch.rename_columns(names) for batch in random_batches(9)])
    own = spark.newSession()
    own.conf.set(*setting)
    own.udf.register("get", lambda _list, place: place, "bigint")
    schema = pa.schema([field.with_name(name) for field, name in zip(SCHEMA, names, strict=True)])
    df = read_batches(own, tmp_path / "in", schema)
    stream = sp.stream(df, time="t.s", key="${spark.master}").window("1 second")
    wanted = {"n": "count", "total": "sum(b)", "floats": "count(txs)"}
    found, running = answers(stream.aggregate(**wanted))
    assert sum(step.condensed for step in running.metrics().recent)
    plain, _ = answers(stream.aggregate(**wanted), late=CollectSink())
    assert found == plain


def test_what_is_sure() -> None:
    definition = Definition(Aggregates.of({"n": "count"}), WindowSpec(2 * SECOND_US, SECOND_US), "ts")
    unbounded = FutureGuard(None)
    assert certain_range(definition, Frontier(Progress(), GUARD)) is None
    assert certain_range(definition, Frontier(Progress(t_max_us=5), GUARD)) == (-(2**61), 5 + 60 * SECOND_US)
    assert certain_range(definition, Frontier(Progress(t_max_us=5), GUARD, limit_us=7)) == (-(2**61), 7)
    assert certain_range(definition, Frontier(Progress(t_max_us=5), unbounded)) == (-(2**61), 2**61)
    closed = Progress(t_max_us=9 * SECOND_US, front_us=9 * SECOND_US, punctuation_us=7 * SECOND_US + 1)
    assert certain_range(definition, Frontier(closed, unbounded)) == (7 * SECOND_US, 2**61)
    assert certain_range(definition, Frontier(closed, unbounded, oldest_us=5)) == (7 * SECOND_US, 2**61)
    assert certain_range(definition, Frontier(Progress(t_max_us=5), unbounded, oldest_us=3)) == (3, 2**61)


def test_nothing_is_sure_where_the_distances_of_a_panes_records_decide() -> None:
    definition = Definition(Aggregates.of({"n": "count"}), WindowSpec(2 * SECOND_US, SECOND_US), "ts")
    enough = FutureGuard(4 * SECOND_US)  # steps of four usual distances are believed, and these are guessed
    assert certain_range(definition, Frontier(Progress(t_max_us=5), enough)) is not None
    less = FutureGuard(4 * SECOND_US - 1)
    assert certain_range(definition, Frontier(Progress(t_max_us=5), less)) is None
