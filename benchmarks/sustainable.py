"""The highest sustainable rate: a paced stream is raised and lowered until its lag just does not grow."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import SparkSession
from rich.table import Table

import skypane as sp
from benchmarks.pipeline import no_op_limit, skyline_query
from benchmarks.scenarios import ORIGINALS, OVERLAPS, SCENARIOS
from benchmarks.source import START_US, bench_stream

MAX_STEP_S = 2.0
"""From commit to commit: a record waits for the step that it comes in and for its own."""


def run(spark: SparkSession, quick: bool) -> dict[str, Any]:
    """Bisection on paced streams."""
    seconds, rounds = (10.0, 3) if quick else (30.0, 5)
    found: dict[str, Any] = {"scenarios": {}, "overlaps": {}}
    measured: dict[tuple[int, str, str | None], float] = {}
    for name, (attributes, slide, rate, how) in SCENARIOS.items():
        highest = highest_rate(spark, attributes, slide, rate, seconds, rounds, **how)
        limit = no_op_limit(spark, attributes, int(rate), 12)
        found["scenarios"][name] = {"records_per_s": highest, "no_op_records_per_s": limit}
        measured[attributes, slide, how.get("emit")] = highest
    for windows, slide in OVERLAPS.items():
        if (8, slide, "changes") not in measured:
            rate = highest_rate(spark, 8, slide, 150_000.0, seconds, rounds, emit="changes")
            measured[8, slide, "changes"] = rate
        found["overlaps"][windows] = measured[8, slide, "changes"]
    return found


def keeps_up(spark: SparkSession, attributes: int, slide: str, rate: float, seconds: float, **how: Any) -> bool:
    """Whether, after a warm-up, the lag of the newest committed record behind the clock does not grow over the run.

    Lag is sampled at every commit. It "does not grow" if the least-squares slope over the measured part is below 3 % of
    real time: at 3 %, a run of 30 s would fall behind by less than one second. Steps must
    stay short (:data:`MAX_STEP_S`): batches that grow until they pay are no way to keep up, and a few tell no slope.
    """
    df = bench_stream(spark, rate=rate, attributes=attributes)
    return lag_stays(
        lambda folder: skyline_query(df, attributes, slide, folder, **{"trigger": "500 milliseconds", **how}), seconds
    )


def lag_stays(start: Callable[[Path], sp.RunningQuery], seconds: float, warm_up_s: float = 12.0) -> bool:
    """Whether the lag of a query on a paced stream does not grow."""
    folder = Path(tempfile.mkdtemp(prefix="skypane-bench-"))
    query = start(folder)
    began = time.monotonic()
    while query.is_active and time.monotonic() - began < warm_up_s + seconds:
        time.sleep(0.2)
    query.stop()
    if query.exception() is not None:
        raise RuntimeError("the benchmark query failed") from query.exception()
    steps = [s for s in query.metrics().recent if s.t_max_us is not None]
    shutil.rmtree(folder, ignore_errors=True)
    clock = np.array([s.committed_at for s in steps])
    lag_s = clock - np.array([(s.t_max_us or 0) - START_US for s in steps]) / 1e6
    measured = clock >= clock[0] + warm_up_s
    if measured.sum() < 3:
        return False
    slope = float(np.polyfit(clock[measured], lag_s[measured], 1)[0])
    return slope < 0.03 and float(np.median(np.diff(clock[measured]))) < MAX_STEP_S


def highest_rate(
    spark: SparkSession, attributes: int, slide: str, start: float, seconds: float, rounds: int, **how: Any
) -> float:
    """Bisection between a rate that keeps up and one that does not, from a first guess."""
    return bisected(lambda rate: keeps_up(spark, attributes, slide, rate, seconds, **how), start, rounds)


def bisected(good: Callable[[float], bool], start: float, rounds: int) -> float:
    """The highest good rate found; 0 if none was."""
    low, high = 0.0, 0.0
    rate = start
    for _ in range(rounds):
        if good(rate):
            low = max(low, rate)
        else:
            high = rate if high == 0 else min(high, rate)
        rate = (low + high) / 2 if low and high else rate * 1.5 if low else rate / 2
    return low


def tables(found: dict[str, Any]) -> list[Table]:
    """Beside the C++ originals' reference figures, the limit of this run, and less overlap."""
    table = Table(title="Highest sustainable rate (bisection, lag does not grow)", title_justify="left")
    for column in ("what", "records/s", "C++ original (reference)", "ratio", "of the no-op mapInArrow limit"):
        table.add_column(column, justify="left" if column == "what" else "right")
    for name, measured in found["scenarios"].items():
        original, reference = ORIGINALS[name]
        rate = measured["records_per_s"]
        share = rate / measured["no_op_records_per_s"]
        table.add_row(name, f"{rate:,.0f}", f"{original} {reference:,.0f}", f"{rate / reference:.1f} x", f"{share:.0%}")
    least = found["overlaps"][min(found["overlaps"])]
    for windows, rate in found["overlaps"].items():
        table.add_row(f"8 attributes, w/s = {windows}, changes", f"{rate:,.0f}", "w/s = 5", f"{rate / least:.2f} x")
    return [table]
