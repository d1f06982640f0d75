"""One hot key: a live skyline with a large live set, on 1, 2 and 4 executors - how much of a step is parallel."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from rich.table import Table

from benchmarks.cluster import drive, speed_up_cells, with_speed_up
from tests.support.spark.standalone import standalone

RATE = 100_000
"""Records per second of 8 anticorrelated attributes: about 450,000 rows may still enter or leave after 10 s."""
FIRST = 3
"""Steps that are left out where the live set grows: kernels are loaded, executors warm up."""


def run(quick: bool) -> dict[str, Any]:
    """The same stream with each number of executors, by turns in how rows are owned."""
    rate, steps = (RATE // 2, 5) if quick else (RATE, 5)
    found: dict[str, Any] = {"rate": rate, "cores": os.cpu_count(), "runs": []}
    wanted = [(1, "rr"), (2, "rr")] if quick else [(1, "rr"), (2, "rr"), (4, "llw+")]
    most = max(executors for executors, _ in wanted)
    with tempfile.TemporaryDirectory(prefix="skypane-bench-") as folder, standalone(Path(folder), most) as master:
        for executors, ownership in wanted:
            measured = drive("benchmarks.hot_key_driver", master, executors, rate, steps, ownership)
            found["runs"].append({"executors": executors, "ownership": ownership, **measured})
    with_speed_up(found["runs"])
    return found


def tables(found: dict[str, Any]) -> list[Table]:
    """A row for each run."""
    table = Table(
        title=f"One hot key: live skyline, 8 anticorrelated attributes, life 10 s, steps of one second of "
        f"{found['rate']:,} records/s; executors of one core each, on {found['cores']} cores in all",
        title_justify="left",
    )
    columns = ("executors", "ownership", "tasks of the join", "rows of state", "new rows", "records/s", "window stage")
    for column in (*columns, "speed-up", "parallel share"):
        table.add_column(column, justify="right")
    for one in found["runs"]:
        table.add_row(
            str(one["executors"]),
            one["ownership"],
            f"{one['join_tasks']:.0f}",
            f"{one['state_rows']:,.0f}",
            f"{one['partial_rows']:,.0f}",
            f"{1e3 * found['rate'] / one['apart_ms']:,.0f}",
            *speed_up_cells(one),
        )
    return [table, _growing(found["runs"])]


def _growing(runs: list[dict[str, Any]]) -> Table:
    """From which size on it pays: the steps of the first life, in which the live set grows."""
    table = Table(title="The same while the live set grows: window stage of a step, ms", title_justify="left")
    for column in ("rows of state", *(f"{one['executors']} executors, {one['ownership']}" for one in runs)):
        table.add_column(column, justify="right")
    for steps in [*zip(*(one["growing"] for one in runs), strict=True)][FIRST:]:
        table.add_row(f"{steps[0][0]:,}", *(f"{window_ms:,.0f}" for _, window_ms in steps))
    return table
