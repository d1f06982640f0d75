"""Elastic degrees on embedded Spark: they change between steps, are committed, and answers do not notice."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

import skypane as sp
from skypane.api.continuous_query import ContinuousQuery
from skypane.model.errors import OptionError
from skypane.spark.elastic_metrics import ElasticMetrics
from skypane.spark.sinks.base import StepRows
from skypane.tuning.elastic.controllers import ElasticDecision, Snapshot
from tests.support.spark.streams import (
    CollectSink,
    Outputs,
    check_run,
    random_batches,
    read_batches,
    run_to_end,
    write_batches,
)


class Script(CollectSink):
    """One task after even steps, two after odd ones: what the sink has seen decides about the step after the next."""

    name = "script"

    def __init__(self) -> None:
        super().__init__()
        self.degree = 1

    def publish(self, step: int, rows: StepRows) -> None:
        super().publish(step, rows)
        self.degree = step % 2 + 1

    def decide(self, seen: Snapshot) -> ElasticDecision:
        del seen
        return ElasticDecision(self.degree, self.degree)


class Two:
    """A controller of somebody's own."""

    name = "two"

    def decide(self, seen: Snapshot) -> ElasticDecision:
        del seen
        return ElasticDecision(2, 2)


def query(spark: SparkSession, folder: Path, script: Script, splitting: str = "combine") -> ContinuousQuery:
    df = read_batches(spark, folder / "in")
    elastic = sp.Elastic(controller=script, period="1 microsecond", dwell=1)
    windowed = sp.stream(df, time="ts", key="zone").window("1 second", slide="500 milliseconds")
    tuning = sp.Tuning(splitting=splitting, inline_rows=0)
    return windowed.skyline(minimize="a", maximize="b").parallel(elastic=elastic, tuning=tuning)


def test_degrees_change_between_steps_and_a_restart_goes_on_with_what_was_decided(
    spark: SparkSession, tmp_path: Path
) -> None:
    batches, outputs = random_batches(seed=5, batches=7), Outputs(Script())
    asked = query(spark, tmp_path, cast("Script", outputs.results), splitting="adaptive_pid")
    write_batches(tmp_path / "in", batches[:5])
    options: dict[str, Any] = {"checkpoint": tmp_path / "checkpoint"}
    first = run_to_end(asked, outputs, flush=False, **options)
    assert "executors     degrees only: the 2 slots" in first.explain()
    said = "degrees       elastic, 1 to 2 tasks (as many as Spark can run here), decided by script every 1 us"
    assert said in first.explain()
    steps = first.metrics().recent
    # The first step says when time began; from the second on every step decides for the next.
    assert [(step.pane_degree, step.window_degree) for step in steps] == [(1, 1), (1, 1), (2, 2), (1, 1), (2, 2)]
    assert [step.elastic.target_pane_degree for step in steps if step.elastic] == [1, 2, 1, 2, 1]
    assert all(step.pane_tasks == step.pane_degree for step in steps)
    learned = first._run._driver.manifest.state.tuning

    write_batches(tmp_path / "in", batches[5:], first=5)
    second = run_to_end(asked, outputs, **options)
    again = second.metrics().recent
    assert (again[0].pane_degree, again[0].window_degree) == (1, 1)
    told = [step.elastic.decisions for step in (steps[-1], *again[:2]) if step.elastic]
    assert 0 < told[0] == told[1] < told[2]
    # What splitting has learned goes on with another degree.
    after = second._run._driver.manifest.state.tuning
    assert learned.routing is not None
    assert after.routing is not None
    assert learned.routing.strategy["degree"] == 2
    assert {name for name in learned.routing.strategy if name in after.routing.strategy} > {"degree", "shards"}
    assert second.metrics().last is not None
    assert second.metrics().as_dict()["last"]["elastic"]["fired"] == ()
    check_run(spark, asked, batches, outputs, second.metrics())


def test_where_capacity_does_not_allow_it_steps_stay_small_and_the_metrics_say_so(spark: SparkSession) -> None:
    """A thousand records come each second, of which a step takes ten, whatever the degree."""
    df = (
        spark.readStream.format("skypane-traffic")
        .options(rate=1000, paced="true", attributes=2, max_records_per_batch=10, partitions=1, seed=1)
        .load()
    )
    asked = sp.stream(df, time="ts").window("1 second").skyline(minimize="a0")
    elastic = sp.Elastic(max_degree=2, period="1 millisecond", dwell=1)
    running = asked.parallel(elastic=elastic).start(sink=sp.DiscardSink(), trigger="0 seconds")
    said: ElasticMetrics | None = None
    while running.is_active and (said is None or said.limit is None):
        steps = running.metrics().recent
        said = steps[-1].elastic if steps else None
        running.await_termination(0.05)
    running.stop()
    running.await_termination()
    assert said is not None
    assert said.limit is not None
    assert re.match(r".* s of work wait at the source, and there are 2 tasks, the most that there may be\.", said.limit)
    assert "Raise max_degree, or limit what a step takes in" in said.limit
    assert (said.backlog_ms or 0.0) > 1.0
    assert (said.rho_panes or 0.0) > 1.0
    assert said.target_pane_degree == 2
    assert 0 < max(step.records for step in running.metrics().recent) <= 10


