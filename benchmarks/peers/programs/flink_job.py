"""PyFlink: SQL windows over Parquet files; the look-up and the skyline are vectorised Python functions."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import call, col, lit
from pyflink.table.udf import udaf, udf
from pyflink.table.window import Slide

from benchmarks.peers.programs.plain import NAMES, SLIDE_US, TUMBLE_US, WINDOW_US, best_numbers, main

TIME = "ts AS TO_TIMESTAMP_LTZ(us / 1000, 3), WATERMARK FOR ts AS ts"


def environment() -> TableEnvironment:
    """Two slots in this process, the jars of the Parquet format."""
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    settings = {
        "parallelism.default": "2",
        "python.executable": sys.executable,
        "pipeline.jars": os.environ["FLINK_JARS"],
        "table.local-time-zone": "UTC",
        "python.fn-execution.bundle.size": "100000",
        "python.fn-execution.arrow.batch.size": "100000",
    }
    for name, value in settings.items():
        tables.get_config().set(name, value)
    return tables


def read(tables: TableEnvironment, data: Path, columns: str) -> None:
    """The lanes as the table ``lanes``."""
    files = f"'connector' = 'filesystem', 'path' = '{data / 'lanes'}', 'format' = 'parquet'"
    tables.execute_sql(f"CREATE TABLE lanes (us BIGINT, {columns}, {TIME}) WITH ({files})")


def write(tables: TableEnvironment, out: Path, columns: str) -> None:
    """The answers from the table ``answers``."""
    files = f"'connector' = 'filesystem', 'path' = '{out}', 'format' = 'csv'"
    tables.execute_sql(f"CREATE TABLE answers ({columns}) WITH ({files})")


def yahoo(data: Path, out: Path) -> None:
    """Views by campaign in windows of ten seconds: how many, and when the last one was."""
    owner = pq.read_table(data / "campaigns" / "ads.parquet").sort_by("ad")["campaign"].to_numpy()

    @udf(result_type=DataTypes.BIGINT(), func_type="pandas")
    def campaign_of(ad: pd.Series[int]) -> pd.Series[int]:
        return pd.Series(owner[ad.to_numpy()])

    tables = environment()
    read(tables, data, "ad BIGINT, event STRING")
    write(tables, out, "campaign BIGINT, window_start TIMESTAMP(3), counted BIGINT, last_us BIGINT")
    tables.create_temporary_function("campaign_of", campaign_of)
    viewed = "SELECT campaign_of(ad) AS campaign, us, ts FROM lanes WHERE event = 'view'"
    tables.execute_sql(f"CREATE VIEW viewed AS {viewed}")
    seconds = TUMBLE_US // 1_000_000
    tables.execute_sql(
        f"""
        INSERT INTO answers
        SELECT campaign, window_start, COUNT(*), MAX(us)
        FROM TABLE(TUMBLE(TABLE viewed, DESCRIPTOR(ts), INTERVAL '{seconds}' SECOND))
        GROUP BY campaign, window_start, window_end
        """
    ).wait()


def skyline(data: Path, out: Path) -> None:
    """A vectorised aggregate function over sliding windows."""

    @udaf(result_type=DataTypes.STRING(), func_type="pandas")
    def best(number: Any, *columns: Any) -> str:
        return best_numbers(number, list(columns))

    tables = environment()
    read(tables, data, "number BIGINT, " + ", ".join(f"{name} DOUBLE" for name in NAMES))
    write(tables, out, "window_start TIMESTAMP(3), numbers STRING")
    window = Slide.over(lit(WINDOW_US // 1_000).milli).every(lit(SLIDE_US // 1_000).milli).on(col("ts")).alias("w")
    columns = [col(name) for name in ("number", *NAMES)]
    tables.create_temporary_function("best", best)
    found = tables.from_path("lanes").window(window).group_by(col("w")).select(col("w").start, call("best", *columns))
    found.execute_insert("answers").wait()


if __name__ == "__main__":
    main({"yahoo": yahoo, "skyline": skyline})
