"""A driver process whose executors follow a script: orders are lines of JSON, each answered by a line of JSON.

The script decides what a controller would, whatever the load; everything else is the real thing.
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
from skypane.api.stream import ContinuousQuery
from skypane.control.elastic import ElasticDecision, Snapshot
from skypane.spark.executors.cluster import Cluster
from tests.spark_support.streams import read_batches

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
    return windowed.skyline(minimize="a", maximize="b").parallel(elastic=elastic, inline_rows=0)


class Process:
    """One session, its query, its script."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.script = Script()
        self.cluster = Cluster(spark.sparkContext)
        self.running: Any = None

    def start(self, **options: Any) -> dict[str, Any]:
        """Begin, or continue where the last process was."""
        query = elastic_query(read_batches(self.spark, self.folder / "in"), self.script)
        sinks: dict[str, Any] = {name: sp.ParquetSink(self.folder / name) for name in ("late", "quarantine")}
        self.running = query.start(
            sink=sp.ParquetSink(self.folder / "results"),
            checkpoint=self.folder / "checkpoint",
            idle_timeout=None,
            **sinks,
            **{"trigger": "0 seconds", **options},
        )
        return {"application": self.spark.sparkContext.applicationId, "explain": self.running.explain()}

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

    def wait(self, delivered: int, executors: int) -> dict[str, Any]:
        """Until so many records are through, and there are so many executors, all of them warm."""
        deadline = time.monotonic() + WAIT_S
        while not self.is_there(delivered, executors):
            assert self.running.exception() is None, self.running.exception()
            assert time.monotonic() < deadline, f"{self.running!r}, {self.cluster.executors()}"
            time.sleep(0.05)
        steps = [[step.pane_degree, step.window_degree] for step in self.running.metrics().recent]
        return {"degrees": steps, "ledger": self.running.metrics().ledger.to_json()}

    def is_there(self, delivered: int, executors: int) -> bool:
        metrics = self.running.metrics()
        # A step is committed a moment before it is in the log of steps.
        if metrics.last is None or metrics.last.step < metrics.steps:
            return False
        if metrics.delivered < delivered or len(self.cluster.executors()) != executors:
            return False
        return bool(self.running._run._driver._executors.ready() == executors)

    def play(self, stream: dict[str, Any], records: int, controller: str) -> dict[str, Any]:
        """A paced stream with more work than one executor bears, until it is through and most are released again."""

        def count(rows: dict[str, Any]) -> dict[str, int]:
            time.sleep(len(rows["id"]) * 1e-3)  # as much work on a busy machine as on a quiet one
            return {"n": len(rows["id"]), "last": int(rows["id"].max())}

        count.__annotations__["rows"] = dict
        df = self.spark.readStream.format("skypane-traffic").options(**stream).load()
        asked = sp.stream(df, time="ts", key="key").window("500 milliseconds").apply(count, "n long, last long")
        query = asked.parallel(elastic=sp.Elastic(max_degree=3, controller=controller), inline_rows=0)
        options: dict[str, Any] = {
            "sink": sp.ParquetSink(self.folder / "played"),
            "checkpoint": self.folder / "playing",
        }
        self.running = query.start(trigger="0 seconds", idle_timeout="5 seconds", **options)
        most, deadline = 0, time.monotonic() + WAIT_S
        while self.running.metrics().delivered < records or len(self.cluster.executors()) > 1:
            most = max(most, self.running.metrics().last.executors if self.running.metrics().last else 0)
            assert self.running.exception() is None, self.running.exception()
            assert time.monotonic() < deadline, f"{self.running!r}, {self.cluster.executors()}"
            time.sleep(0.05)
        self.running.stop()
        self.running = query.start(available_now=True, flush=True, **options)
        self.running.await_termination()
        return {"most": most, "ledger": self.running.metrics().ledger.to_json()}

    def finish(self) -> dict[str, Any]:
        """Stop, then close all windows."""
        self.running.stop()
        self.start(available_now=True, flush=True)
        self.running.await_termination()
        metrics = self.running.metrics()
        return {"ledger": metrics.ledger.to_json(), "delivered": metrics.delivered}


def main() -> None:
    master, folder, jvm_options = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
    builder = SparkSession.builder.master(master)
    for name, value in {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.cores.max": "3",
        "spark.executor.cores": "1",
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": jvm_options,
        "spark.locality.wait": "0s",
    }.items():
        builder = builder.config(name, value)
    process = Process(builder.getOrCreate(), folder)
    for line in sys.stdin:
        orders = json.loads(line)
        print(json.dumps(getattr(process, orders.pop("do"))(**orders)), flush=True)
    process.spark.stop()


if __name__ == "__main__":
    main()
