"""The highest sustainable rate: a paced stream is raised and lowered until its lag just does not grow."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import SparkSession

from benchmarks.pipeline import skyline_query
from benchmarks.source import START_US, bench_stream


def keeps_up(spark: SparkSession, attributes: int, slide: str, rate: float, seconds: float, **how: Any) -> bool:
    """Whether, after a warm-up, the lag of the newest committed record behind the clock does not grow over the run.

    Lag is sampled at every commit. It "does not grow" if the least-squares slope over the measured part is below 3 % of
    real time: at 3 %, a run of 30 s would fall behind by less than one second.
    """
    df = bench_stream(spark, rate=rate, attributes=attributes)
    folder = Path(tempfile.mkdtemp(prefix="skypane-bench-"))
    query = skyline_query(df, attributes, slide, folder, **{"trigger": "500 milliseconds", **how})
    warm_up_s = 12.0
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
    return slope < 0.03


def highest_rate(
    spark: SparkSession, attributes: int, slide: str, start: float, seconds: float, rounds: int, **how: Any
) -> float:
    """Bisection between a rate that keeps up and one that does not, from a first guess."""
    low, high = 0.0, 0.0
    rate = start
    for _ in range(rounds):
        if keeps_up(spark, attributes, slide, rate, seconds, **how):
            low = max(low, rate)
        else:
            high = rate if high == 0 else min(high, rate)
        rate = (low + high) / 2 if low and high else rate * 1.5 if low else rate / 2
    return low
