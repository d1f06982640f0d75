"""A driver process on whatever master it is told: orders are lines of JSON, each answered by a line of JSON.

Executors follow a script. It decides what a controller would, whatever the load; everything else is the real thing.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import skypane as sp
from skypane.api.continuous_query import ContinuousQuery
from skypane.spark.executors.cluster import Cluster
from skypane.tuning.elastic.controllers import ElasticDecision, Snapshot
from tests.support.spark.jvm import SHORT_LIVED
from tests.support.spark.streams import read_batches

WAIT_S = 240


class Script:
    """A controller that says what it is told."""

    name = "script"
    degree = 1

    def decide(self, seen: Snapshot) -> ElasticDecision:
        del seen
        return ElasticDecision(self.degree, self.degree)


def elastic_query(df: DataFrame, controller: Any) -> ContinuousQuery:
    """Decided after every step."""
    windowed = sp.stream(df, time="ts", key="city").window("1 second", slide="500 milliseconds")
    elastic = sp.Elastic(max_degree=3, controller=controller, period="1 millisecond", dwell=1)
    return windowed.skyline(minimize="a", maximize="b").parallel(elastic=elastic, tuning=sp.Tuning(inline_rows=0))


def fixed_query(df: DataFrame) -> ContinuousQuery:
    """Two tasks in each stage, always."""
    windowed = sp.stream(df, time="ts", key="zone").window("1 second", slide="500 milliseconds")
    return windowed.top_delta(2, minimize="a", maximize="b").parallel(degree=2, tuning=sp.Tuning(inline_rows=0))


def outputs(folder: Path) -> dict[str, Any]:
    """A checkpoint and sinks that outlive the process."""
    sinks = {"sink": "results", "late": "late", "quarantine": "quarantine"}
    places: dict[str, Any] = {option: sp.ParquetSink(folder / name) for option, name in sinks.items()}
    return {"checkpoint": folder / "checkpoint", **places}


class Process:
    """One session, its query, its script."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.script = Script()
        self.cluster = Cluster(spark.sparkContext)
        self.running: Any = None

    def hello(self) -> dict[str, Any]:
        """It has a session."""
        return {"application": self.spark.sparkContext.applicationId}

    def fixed(self, folder: str) -> dict[str, Any]:
        """What is there, with fixed degrees; then the same records as one table."""
        place = Path(folder)
        running = fixed_query(read_batches(self.spark, place / "in", files=2)).start(
            **outputs(place), available_now=True, flush=True
        )
        running.await_termination()
        table = self.spark.read.parquet(str(place / "in")).where("a is not null and not isnan(a) and b is not null")
        best = sp.skyline(table, minimize="a", maximize="b", by="zone")
        metrics = running.metrics()
        return {
            "executors": len(self.cluster.executors()),
            "ledger": metrics.ledger.to_json(),
            "windows": metrics.windows,
            "window_tasks": max(step.window_tasks for step in metrics.recent),
            "inline": any(step.window_inline for step in metrics.recent if step.window_tasks),
            "best": sorted(row.n for row in best.select("n").collect()),
        }

    def start(self, degree: int = 1, **options: Any) -> dict[str, Any]:
        """Begin, or continue where the last process was."""
        self.script.degree = degree
        query = elastic_query(read_batches(self.spark, self.folder / "in"), self.script)
        self.running = query.start(**outputs(self.folder), idle_timeout=None, **{"trigger": "0 seconds", **options})
        return {"explain": self.running.explain()}

    def stop(self) -> dict[str, Any]:
        """After the step under way."""
        self.running.stop()
        return {}

    def want(self, degree: int) -> dict[str, Any]:
        """From the next decision on."""
        self.script.degree = degree
        return {}

    def die(self, at: str) -> dict[str, Any]:
        """When a step gets there."""
        os.environ["SKYPANE_FAILPOINT"] = at
        return {}

    def wait(self, delivered: int, executors: int | None) -> dict[str, Any]:
        """Until so many records are through, and there are so many executors, if it matters, all of them warm."""
        deadline = time.monotonic() + WAIT_S
        while not self.is_there(delivered, executors):
            assert self.running.exception() is None, self.running.exception()
            assert time.monotonic() < deadline, f"{self.running!r}, {self.cluster.executors()}"
            time.sleep(0.05)
        steps = [[step.pane_degree, step.window_degree] for step in self.running.metrics().recent]
        return {"degrees": steps, "ledger": self.running.metrics().ledger.to_json()}

    def is_there(self, delivered: int, executors: int | None) -> bool:
        metrics = self.running.metrics()
        # A step is committed a moment before it is in the log of steps.
        if metrics.last is None or metrics.last.step < metrics.steps or metrics.delivered < delivered:
            return False
        if executors is None:
            return True
        warm = self.running._run._driver.executors.ready()
        return len(self.cluster.executors()) == executors and warm in (None, executors)

    def play(self, stream: dict[str, Any], records: int, controller: str) -> dict[str, Any]:
        """A paced stream with more work than one executor bears, until it is through and most are released again."""

        def count(rows: dict[str, Any]) -> dict[str, int]:
            time.sleep(len(rows["id"]) * 1e-3)  # as much work on a busy machine as on a quiet one
            return {"n": len(rows["id"]), "last": int(rows["id"].max())}

        count.__annotations__["rows"] = dict
        df = self.spark.readStream.format("skypane-traffic").options(**stream).load()
        asked = sp.stream(df, time="ts", key="key").window("500 milliseconds").apply(count, "n long, last long")
        query = asked.parallel(elastic=sp.Elastic(max_degree=3, controller=controller), tuning=sp.Tuning(inline_rows=0))
        options: dict[str, Any] = {
            "sink": sp.ParquetSink(self.folder / "played"),
            "checkpoint": self.folder / "playing",
        }
        self.running = query.start(trigger="0 seconds", idle_timeout="5 seconds", **options)
        deadline = time.monotonic() + WAIT_S
        while self.running.metrics().delivered < records or len(self.cluster.executors()) > 1:
            assert self.running.exception() is None, self.running.exception()
            assert time.monotonic() < deadline, f"{self.running!r}, {self.cluster.executors()}"
            time.sleep(0.05)
        self.running.stop()
        steps = [[step.pane_degree, step.window_degree, step.executors] for step in self.running.metrics().recent]
        self.running = query.start(available_now=True, flush=True, **options)
        self.running.await_termination()
        ledger = self.running.metrics().ledger.to_json()
        return {"steps": steps, "ledger": ledger, "explain": self.running.explain()}

    def finish(self) -> dict[str, Any]:
        """Stop, then close all windows."""
        self.running.stop()
        self.start(available_now=True, flush=True)
        self.running.await_termination()
        metrics = self.running.metrics()
        return {"ledger": metrics.ledger.to_json(), "delivered": metrics.delivered}


def main() -> None:
    master, folder, settings = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
    os.environ["PYSPARK_PYTHON"] = sys.executable  # also of the executors
    builder = SparkSession.builder.master(master)
    for name, value in {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.executor.cores": "1",
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": SHORT_LIVED,
        # All workers take part from the first task on.
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
        "spark.locality.wait": "0s",
        **settings,
    }.items():
        builder = builder.config(name, value)
    process = Process(builder.getOrCreate(), folder)
    for line in sys.stdin:
        orders = json.loads(line)
        print(json.dumps(getattr(process, orders.pop("do"))(**orders)), flush=True)
    process.spark.stop()


if __name__ == "__main__":
    main()
