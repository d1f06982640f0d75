"""Strategies on Spark: whoever gets which records, answers and fates are those of the default and of the oracle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

import skypane as sp
from skypane.api.continuous_query import ContinuousQuery
from skypane.flow.definition import Definition
from skypane.flow.plan import WINDOW_SCHEDULINGS
from skypane.model.codec import typed
from skypane.model.windows import WindowSpec
from skypane.queries.preferences import Preferences
from skypane.queries.skyline import Skyline
from skypane.spark.jobs.routing import pane_of, routed, worker_of
from skypane.tuning.splitting.batch_plan import RoutingState
from skypane.tuning.splitting.batch_planner import BatchPlanner
from skypane.tuning.splitting.pane_strategies import PANE_STRATEGIES
from tests.support.marks import LONG
from tests.support.spark.streams import Outputs, check_run, random_batches, read_batches, run_to_end, write_batches

pytestmark = pytest.mark.spark

BATCHES = random_batches(seed=77, batches=5, rows=60)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("strategies")
    write_batches(folder / "in", BATCHES, files=2)
    return folder


@pytest.fixture(scope="module")
def query(spark: SparkSession, folder: Path) -> ContinuousQuery:
    stream = sp.stream(read_batches(spark, folder / "in", files=2), time="ts", key="city")
    return stream.window("1 second", slide="250 ms").skyline(minimize="a", maximize="b")


def rows_of(outputs: Outputs) -> list[list[str]]:
    sinks = (outputs.results, outputs.late, outputs.quarantine)
    return [sorted(repr(sorted(row.items())) for row in sink.rows()) for sink in sinks]


@pytest.fixture(scope="module")
def by_default(spark: SparkSession, query: ContinuousQuery) -> list[list[str]]:
    outputs = Outputs()
    check_run(spark, query, BATCHES, outputs, run_to_end(query, outputs).metrics())
    return rows_of(outputs)


@pytest.mark.parametrize("degree", [LONG(1), 3])
@pytest.mark.parametrize("splitting", [LONG(s) if s in {"tuple_rr", "adaptive"} else s for s in PANE_STRATEGIES])
def test_answers_and_fates_do_not_depend_on_the_strategy(
    spark: SparkSession, query: ContinuousQuery, by_default: list[list[str]], splitting: str, degree: int
) -> None:
    outputs = Outputs()
    running = run_to_end(query.parallel(tuning=sp.Tuning(splitting=splitting, pane_degree=degree)), outputs)
    check_run(spark, query, BATCHES, outputs, running.metrics())
    assert rows_of(outputs) == by_default
    batches = [step for step in running.metrics().recent if step.kind == "batch"]
    assert [step.pane_tasks for step in batches] == [degree] * len(BATCHES)
    factors = [step.splitting_factor for step in batches if step.splitting_factor is not None]
    assert len(factors) == len(BATCHES) - 1  # one batch is empty
    if splitting == "pane_rr":
        assert factors == [1.0] * len(factors)
    if splitting == "tuple_rr" and degree == 3:
        assert min(factors) > 1.5
    assert f"{degree} tasks, routed by {splitting}" in running.explain()


@pytest.mark.parametrize(("pane_degree", "tasks"), [LONG(1, 1), LONG(2, 2), (9, 4), (None, 2)])
def test_source_partitions_share_tasks_where_there_are_more(
    spark: SparkSession,
    query: ContinuousQuery,
    by_default: list[list[str]],
    tmp_path: Path,
    pane_degree: int | None,
    tasks: int,
) -> None:
    outputs = Outputs()
    write_batches(tmp_path / "in", BATCHES)
    records = read_batches(spark, tmp_path / "in").repartition(4)
    own = ContinuousQuery(sp.stream(records, time="ts", key="city"), query.spec, query.question)
    running = run_to_end(own.parallel(tuning=sp.Tuning(pane_degree=pane_degree)), outputs)
    assert rows_of(outputs) == by_default
    assert max(step.pane_tasks for step in running.metrics().recent) == tasks


def committed(checkpoint: Path) -> dict[str, object]:
    """What the newest manifest has learned."""
    newest = max((checkpoint / "manifests").glob("*.json"))
    tuning: dict[str, object] = json.loads(newest.read_text())["body"]["tuning"]
    return tuning


@pytest.mark.parametrize("then", ["adaptive_pid", LONG("tuple_rr"), "combine"])
def test_a_restart_continues_with_the_committed_strategy_or_another(
    spark: SparkSession, query: ContinuousQuery, by_default: list[list[str]], tmp_path: Path, then: str
) -> None:
    outputs = Outputs()
    write_batches(tmp_path / "in", BATCHES[:3], files=2)
    stream = sp.stream(read_batches(spark, tmp_path / "in", files=2), time="ts", key="city")
    own = ContinuousQuery(stream, query.spec, query.question)
    first = own.parallel(tuning=sp.Tuning(splitting="adaptive_pid", pane_degree=3))
    run_to_end(first, outputs, flush=False, checkpoint=tmp_path / "c")
    routing = committed(tmp_path / "c")["routing"]
    assert isinstance(routing, dict)
    state = typed(routing, RoutingState)
    assert state.strategy["name"] == "adaptive_pid"
    assert state.expected
    write_batches(tmp_path / "in", BATCHES[3:], files=2, first=3)
    second = own.parallel(tuning=sp.Tuning(splitting=then, pane_degree=None if then == "combine" else 3))
    running = run_to_end(second, outputs, checkpoint=tmp_path / "c")
    check_run(spark, own, BATCHES, outputs, running.metrics())
    assert rows_of(outputs) == by_default
    after = committed(tmp_path / "c")["routing"]
    assert after is None if then == "combine" else isinstance(after, dict) and after["strategy"]["name"] == then


@pytest.mark.parametrize("scheduling", WINDOW_SCHEDULINGS)
def test_answers_do_not_depend_on_how_the_window_stage_is_cut(
    spark: SparkSession, query: ContinuousQuery, by_default: list[list[str]], scheduling: str
) -> None:
    outputs = Outputs()
    running = run_to_end(
        query.parallel(degree=2, tuning=sp.Tuning(window_scheduling=scheduling, inline_rows=0)), outputs
    )
    check_run(spark, query, BATCHES, outputs, running.metrics())
    assert rows_of(outputs) == by_default
    most = max(step.window_tasks for step in running.metrics().recent)
    # Four cities: as many ranges as there are key groups with rows, if asked for more.
    assert {"ranges": most == 2, "round_robin": most == 2, "feedback": 2 < most <= 4}[scheduling]


def test_metrics_say_how_the_stages_were_used(query: ContinuousQuery) -> None:
    running = run_to_end(
        query.parallel(degree=2, tuning=sp.Tuning(splitting="tuple_rr", pane_degree=2, inline_rows=0)), Outputs()
    )
    for step in running.metrics().recent:
        shares = (step.pane_utilization, step.window_utilization, step.idle_share)
        assert all(share is None or 0 <= share <= 1 for share in shares)
        if step.kind == "batch" and step.records:
            assert step.pane_utilization is not None
            assert step.imbalance is not None
            assert 1 <= step.imbalance <= 2
            assert step.selected_per_pane is not None
            assert step.rho is not None
    assert any(step.window_utilization for step in running.metrics().recent)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"splitting": "fair"}, r"splitting='fair'.*combine, pane_rr, tuple_rr, adaptive, adaptive_pid"),
        ({"pane_degree": True}, r"pane_degree=True must be"),
        ({"splitting": "pane_rr", "pane_degree": 0}, r"pane_degree=0 must be"),
        ({"window_scheduling": "feedback_merge"}, r"window_scheduling='feedback_merge'.*ranges, round_robin, feedback"),
    ],
)
def test_bad_options_are_refused(query: ContinuousQuery, options: dict[str, Any], message: str) -> None:
    with pytest.raises(sp.OptionError, match=message):
        query.parallel(tuning=sp.Tuning(**options))


EXTREMES_US = (2**63 - 1, -(2**63), -1, 0, 49_999, 50_000, -50_001)


@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ntz"])
@pytest.mark.parametrize("splitting", ["pane_rr", "tuple_rr"])
def test_spark_computes_the_worker_that_the_plan_says(spark: SparkSession, splitting: str, kind: str) -> None:
    """Also of times that no calendar knows, and of records without a time."""
    definition = Definition(Skyline(Preferences.of("a", ())), WindowSpec(50_000, 50_000), "the.time")
    planner = BatchPlanner(splitting, 3)
    plan = planner.plan(RoutingState(planner.plan(None).strategy, {-2: 100, 0: 7, 9: 10})).routing
    spread = spark.range(-200, 800).selectExpr("id * 1000 as us")
    every = spread.unionAll(spark.createDataFrame([(us,) for us in (*EXTREMES_US, None)], "us long"))
    df = every.select("us", F.timestamp_micros("us").cast(kind).alias("the.time"), F.rand(1).alias("a")).cache()
    hashed = F.xxhash64("`the.time`", "us", "a").alias("hash")
    columns = (pane_of(df, definition).alias("pane"), worker_of(df, definition, plan).alias("worker"), hashed)
    rows = df.select("us", *columns).collect()
    assert len(rows) == 1_000 + len(EXTREMES_US) + 1
    for row in rows:
        assert 0 <= row.worker < 3
        if row.pane is not None:
            assert row.pane == row.us // 50_000
            assert row.worker == plan.worker(row.pane, row.hash)
        else:
            assert row.us is None or (kind == "timestamp_ntz" and abs(row.us) > 2**62)
    wanted = sorted((row.worker, row.us is None, row.us or 0) for row in rows)
    sent = routed(df, definition, plan).select(F.spark_partition_id().alias("worker"), "us").collect()
    assert sorted((row.worker, row.us is None, row.us or 0) for row in sent) == wanted
    df.unpersist()
