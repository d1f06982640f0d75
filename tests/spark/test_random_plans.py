"""On Spark, too, no plan decides an answer: any legal one at every step, also after a restart, gives the same."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import skypane as sp
from skypane.api.continuous_query import ContinuousQuery
from skypane.model.ledger import Ledger
from skypane.spark.store.files import read_table
from skypane.tuning.parallel_plan import ParallelPlan
from tests.support.random_plans import RandomStepTuner
from tests.support.spark.streams import WAIT_S, CollectSink, random_batches, read_batches, write_batches

pytestmark = pytest.mark.spark


def question(spark: SparkSession, folder: Path, seed: int) -> ContinuousQuery:
    windows = sp.stream(read_batches(spark, folder), time="ts", key="city").window("1 second", slide="500 milliseconds")
    if seed % 2:
        return windows.aggregate(n="count", low="min(a)").lateness(sp.FixedDelay("100 milliseconds"))
    skyline = windows.skyline(minimize="a", maximize="b")
    return skyline.lateness(sp.FixedDelay("100 milliseconds"), allowed="1 second").emit("full")


def run(query: ContinuousQuery, checkpoint: Path, sink: CollectSink) -> tuple[Ledger, dict[str, Counter[str]]]:
    """The ledger, and the rows of the state by kind."""
    running = query.start(available_now=True, flush=False, checkpoint=checkpoint, sink=sink)
    assert running.await_termination(WAIT_S)
    state = running._run._driver.manifest.state
    kinds: dict[str, Any] = vars(state.rows)
    rows = {
        kind: Counter(
            repr(sorted(row.items()))
            for part in parts
            for row in read_table(checkpoint / "state", part.file).to_pylist()
        )
        for kind, parts in kinds.items()
    }
    return state.ledger, rows


@pytest.mark.parametrize("seed", range(4))
def test_random_plans_change_no_answer_no_count_and_no_state(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    batches = random_batches(seed, batches=6, rows=60)
    found: dict[str, Any] = {}
    rng = random.Random(f"tuner {seed}")
    for how in ("default", "random"):
        folder, sink = tmp_path / how, CollectSink()
        if how == "random":
            monkeypatch.setattr(ParallelPlan, "tuner", lambda *_, **__: RandomStepTuner(rng=rng))
        write_batches(folder / "in", batches[:3])
        run(question(spark, folder / "in", seed), folder / "checkpoint", sink)
        write_batches(folder / "in", batches[3:], first=3)
        ledger, rows = run(question(spark, folder / "in", seed), folder / "checkpoint", sink)
        found[how] = sorted(map(str, sink.rows())), ledger, rows
    assert found["random"] == found["default"]
    assert found["default"][0]
