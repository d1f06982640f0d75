"""Continuous skyline of the best flights from each New York airport, replayed as they landed."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from prepare import prepare_once
from pyspark.sql import DataFrame, SparkSession

import skypane as sp
from skypane.spark.sources import register_sources

BEST = {"minimize": ["arr_delay_min", "dep_delay_min"], "maximize": ["speed_mph"]}


def flights(spark: SparkSession, path: Path, speed: float = 0) -> DataFrame:
    """The stream of landings; ``speed`` 0 replays as fast as it is read, 3600 an hour in a second."""
    register_sources(spark)
    # About two days of landings in each micro-batch: between them the watermark moves on, and some are late.
    options: dict[str, str | float] = {"path": str(path), "speed": speed, "max_records_per_batch": 2_000}
    return spark.readStream.format("skypane-replay").options(**options).load()


def best_flights(landings: DataFrame) -> sp.ContinuousQuery:
    """Every six hours, over the last day: flights that no other of the same airport beats in all respects."""
    return (
        sp.stream(landings, time="ts", key="origin")
        .window("1 day", slide="6 hours")
        .skyline(minimize=BEST["minimize"], maximize=BEST["maximize"])
        .lateness(sp.KSlack())
    )


def main() -> None:
    """Prepares the file if need be, runs the query to the end of it, shows the last windows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--file", type=Path, default=Path("flights.parquet"))
    parser.add_argument("--days", type=int, default=31, help="of a file that is not there yet")
    given = parser.parse_args()
    prepare_once(given.file, given.days)
    spark = sp.embedded_session("flights")
    with tempfile.TemporaryDirectory() as folder:
        query = best_flights(flights(spark, given.file)).start(
            checkpoint=f"{folder}/checkpoint",
            sink=sp.ParquetSink(f"{folder}/best"),
            late=sp.ParquetSink(f"{folder}/late"),
            available_now=True,
        )
        query.await_termination()
        ledger, windows = query.metrics().ledger, query.metrics().windows
        print(f"{ledger.accepted:,} flights accepted, {ledger.late} too late, {windows} windows")
        best = spark.read.parquet(f"{folder}/best")
        best.createOrReplaceTempView("best")
        spark.sql(
            """
            SELECT origin, date_format(window.end, 'MM-dd HH:mm') AS until, carrier, flight, dest,
                   arr_delay_min, dep_delay_min, round(speed_mph) AS mph
            FROM best WHERE window.end = (SELECT max(window.end) - INTERVAL 1 DAY FROM best)
            ORDER BY origin, arr_delay_min LIMIT 15
            """
        ).show()
    spark.stop()


if __name__ == "__main__":
    main()
