"""A standalone Spark cluster on 127.0.0.1 gives the same results as the pure engine and the oracle.

Also while executors come and go, by degrees that change and by SIGKILL, and the driver is killed among them.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import skypane as sp
from skypane.traffic import Position, TrafficSpec, stream_of
from tests.cluster.elastic_driver import elastic_query
from tests.crash.processes import DriverProcess
from tests.spark_support.jvm import SHORT_LIVED
from tests.spark_support.standalone import standalone
from tests.spark_support.streams import (
    Outputs,
    assert_answers,
    assert_fates,
    definition_of,
    micros,
    random_batches,
    read_batches,
    write_batches,
)
from tests.support.records import SCHEMA

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

EXECUTOR = b"org.apache.spark.executor.CoarseGrainedExecutorBackend"
DRIVER = Path(__file__).parent / "driver.py"


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with standalone(tmp_path_factory.mktemp("cluster"), workers=3) as address:
        yield address


def stored_outputs(spark: SparkSession, folder: Path) -> Outputs:
    """What the Parquet sinks of a process have, by step."""
    outputs = Outputs()
    for name, sink in (("results", outputs.results), ("late", outputs.late), ("quarantine", outputs.quarantine)):
        for path in sorted((folder / name).glob("step-*.parquet")):
            step = int(path.name.split("-")[1])
            table = spark.read.parquet(str(path)).toArrow()
            sink.steps[step] = pa.concat_tables([sink.steps[step], table]) if step in sink.steps else table
    return outputs


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
    outputs = stored_outputs(spark, tmp_path)
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


class Elastic:
    """A driver process that is told what to want, and the files that its query reads."""

    def __init__(self, master: str, folder: Path, batches: Sequence[pa.Table]) -> None:
        self.folder = folder
        self.batches = batches
        self.sent = 0
        self._arguments = (master, str(folder), SHORT_LIVED)
        self._process: DriverProcess | None = None
        self.application = ""

    def begin(self) -> str:
        """A new process; what it says that it does."""
        number = len(list(self.folder.glob("driver-*.err")))
        log = self.folder / f"driver-{number}.log"
        self._process = DriverProcess(log, "", "tests.cluster.elastic_driver", self._arguments)
        said = self.tell("start")
        self.application = said["application"]
        return str(said["explain"])

    def send(self, count: int) -> None:
        """So many more batches."""
        write_batches(self.folder / "in", self.batches[self.sent : self.sent + count], first=self.sent)
        self.sent += count

    def wait(self, executors: int) -> dict[str, Any]:
        """Until all that was sent is through, on so many warm executors in the end."""
        return self.tell("wait", delivered=sum(b.num_rows for b in self.batches[: self.sent]), executors=executors)

    def tell(self, what: str, **more: Any) -> dict[str, Any]:
        assert self._process is not None
        self._process.order({"do": what, **more})
        said = self._process.answer()
        assert said is not None, self._process.errors()
        return said

    def dies(self) -> None:
        """Killed by itself; its JVM and its executors end with it."""
        assert self._process is not None
        assert self._process.answer() is None
        self.end()

    def end(self) -> None:
        if self._process is not None:
            self._process.end()

    def kill_an_executor(self) -> None:
        """One that is there, or one that is just coming."""
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # It may end in the meantime.
                command = (process / "cmdline").read_bytes().split(b"\0")
                if (
                    self.application.encode() in command
                    and b"org.apache.spark.executor.CoarseGrainedExecutorBackend" in command
                ):
                    os.kill(int(process.name), signal.SIGKILL)
                    return
        raise AssertionError("there is no executor to kill")


STREAMS: dict[str, dict[str, Any]] = {
    "steps": {"arrivals": "steps", "steps": "0:300, 10:2500, 25:300", "records": 45_000},
    "map": {"arrivals": "map", "dispersion": 1000, "rate": 1500, "records": 60_000},
}
"""One executor takes a thousand records in a second."""


@pytest.mark.soak
@pytest.mark.parametrize("arrivals", ["map", "steps"])
@pytest.mark.parametrize("controller", ["fuzzy", "ds2"])
def test_executors_follow_the_load(tmp_path: Path, master: str, arrivals: str, controller: str) -> None:
    # Steps that take in what one executor does in two seconds, so that nothing is decided too late.
    limit = {"max_records_per_batch": 2000}
    more = {"keys": 12, "attributes": 1, "disorder": "none", "partitions": 1, "seed": 8, **limit}
    stream: dict[str, Any] = {**STREAMS[arrivals], **more, "start": "2026-01-01T00:00:00Z"}
    run = Elastic(master, tmp_path, [])
    try:
        run.begin()
        run.tell("stop")
        paced = {**stream, "paced": "true"}
        said = run.tell("play", stream=paced, records=stream["records"], controller=controller)
    finally:
        run.end()
    assert said["most"] > 1
    assert said["ledger"]["accepted"] == stream["records"]
    spec = TrafficSpec.from_options(stream)
    stop, _ = stream_of(spec).advance(Position(), spec.records)
    every = pa.Table.from_batches(stream_of(spec).read(0, Position(), stop, spec.start or 0))
    window = (every["ts"].cast(pa.int64()).to_numpy() // 500_000).tolist()
    expected: dict[tuple[str, int], tuple[int, int]] = {}
    for key, number, record in zip(every["key"].to_pylist(), window, every["id"].to_pylist(), strict=True):
        n, last = expected.get((key, number), (0, 0))
        expected[key, number] = (n + 1, max(last, record))
    rows = [row for path in (tmp_path / "played").glob("step-*.parquet") for row in pq.read_table(path).to_pylist()]
    answers = {(r["key"], micros(r["window"]["start"]) // 500_000): (r["n"], r["last"]) for r in rows}
    assert len(answers) == len(rows)
    assert answers == expected


def bursty_batches(arrivals: str, count: int, seed: int) -> list[pa.Table]:
    """A generated stream, out of order and in bursts, cut at equal times."""
    spec = TrafficSpec.from_options(
        arrivals=arrivals,
        dispersion=1000,
        steps="0:30, 5:150, 10:30",
        rate=60,
        records=900,
        keys=5,
        attributes=2,
        disorder="uniform",
        mean_delay="200 ms",
        seed=seed,
    )
    stream = stream_of(spec)
    stop, _ = stream.advance(Position(), spec.records)
    table = pa.Table.from_batches(stream.read(0, Position(), stop, 1_700_000_000_000_000)).sort_by("arrival")
    made = {
        "n": table["id"],
        "ts": table["ts"].cast(SCHEMA.field("ts").type),
        "city": table["key"],
        "zone": pa.array(np.zeros(table.num_rows, dtype=np.int32)),
        "a": table["a0"],
        "b": pa.array((table["a1"].to_numpy() * 1000).astype(np.int64)),
    }
    rows = pa.table(made).select(SCHEMA.names).cast(SCHEMA)
    arrived = table["arrival"].cast(pa.int64()).to_numpy()
    cuts = np.searchsorted(arrived, np.linspace(arrived[0], arrived[-1], count + 1)[1:-1]).tolist()
    return [rows.slice(low, high - low) for low, high in pairwise([0, *cuts, rows.num_rows]) if high > low]


@pytest.mark.parametrize("arrivals", ["map", pytest.param("steps", marks=pytest.mark.soak)])
def test_executors_follow_degrees_and_kills_while_scaling_change_nothing(
    spark: SparkSession, tmp_path: Path, master: str, arrivals: str
) -> None:
    batches = bursty_batches(arrivals, 12, seed=3)
    run = Elastic(master, tmp_path, batches)
    try:
        assert "skypane asks for executors and releases them" in run.begin()
        run.send(2)
        run.wait(executors=1)
        run.tell("want", degree=3)
        run.send(2)
        run.kill_an_executor()  # while it grows
        run.wait(executors=3)
        run.send(1)
        run.wait(executors=3)
        run.send(1)
        assert run.wait(executors=3)["degrees"][-1] == [3, 3]
        run.kill_an_executor()
        run.tell("want", degree=1)
        run.send(2)  # while it shrinks
        run.wait(executors=1)
        run.tell("want", degree=2)
        run.tell("die", at="windows.done")
        run.send(1)
        run.dies()
        run.begin()
        run.tell("want", degree=2)
        run.send(len(batches) - run.sent)
        run.wait(executors=2)
        said = run.tell("finish")
    finally:
        run.end()
    query = elastic_query(read_batches(spark, tmp_path / "in"), "fuzzy")
    outputs = stored_outputs(spark, tmp_path)
    assert_answers(spark, definition_of(query), batches, outputs)
    assert_fates(definition_of(query), query.waiting.policy, batches, outputs)
    assert said["delivered"] == sum(batch.num_rows for batch in batches)
    assert said["ledger"]["accepted"] == said["delivered"] - len(outputs.lost())
