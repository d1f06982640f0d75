"""The Yahoo benchmark and paper 3's spatial query, as their scripts run them, on few records."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import skypane as sp
from skypane.kernels import reference
from tests.support.marks import LONG

pytestmark = pytest.mark.spark
EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name: str) -> Any:
    """The script, not run."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / name / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("campaigns", [LONG(1), 30])
def test_views_are_counted_by_campaign(spark_session_for_sources: SparkSession, tmp_path: Path, campaigns: int) -> None:
    yahoo = example("yahoo")
    yahoo.write_events(tmp_path, campaigns, 4_000, files=2, rate=100)
    query = yahoo.counted(yahoo.views(spark_session_for_sources, tmp_path))
    running = query.start(checkpoint=tmp_path / "log", sink=sp.ParquetSink(tmp_path / "out"), available_now=True)
    running.await_termination()
    counts = spark_session_for_sources.read.parquet(str(tmp_path / "out")).selectExpr(
        "campaign", "unix_micros(window.start) AS start", "views", "unix_micros(last) AS last"
    )
    expected: dict[tuple[int, int], list[int]] = {}
    for number in range(0, 4_000, 3):
        at = yahoo.START_US + number * 10_000
        expected.setdefault((number % (10 * campaigns) // 10, at - at % 10_000_000), []).append(at)
    found = {(row.campaign, row.start): (row.views, row.last) for row in counts.collect()}
    assert found == {of: (len(times), max(times)) for of, times in expected.items()}


def test_every_tree_has_the_same_best_points(spark_session_for_sources: SparkSession, tmp_path: Path) -> None:
    spatial = example("spatial")
    trees = ("WS", "WF(PF(1,1) L1, 10) L1")
    runs = spatial.compared(spark_session_for_sources, 4, 200, 1.1, trees)
    shown = spatial.table("4 attributes", 220, runs)
    assert list(shown.columns[0].cells) == [*trees, "as planned"]
    spatial.write_points(tmp_path / "in", 4, 200, 1.1)  # the same ones
    points = pq.read_table(tmp_path / "in").sort_by("number")
    values = np.column_stack([points[f"a{i}"].to_numpy() for i in range(4)])
    for window, first in enumerate(range(0, 21, 2)):  # two points in each slide
        start = spatial.START_US + window * 10_000
        found = runs["WS"].answers.filter(pc.equal(runs["WS"].answers["start"].cast("int64"), start))
        best = first + reference.skyline(values[first : first + 200])
        assert found["number"].to_pylist() == best.tolist()
