"""A pattern and a controller of degrees from outside the package: used by a running query, and no answer changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import skypane as sp
from one_reader import OneReader
from skypane.api.continuous_query import ContinuousQuery
from skypane.testing import check_pattern
from tests.support.spark.streams import WAIT_S, CollectSink, random_batches, read_batches, write_batches

pytestmark = pytest.mark.spark


class Always:
    """As many tasks as there may be, whatever the load."""

    name = "always"

    def decide(self, seen: sp.extend.Snapshot) -> sp.extend.ElasticDecision:
        return sp.extend.ElasticDecision(2, 2)


def rows_of(query: ContinuousQuery) -> tuple[list[str], sp.RunningQuery]:
    sink = CollectSink()
    running = query.start(sink=sink, available_now=True)
    assert running.await_termination(WAIT_S)
    return sorted(map(str, sink.rows())), running


def test_a_pattern_and_a_controller_of_ones_own(spark: SparkSession, tmp_path: Path) -> None:
    write_batches(tmp_path / "in", random_batches(seed=3, batches=4, rows=40))
    windows = sp.stream(read_batches(spark, tmp_path / "in"), time="ts", key="city").window("1 second")
    question = windows.skyline(minimize="a", maximize="b")
    plain, _ = rows_of(question)
    by_pattern, running = rows_of(question.parallel(pattern=OneReader(2)))
    assert "one task reads, 2 answer the keys" in running.explain()
    elastic = sp.Elastic(controller=Always(), max_degree=2, period="1 millisecond")
    by_controller, running = rows_of(question.parallel(elastic=elastic))
    last = running.metrics().last
    assert last is not None
    assert last.elastic is not None
    assert last.elastic.decisions > 0
    assert plain == by_pattern == by_controller
    assert plain
    check_pattern(OneReader(2))
