"""ARCHITECTURE.md is true: the path of one record goes through the functions that it names, in this order."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import skypane as sp
from skypane.flow import step as path
from skypane.flow.definition import Definition
from skypane.flow.panes.admission import Admission
from skypane.flow.processing.out_of_order import OutOfOrder
from skypane.flow.windows import worker
from skypane.local.engine import Engine
from skypane.model.windows import WindowSpec
from skypane.queries.preferences import Preferences
from skypane.queries.skyline import Skyline
from skypane.spark import driver
from skypane.spark.ports import SparkStages
from skypane.spark.store.checkpoint import Checkpoint
from tests.support.engine_runs import GUARD, POLICY
from tests.support.records import SCHEMA as RECORDS
from tests.support.spark.streams import WAIT_S, CollectSink, read_batches, write_batches
from tests.support.strategies import SCHEMA

ROOT = Path(__file__).parents[2]
HOP = re.compile(r"^\| (\d+) \| `(\w+)` \| \[[^\]]+\]\((\S+)\)", re.MULTILINE)
HOPS = [(name, file) for _, name, file in HOP.findall((ROOT / "ARCHITECTURE.md").read_text())]


def test_ten_hops_each_in_its_file() -> None:
    assert len(HOPS) == 10
    for name, file in HOPS:
        tree = ast.parse((ROOT / file).read_text())
        assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}, (name, file)


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The functions of the hops, as this process calls them; each once."""
    names: list[str] = []

    def note(where: Any, name: str) -> None:
        function: Callable[..., Any] = getattr(where, name)

        def noting(*arguments: Any, **options: Any) -> Any:
            if name not in names:
                names.append(name)
            return function(*arguments, **options)

        monkeypatch.setattr(where, name, noting)

    of_the_driver = [(driver.StepDriver, "batch"), (driver, "step"), (SparkStages, "panes"), (SparkStages, "windows")]
    of_the_flow = [(Admission, "admit"), (OutOfOrder, "lift"), (path, "decide"), (worker.WindowWorker, "advance")]
    for where, name in [*of_the_driver, *of_the_flow, (worker, "fire"), (Checkpoint, "commit")]:
        note(where, name)
    return names


def test_a_record_takes_these_hops_in_process(called: list[str]) -> None:
    engine = Engine(Definition(Skyline(Preferences.of("a", ())), WindowSpec(1_000_000, 500_000), "ts"), POLICY, GUARD)
    record = {"ts": 100_000, "key": "x", "n": 1, "a": 1.0, "b": 1}
    state, _ = engine.step(engine.start(), [pa.Table.from_pylist([record], SCHEMA)])
    engine.step(state, [pa.Table.from_pylist([{**record, "ts": 9_000_000}], SCHEMA)])
    in_flow = {"admit", "lift", "decide", "advance", "fire"}
    assert called == [name for name, _ in HOPS if name in in_flow]


@pytest.mark.spark
def test_a_record_takes_these_hops_on_spark(spark: SparkSession, tmp_path: Path, called: list[str]) -> None:
    """The pane stage runs in processes of its own: the test above sees what these call."""
    rows = [{"n": n, "ts": n * 1_000_000, "city": "x", "a": 1.0, "b": 1} for n in range(4)]
    write_batches(tmp_path / "in", [pa.Table.from_pylist(rows, RECORDS)])
    windows = sp.stream(read_batches(spark, tmp_path / "in"), time="ts").window("1 second")
    query = windows.skyline(minimize="a").start(sink=CollectSink(), available_now=True)
    assert query.await_termination(WAIT_S)
    in_workers = {"admit", "lift"}
    assert [name for name in called if name not in in_workers] == [name for name, _ in HOPS if name not in in_workers]
