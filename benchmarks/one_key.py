"""One key: a function over windows of 10 s every 1 s, on one and two executors - the share of it that is parallel."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from rich.table import Table

from benchmarks.cluster import drive, speed_up_cells, with_speed_up
from skypane.flow.plan import PARTITIONINGS
from tests.support.spark.standalone import standalone


def run(quick: bool) -> dict[str, Any]:
    """The same stream with each number of executors, and each way to share windows."""
    rate, steps = (20_000, 6) if quick else (60_000, 16)
    found: dict[str, Any] = {"rate": rate, "runs": []}
    with tempfile.TemporaryDirectory(prefix="skypane-bench-") as folder, standalone(Path(folder)) as master:
        for executors, partitioning in [(1, "batch"), *((2, kind) for kind in PARTITIONINGS)]:
            measured = drive("benchmarks.one_key_driver", master, executors, rate, steps, partitioning)
            found["runs"].append({"executors": executors, "partitioning": partitioning, **measured})
    with_speed_up(found["runs"])
    return found


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
        table.add_row(
            str(one["executors"]),
            one["partitioning"],
            f"{one['window_tasks']:.0f}",
            f"{one['replication']:.2f}",
            *speed_up_cells(one),
        )
    return [table]
