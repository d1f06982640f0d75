"""A standalone Spark cluster with two workers on 127.0.0.1 gives the same results as the pure engine and the oracle."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import skypane as sp
from tests.spark_support.jvm import SHORT_LIVED
from tests.spark_support.standalone import standalone
from tests.spark_support.streams import (
    Outputs,
    assert_answers,
    assert_fates,
    definition_of,
    random_batches,
    read_batches,
    write_batches,
)

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

DRIVER = Path(__file__).parent / "driver.py"


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    with standalone(tmp_path) as address:
        yield address


def test_two_workers_answer_like_the_oracle(spark: SparkSession, tmp_path: Path, master: str) -> None:
    batches = random_batches(seed=21, batches=4)
    write_batches(tmp_path / "in", batches, files=2)
    with (tmp_path / "driver.log").open("wb") as errors:
        run = subprocess.run(
            [sys.executable, str(DRIVER), master, str(tmp_path), SHORT_LIVED],
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**os.environ, "PYSPARK_PYTHON": sys.executable},
            check=False,
            timeout=600,
        )
    assert run.returncode == 0, (tmp_path / "driver.log").read_text()[-5_000:]
    said = json.loads(run.stdout)
    assert said["executors"] == 2
    assert said["window_tasks"] == 2
    assert not said["inline"]

    df = read_batches(spark, tmp_path / "in")
    windowed = sp.stream(df, time="ts", key="zone").window("1 second", slide="500 milliseconds")
    query = windowed.top_delta(2, minimize="a", maximize="b")
    outputs = Outputs()
    for name, sink in (("results", outputs.results), ("late", outputs.late), ("quarantine", outputs.quarantine)):
        for path in sorted((tmp_path / name).glob("step-*.parquet")):
            step = int(path.name.split("-")[1])
            table = spark.read.parquet(str(path)).toArrow()
            sink.steps[step] = pa.concat_tables([sink.steps[step], table]) if step in sink.steps else table
    assert_answers(spark, definition_of(query), batches, outputs)
    assert_fates(definition_of(query), query.waiting.policy, batches, outputs)
    delivered = sum(batch.num_rows for batch in batches)
    assert said["ledger"]["accepted"] == delivered - len(outputs.lost())
    assert said["windows"] == len({repr((row["zone"], row["window"])) for row in outputs.results.rows()})

    rows = [row for row in pa.concat_tables(batches).to_pylist() if row["b"] is not None]
    usable = [row for row in rows if row["a"] is not None and row["a"] == row["a"]]
    best = [
        row["n"]
        for row in usable
        if not any(
            other["zone"] == row["zone"]
            and (other["a"], -other["b"]) != (row["a"], -row["b"])
            and other["a"] <= row["a"]
            and other["b"] >= row["b"]
            for other in usable
        )
    ]
    assert said["best"] == sorted(best)
