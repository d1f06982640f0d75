"""Benchmarks on a standalone cluster: a driver process of its own for each number of executors, and what it says."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import skypane as sp
from benchmarks.pipeline import wait_until

ROOT = Path(__file__).parents[1]
WAIT_S = 900


def drive(module: str, *arguments: object) -> dict[str, Any]:
    """Run a driver; what it printed."""
    ran = subprocess.run(
        [sys.executable, "-m", module, *map(str, arguments)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        cwd=ROOT,
        check=True,
    )
    said: dict[str, Any] = json.loads(ran.stdout)
    return said


def session_on(master: str, executors: int) -> SparkSession:
    """In a driver: so many executors of one core each, all there before the first task."""
    spark = (
        SparkSession.builder.master(master)
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.cores.max", executors)
        .config("spark.executor.cores", "1")
        .config("spark.executorEnv.PYTHONPATH", str(ROOT))
        .config("spark.scheduler.minRegisteredResourcesRatio", "1.0")
        .config("spark.scheduler.maxRegisteredResourcesWaitingTime", "120s")
        .config("spark.locality.wait", "0s")
        .config("spark.python.unix.domain.socket.enabled", "true")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def medians_of(query: sp.RunningQuery, warm_up: int, steps: int, names: tuple[str, ...]) -> dict[str, float]:
    """Medians over so many steps after the first ones, and how far commits are apart; then the query is stopped."""
    wait_until(lambda: len(query.metrics().recent) >= warm_up + steps or not query.is_active, WAIT_S)
    found = query.metrics().recent[warm_up : warm_up + steps]
    query.stop()
    if query.exception() is not None:
        raise RuntimeError("the benchmark query failed") from query.exception()
    if len(found) < 2:
        sys.exit(f"There were too few steps within {WAIT_S} s: is the machine busy?")
    apart_s = statistics.median(after.committed_at - before.committed_at for before, after in pairwise(found))
    return {"apart_ms": 1e3 * apart_s} | {
        name: statistics.median(getattr(step, name) for step in found) for name in names
    }


def parallel_share(speed_up: float, executors: int) -> float | None:
    """By Amdahl's law: what share of the work must run in parallel for this speed-up."""
    return (1 - 1 / speed_up) / (1 - 1 / executors) if executors > 1 else None


def with_speed_up(runs: list[dict[str, Any]]) -> None:
    """Note how much faster each window stage is than the first one, and the share that must be parallel for that."""
    for one in runs:
        one["speed_up"] = runs[0]["window_ms"] / one["window_ms"]
        one["parallel_share"] = parallel_share(one["speed_up"], one["executors"])


def speed_up_cells(one: dict[str, Any]) -> tuple[str, str, str]:
    """The last three columns of a table."""
    share = one["parallel_share"]
    return f"{one['window_ms']:,.0f} ms", f"{one['speed_up']:.2f} x", "" if share is None else f"{share:.0%}"
