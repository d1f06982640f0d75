"""Strategies on Spark: whoever gets which records, answers and fates are those of the default and of the oracle."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import skypane as sp
from skypane.api.stream import ContinuousQuery
from skypane.scheduling.batch_plan import ROUTED
from tests.spark_support.streams import Outputs, check_run, random_batches, read_batches, run_to_end, write_batches

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


@pytest.mark.parametrize("degree", [1, 3])
@pytest.mark.parametrize("splitting", ROUTED)
def test_answers_and_fates_do_not_depend_on_the_strategy(
    spark: SparkSession, query: ContinuousQuery, by_default: list[list[str]], splitting: str, degree: int
) -> None:
    outputs = Outputs()
    running = run_to_end(query, outputs, splitting=splitting, pane_degree=degree)
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
