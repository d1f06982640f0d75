"""A step is prepared once, then only rolled forward: what a restart shows is what was stored, whatever has changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import skypane as sp
from skypane.spark.outputs import Outputs as SparkOutputs
from skypane.spark.store.checkpoint import Checkpoint
from tests.support.spark.streams import WAIT_S, CollectSink, random_batches, read_batches, write_batches

BATCHES = random_batches(seed=3, batches=4, rows=30)
Calls = dict[int, list[list[str]]]
"""The rows of each call of a function, by step."""


class KilledError(RuntimeError):
    pass


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("in")
    write_batches(folder, BATCHES)
    return folder


@pytest.fixture(scope="module")
def undisturbed(spark: SparkSession, source: Path, tmp_path_factory: pytest.TempPathFactory) -> CollectSink:
    """What a query shows that nothing happens to."""
    sink = CollectSink()
    start(read_batches(spark, source), tmp_path_factory.mktemp("undisturbed"), sink=sink)
    return sink


def start(df: DataFrame, folder: Path, policy: Any = None, **options: Any) -> sp.RunningQuery:
    query = sp.stream(df, time="ts", key="city").window("1 second").skyline(minimize=["a"], maximize=["b"])
    query = query.lateness(policy or sp.FixedDelay("0 seconds"))
    running = query.start(checkpoint=folder / "checkpoint", available_now=True, flush=True, **options)
    assert running.await_termination(WAIT_S)
    return running


@contextmanager
def killed_at(step: int, owner: type, name: str, *, after: bool = False) -> Iterator[None]:
    """Have the query die when it comes to this method of the step, or when that has ended."""
    method = getattr(owner, name)

    def dies(self: Any, *args: Any) -> Any:
        if args[-1].step != step:
            return method(self, *args)
        if after:
            method(self, *args)
        raise KilledError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, dies)
        with pytest.raises(KilledError):
            yield


def rows_of(table: Any) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


def recorder(calls: Calls) -> Callable[[DataFrame, int], None]:
    return lambda df, step: calls.setdefault(step, []).append(rows_of(df.toArrow()))


def test_a_function_gets_the_same_rows_again_whatever_has_changed(
    spark: SparkSession, tmp_path: Path, source: Path
) -> None:
    calls: Calls = {}
    with killed_at(2, Checkpoint, "commit"):
        start(read_batches(spark, source), tmp_path, sink=recorder(calls))
    assert len(calls[2]) == 1
    # Under this policy, or of these records, step 2 would emit nothing at all.
    changed = read_batches(spark, source).where("a > 1000")
    start(changed, tmp_path, sp.FixedDelay("1 hour"), sink=recorder(calls))
    assert calls[2] == [calls[2][0]] * 2
    assert all(len(rows) == 1 for step, rows in calls.items() if step != 2)


def test_before_a_step_is_prepared_nothing_shows_and_it_may_change(
    spark: SparkSession, tmp_path: Path, source: Path
) -> None:
    calls: Calls = {}
    with killed_at(2, Checkpoint, "prepare"):
        start(read_batches(spark, source), tmp_path, sink=recorder(calls))
    assert 2 not in calls
    start(read_batches(spark, source), tmp_path, sp.FixedDelay("1 hour"), sink=recorder(calls))
    assert 2 not in calls
    assert all(len(rows) == 1 for rows in calls.values())


def test_a_step_that_the_clock_decides_is_rolled_forward_too(spark: SparkSession, tmp_path: Path, source: Path) -> None:
    undisturbed = CollectSink()
    start(read_batches(spark, source), tmp_path / "undisturbed", sink=undisturbed)
    flush, sink = max(undisturbed.steps), CollectSink()
    with killed_at(flush, SparkOutputs, "publish"):
        start(read_batches(spark, source), tmp_path, sink=sink)
    assert flush not in sink.steps
    start(read_batches(spark, source), tmp_path, sink=sink)
    assert rows_of(sink.steps[flush]) == rows_of(undisturbed.steps[flush])


def sink_of(kind: str, folder: Path) -> Any:
    return CollectSink() if kind == "function" else sp.ParquetSink(folder / kind)


def seen(sink: Any) -> Counter[str]:
    if isinstance(sink, CollectSink):
        return Counter(row for table in sink.tables for row in rows_of(table))
    return Counter(row for path in sink.path.glob("step-*.parquet") for row in rows_of(pq.read_table(path)))


@pytest.mark.parametrize("after", [False, True], ids=["prepared", "published"])
@pytest.mark.parametrize(("first", "second"), [("out", "function"), ("function", "out"), ("out", "other")])
def test_another_sink_gets_what_the_one_before_has_not_shown(
    spark: SparkSession,
    tmp_path: Path,
    source: Path,
    undisturbed: CollectSink,
    first: str,
    second: str,
    after: bool,
) -> None:
    before, now = sink_of(first, tmp_path), sink_of(second, tmp_path)
    late = sp.ParquetSink(tmp_path / "late")
    with killed_at(2, SparkOutputs, "publish", after=after):
        start(read_batches(spark, source), tmp_path, sink=before, late=late)
    # The late records of the step are dropped with their sink.
    start(read_batches(spark, source), tmp_path, sink=now)
    assert max((seen(before) | seen(now)).values()) == 1
    assert {*seen(before), *seen(now)} == {*map(repr, undisturbed.rows())}
    if not after or first == "out":
        assert not seen(before) & seen(now)