def test_a_restart_may_have_other_limits_another_controller_or_none(spark: SparkSession, tmp_path: Path) -> None:
    batches, outputs = random_batches(seed=9, batches=6), Outputs()
    asked = query(spark, tmp_path, Script())
    options: dict[str, Any] = {"checkpoint": tmp_path / "checkpoint", "flush": False}
    degrees: list[list[int | None]] = []

    def go_on(upto: int, pane_degree: int | None = None, **parallel: Any) -> sp.RunningQuery:
        done = sum(map(len, degrees))
        write_batches(tmp_path / "in", batches[done:upto], first=done)
        run = run_to_end(
            asked.parallel(**parallel, tuning=sp.Tuning(pane_degree=pane_degree, inline_rows=0)),
            outputs,
            **{**options, "flush": upto == len(batches)},
        )
        degrees.append([step.pane_degree for step in run.metrics().recent if step.kind == "batch"])
        return run

    go_on(2, elastic=sp.Elastic(min_degree=2, controller="fuzzy"))
    # No more than there may be now.
    assert "always one task (max_degree=1)" in go_on(3, elastic=sp.Elastic(max_degree=1, period="1 second")).explain()
    # At least as many; what one run has decided the next goes on with.
    go_on(4, elastic=sp.Elastic(min_degree=2, controller=Two(), period="1 microsecond", dwell=7))
    refused = asked.parallel(elastic=sp.Elastic(min_degree=8))
    with pytest.raises(OptionError, match="min_degree=8 is more than the 2 tasks that Spark can run here at a time"):
        run_to_end(refused, outputs, **options)
    with pytest.raises(OptionError, match="min_degree=8 is more than the 2 tasks that Spark can run here at a time"):
        refused.explain()
    go_on(5, elastic=False, pane_degree=1, degree=2)
    # Fixed degrees decide nothing, so nothing of before is left: it begins with the fewest.
    last = go_on(6, elastic=sp.Elastic(controller="threshold"))
    assert degrees == [[2, 2], [1], [2], [1], [1]]
    check_run(spark, asked, batches, outputs, last.metrics())


class FailsOnce(CollectSink):
    """Does not take the rows of one step, the first time."""

    def __init__(self, step: int) -> None:
        super().__init__()
        self.failing: int | None = step

    def publish(self, step: int, rows: StepRows) -> None:
        if step == self.failing:
            self.failing = None
            raise RuntimeError("the sink is away")
        super().publish(step, rows)


@pytest.mark.parametrize("failing", [3, 4])
def test_the_time_between_two_runs_counts_for_nothing_whatever_is_repeated(
    spark: SparkSession, tmp_path: Path, failing: int
) -> None:
    """A batch, or the flush, that was prepared before the crash is rolled forward; the batch after it is no sample."""
    batches, outputs = random_batches(seed=7, batches=6), Outputs(FailsOnce(failing))
    asked = query(spark, tmp_path, Script())
    write_batches(tmp_path / "in", batches[:3])
    options: dict[str, Any] = {"checkpoint": tmp_path / "checkpoint"}
    with pytest.raises(RuntimeError, match="the sink is away"):
        run_to_end(asked, outputs, **options)
    write_batches(tmp_path / "in", batches[3:], first=3)
    steps = run_to_end(asked, outputs, **options).metrics().recent
    assert [step.kind for step in steps[:3]] == ["batch"] * 3
    told = [step.elastic.decisions for step in steps[:3] if step.elastic]
    assert 0 < told[0] < told[1] < told[2]
    assert [step.elastic.rho_panes is None for step in steps[:3] if step.elastic] == [True, False, False]


def test_fixed_degrees_have_no_elastic_metrics(spark: SparkSession, tmp_path: Path) -> None:
    write_batches(tmp_path / "in", random_batches(seed=6, batches=1))
    asked = query(spark, tmp_path, Script()).parallel(degree=2, tuning=sp.Tuning(inline_rows=0))
    last = run_to_end(asked, Outputs()).metrics().last
    assert last is not None
    assert (last.elastic, last.executors, last.window_degree) == (None, None, 2)
