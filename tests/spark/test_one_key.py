"""One key, many tasks, on Spark: answers and fates are those of the oracle, however windows are dealt out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import skypane as sp
from skypane.api.continuous_query import ContinuousQuery
from skypane.api.options.run_options import RunOptions
from skypane.api.windowed import Windowed
from tests.support.spark.streams import Outputs, check_run, random_batches, read_batches, run_to_end, write_batches

pytestmark = pytest.mark.spark

BATCHES = random_batches(seed=12, batches=3, rows=60)
ASKED: dict[str, Callable[[Windowed], ContinuousQuery]] = {
    "batch": lambda windowed: windowed.aggregate(n="count", low="min(a)", total="sum(n)"),
    "window": lambda windowed: windowed.top_delta(2, minimize="a", maximize="b"),
    "pane": lambda windowed: windowed.top_k(2, score="a"),
}


@pytest.fixture(scope="module")
def windowed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Windowed:
    folder: Path = tmp_path_factory.mktemp("one-key")
    write_batches(folder / "in", BATCHES, files=2)
    return sp.stream(read_batches(spark, folder / "in", files=2), time="ts").window("1 second", slide="250 ms")


@pytest.mark.parametrize("partitioning", ASKED)
def test_tasks_share_the_windows_of_one_key(spark: SparkSession, windowed: Windowed, partitioning: str) -> None:
    query, outputs = ASKED[partitioning](windowed), Outputs()
    running = run_to_end(query.parallel(degree=3, tuning=sp.Tuning(partitioning=partitioning, cut_rows=0)), outputs)
    check_run(spark, query, BATCHES, outputs, running.metrics(), in_order=partitioning == "batch")
    cut = [step for step in running.metrics().recent if step.window_tasks > 1]
    assert max(step.window_tasks for step in cut) == 3
    assert all(not step.window_inline and (step.replication or 0) > 1 for step in cut)


def test_tasks_share_the_join_of_one_key(spark: SparkSession, windowed: Windowed) -> None:
    """One task answers; that of live skylines is shared in test_live.py."""
    query, outputs = windowed.skyline(minimize="a", maximize="b"), Outputs()
    running = run_to_end(query.parallel(degree=3, tuning=sp.Tuning(ownership="llw+", cut_rows=0)), outputs)
    check_run(spark, query, BATCHES, outputs, running.metrics(), in_order=True)
    steps = running.metrics().recent
    assert max(step.join_tasks for step in steps) == 3
    assert {step.window_tasks for step in steps} <= {0, 1}


def test_a_few_rows_stay_with_one_task(windowed: Windowed) -> None:
    few = windowed.top_k(2, score="a").parallel(degree=3)
    skyline = windowed.skyline(minimize="a", maximize="b").parallel(degree=3)
    for query in (few, skyline):
        steps = run_to_end(query, Outputs()).metrics().recent
        assert {step.window_tasks for step in steps} <= {0, 1}
        assert {step.replication for step in steps} <= {None, 1.0}
        assert {step.join_tasks for step in steps} == {1}
    run = RunOptions(sp.ConsoleSink())
    assert "tasks share its windows (batch) from 2,000,000 rows on" in few.check(run)
    assert "tasks share the join of its rows (rr) from 250,000 rows on, on a cluster" in skyline.check(run)
    assert "one key " not in few.parallel(degree=1).check(run)


def test_an_unknown_partitioning_is_refused(windowed: Windowed) -> None:
    with pytest.raises(sp.OptionError, match=r"partitioning='ring'.*batch, window, pane"):
        windowed.top_k(2, score="a").parallel(tuning=sp.Tuning(partitioning="ring"))
    with pytest.raises(sp.OptionError, match=r"ownership='od'.*rr, llw\+"):
        windowed.top_k(2, score="a").parallel(tuning=sp.Tuning(ownership="od"))
