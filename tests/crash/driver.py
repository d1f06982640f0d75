"""A driver process for the crash tests: starts Spark, then runs one query after the other, until it is killed.

Orders are lines of JSON on standard input, so that the next process can start its JVM while this one works; each is
answered by a line of JSON on standard output when its query has ended.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

import skypane as sp
from skypane.spark.sinks.base import Sink
from skypane.spark.store import failpoints
from tests.support.configurations import Configuration

SCHEMA = "n bigint, ts timestamp, city string, zone int, a double, b bigint"


def main() -> None:
    log = Path(sys.argv[1])
    spark = sp.embedded_session(cores=1, log_file=log, options={"spark.sql.shuffle.partitions": "1"})
    for line in sys.stdin:
        print(json.dumps(carry_out(spark, json.loads(line))), flush=True)
    spark.stop()


def carry_out(spark: SparkSession, orders: dict[str, Any]) -> dict[str, Any]:
    os.environ["SKYPANE_FAILPOINT"] = orders["failpoint"] or ""
    failpoints._reached.clear()
    configuration = Configuration.from_json(orders["configuration"])
    df = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(orders["input"])
    out = Path(orders["output"])
    sinks: dict[str, Any] = {name: sink(kind, out / name) for name, kind in orders["sinks"].items()}
    results = sinks.pop("results")
    query = replace(configuration, parallel={**configuration.parallel, **orders["parallel"]}).build(df)
    running = query.start(sink=results, checkpoint=out / "checkpoint", **sinks, **orders["options"])
    running.await_termination()
    metrics = running.metrics()
    said = {"ledger": metrics.ledger.to_json(), "windows": metrics.windows}
    return said | ({"condensed": sum(step.condensed for step in metrics.recent)} if orders.get("measure") else {})


def sink(kind: str, path: Path) -> Sink:
    """By the names of ``contents``, which reads what they leave."""
    if kind == "parquet":
        return sp.ParquetSink(path)
    if kind == "json":
        return sp.FormatSink("json", path=str(path))
    if kind == "function":
        return sp.extend.CallableSink(lambda df, step: keep(path, df, step))
    assert kind == "discard"
    return sp.DiscardSink()


def keep(path: Path, df: DataFrame, step: int) -> None:
    """What a user's own function would do: idempotent by the number."""
    path.mkdir(parents=True, exist_ok=True)
    hidden = path / f".{step}"
    rows = df.select(F.to_json(F.struct("*")).alias("json")).collect()
    hidden.write_text("".join(f"{row.json}\n" for row in rows))
    hidden.rename(path / f"{step}.jsonl")


if __name__ == "__main__":
    main()
