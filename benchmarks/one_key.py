"""One key: a function over windows of 10 s every 1 s, on one and two executors - the share of it that is parallel."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.table import Table
from tests.spark_support.standalone import standalone

from skypane.scheduling.partitioning import PARTITIONINGS

ROOT = Path(__file__).parents[1]


def run(quick: bool) -> dict[str, Any]:
    """The same stream with each number of executors, and each way to share windows."""
    rate, steps = (20_000, 6) if quick else (60_000, 16)
    found: dict[str, Any] = {"rate": rate, "runs": []}
    with tempfile.TemporaryDirectory(prefix="skypane-bench-") as folder, standalone(Path(folder)) as master:
        for executors, partitioning in [(1, "batch"), *((2, kind) for kind in PARTITIONINGS)]:
            measured = _measure(master, executors, rate, steps, partitioning)
            found["runs"].append({"executors": executors, "partitioning": partitioning, **measured})
    alone_ms = found["runs"][0]["window_ms"]
    for one in found["runs"]:
        one["speed_up"] = alone_ms / one["window_ms"]
        one["parallel_share"] = parallel_share(one["speed_up"], one["executors"])
    return found


def _measure(master: str, executors: int, rate: int, steps: int, partitioning: str) -> dict[str, Any]:
    arguments = [master, str(executors), str(rate), str(steps), partitioning]
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks.one_key_driver", *arguments],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        cwd=ROOT,
        check=True,
    )
    said: dict[str, Any] = json.loads(ran.stdout)
    return said


def parallel_share(speed_up: float, executors: int) -> float | None:
    """By Amdahl's law: what share of the work must run in parallel for this speed-up."""
    return (1 - 1 / speed_up) / (1 - 1 / executors) if executors > 1 else None


def tables(found: dict[str, Any]) -> list[Table]:
    """A row for each run."""
    table = Table(
        title=f"One key: medians of three columns, windows of 10 s every 1 s, {found['rate']:,} records per second, "
        "five windows in each step",
        title_justify="left",
    )
    for column in ("executors", "partitioning", "tasks", "replication", "window stage", "speed-up", "parallel share"):
        table.add_column(column, justify="right")
    for one in found["runs"]:
        share = one["parallel_share"]
        table.add_row(
            str(one["executors"]),
            one["partitioning"],
            f"{one['window_tasks']:.0f}",
            f"{one['replication']:.2f}",
            f"{one['window_ms']:,.0f} ms",
            f"{one['speed_up']:.2f} x",
            "" if share is None else f"{share:.0%}",
        )
    return [table]
