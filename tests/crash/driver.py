"""A driver process for the crash tests: starts Spark, waits for its orders, runs one query until it ends or is killed.

Orders are one line of JSON on standard input, so that the next process can start its JVM while this one works.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import skypane as sp

SCHEMA = "n bigint, ts timestamp, city string, zone int, a double, b bigint"


def main() -> None:
    spark = sp.embedded_session(cores=1, log_file=Path(sys.argv[1]), options={"spark.sql.shuffle.partitions": "1"})
    stream = sp.stream  # Imports all that is needed, while there is time.
    orders: dict[str, Any] = json.loads(sys.stdin.readline())
    if orders["failpoint"]:
        os.environ["SKYPANE_FAILPOINT"] = orders["failpoint"]
    df = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(orders["input"])
    out = Path(orders["output"])
    query = (
        stream(df, time="ts", key="city")
        .window("1 second", slide="500 milliseconds")
        .skyline(minimize="a", maximize="b")
        .lateness(sp.DropRatio(0.1, initial_slack="200 milliseconds"), allowed="500 milliseconds")
        .parallel(**orders["parallel"])
        .start(
            checkpoint=out / "checkpoint",
            sink=sp.ParquetSink(out / "results"),
            late=sp.ParquetSink(out / "late"),
            quarantine=sp.ParquetSink(out / "quarantine"),
            **orders["options"],
        )
    )
    query.await_termination()
    print(json.dumps({"ledger": query.metrics().ledger.to_json(), "windows": query.metrics().windows}), flush=True)
    # Whoever wants to kill this process at a time of their own choosing finds it alive.
    if orders["linger"]:
        sys.stdin.readline()
    spark.stop()


if __name__ == "__main__":
    main()
