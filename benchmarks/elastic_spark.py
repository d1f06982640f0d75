"""Elastic degrees on Spark: lag, latency and core-seconds on recorded arrival traces, and beside a CPU stressor.

With what the machine has: one core is ``fixed small``, all cores are ``fixed large``. A trace is played as fast as it
takes for the stream to need about :data:`MEAN_CORES` cores on average, which a first run measures.
"""

from __future__ import annotations

import multiprocessing
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
from pyspark.sql import SparkSession
from rich.table import Table

import skypane as sp
from benchmarks.kernels import data_folder
from skypane.spark.metrics import StepMetrics

ATTRIBUTES: Final = 8
MEAN_CORES: Final = 0.8
"""Of two: bursts need more than one core, quiet times much less."""
PERIOD: Final = "2.5 seconds"
WARM_UP_S: Final = 8.0
MOST_RECORDS_PER_STEP: Final = 400_000
"""Admission: what a step takes in at most, so that one that is late does not become later and later."""


def run(spark: SparkSession, quick: bool) -> dict[str, Any]:
    """Every controller on every trace, then one of them beside a stressor."""
    cores = int(spark.sparkContext.defaultParallelism)
    traces = sorted(data_folder().glob("arrivals-*.txt"))
    traces = [trace for trace in traces if not quick or "steps" in trace.name or "map" in trace.name]
    seconds = 20.0 if quick else 60.0
    found: dict[str, Any] = {"cores": cores, "seconds": seconds, "traces": {}}
    for trace in traces:
        speedup = calibrated(spark, trace, cores)
        runs = {name: measure(spark, trace, speedup, seconds, how) for name, how in ways(cores).items()}
        found["traces"][trace.stem.removeprefix("arrivals-")] = {"speedup": speedup, "runs": runs}
    if traces:
        found["stressed"] = stressed(spark, next(t for t in traces if "steps" in t.name), cores, seconds)
    return found


def ways(cores: int) -> dict[str, dict[str, Any]]:
    """Two fixed degrees, and who decides otherwise."""
    fixed = {f"fixed {n}": {"pane_degree": n, "degree": n} for n in (1, cores)}
    by_name = {name: {"elastic": sp.Elastic(controller=name, period=PERIOD)} for name in ("threshold", "ds2", "fuzzy")}
    return {**fixed, **by_name}


def calibrated(spark: SparkSession, trace: Path, cores: int) -> float:
    """How much faster than recorded the trace needs :data:`MEAN_CORES`; the work of a record hardly depends on it."""
    steps = played(spark, trace, 1.0, 12.0, {"pane_degree": cores, "degree": cores})
    work_s, covered_s = cores * sum(map(busy_ms, steps[1:])) / 1e3, max(1, covered_us(steps)) / 1e6
    return round(min(20.0, max(0.05, MEAN_CORES * covered_s / max(1e-3, work_s))), 2)


def busy_ms(step: StepMetrics) -> float:
    """How long all slots would have been busy."""
    return (step.pane_utilization or 0.0) * step.pane_ms + (step.window_utilization or 0.0) * step.window_ms


def covered_us(steps: Sequence[StepMetrics]) -> int:
    """How much of the stream some steps have covered."""
    times = [step.t_max_us for step in steps if step.t_max_us is not None]
    return times[-1] - times[0] if times else 0


def measure(
    spark: SparkSession, trace: Path, speedup: float, seconds: float, how: dict[str, Any], stressor: bool = False
) -> dict[str, Any]:
    """One run, without its warm-up."""
    steps = played(spark, trace, speedup, WARM_UP_S + seconds, how, stressor_at_s=WARM_UP_S if stressor else None)
    clock = np.array([step.committed_at for step in steps])
    kept = clock >= clock[0] + WARM_UP_S
    steps, clock = [step for step, keep in zip(steps, kept, strict=True) if keep], clock[kept]
    if len(steps) < 3:
        return {"steps": len(steps)}
    # Event times are those of the clock when the stream began, so their distance is how far answers are behind.
    lag_s = np.array([step_lag_s(step) for step in steps])
    latency_ms = [step.window_latency_ms for step in steps if step.window_latency_ms is not None]
    degrees = np.array([max(step.pane_degree or 1, step.window_degree) for step in steps], dtype=float)
    reserved = float((degrees[1:] * np.diff(clock)).sum())
    turns = np.sign(np.diff(degrees))
    turns = turns[turns != 0]
    return {
        "steps": len(steps),
        "lag_s": float(np.median(lag_s)),
        "most_lag_s": float(lag_s.max()),
        "lag_growth": float(np.polyfit(clock, lag_s, 1)[0]),
        "p99_latency_ms": float(np.percentile(latency_ms, 99)) if latency_ms else None,
        "core_s": reserved,
        "core_share": reserved / float(clock[-1] - clock[0]),
        "reversals": int((turns[1:] != turns[:-1]).sum()),
        "most_backlog_ms": max((s.elastic.backlog_ms or 0.0 for s in steps if s.elastic), default=None),
        "degrees": degrees.astype(int).tolist(),
    }


def step_lag_s(step: StepMetrics) -> float:
    """How long ago the newest record of a step happened when the step was committed."""
    committed_us = time.time() * 1e6 - (time.perf_counter() - step.committed_at) * 1e6
    return (committed_us - (step.t_max_us or committed_us)) / 1e6


def played(
    spark: SparkSession,
    trace: Path,
    speedup: float,
    seconds: float,
    how: dict[str, Any],
    stressor_at_s: float | None = None,
) -> list[StepMetrics]:
    """The steps of a query over the trace at its own pace."""
    options: dict[str, Any] = {
        "arrivals": "trace",
        "trace": str(trace),
        "speedup": speedup,
        "paced": "true",
        "attributes": ATTRIBUTES,
        "keys": 16,
        "partitions": int(spark.sparkContext.defaultParallelism),
        "mean_delay": "200 ms",
        "max_records_per_batch": MOST_RECORDS_PER_STEP,
        "seed": 5,
    }
    df = spark.readStream.format("skypane-traffic").options(**options).load()
    attributes = [f"a{i}" for i in range(ATTRIBUTES)]
    folder = Path(tempfile.mkdtemp(prefix="skypane-bench-"))
    query = (
        sp.stream(df, time="ts", key="key")
        .window("1 second", slide="200 milliseconds")
        .skyline(minimize=attributes)
        .parallel(inline_rows=0, **how)
        .start(sink=sp.DiscardSink(), checkpoint=folder / "checkpoint")
    )
    began = time.monotonic()
    with stressing(began, stressor_at_s):
        while query.is_active and time.monotonic() - began < seconds:
            time.sleep(0.2)
        query.stop()
    if query.exception() is not None:
        raise RuntimeError("the benchmark query failed") from query.exception()
    shutil.rmtree(folder, ignore_errors=True)
    return [step for step in query.metrics().recent if step.t_max_us is not None]


@contextmanager
def stressing(began: float, at_s: float | None) -> Iterator[None]:
    """From some second on, another program takes half of the machine."""
    if at_s is None:
        yield
        return
    over = threading.Event()
    programs: list[multiprocessing.process.BaseProcess] = []

    def begin() -> None:
        if not over.wait(max(0.0, began + at_s - time.monotonic())):
            for _ in range(max(1, multiprocessing.cpu_count() // 2)):
                program = multiprocessing.get_context("spawn").Process(target=burn, daemon=True)
                program.start()
                programs.append(program)

    thread = threading.Thread(target=begin)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        for program in programs:
            program.kill()
            program.join()


def burn() -> None:
    """Use one core, until it is ended."""
    while True:
        sum(i * i for i in range(10_000))


def stressed(spark: SparkSession, trace: Path, cores: int, seconds: float) -> dict[str, Any]:
    """A stream that needs a good half of one core; then half of the machine is taken."""
    speedup = calibrated(spark, trace, cores) * 0.7
    elastic = {"elastic": sp.Elastic(period=PERIOD)}
    fixed = {"pane_degree": 1, "degree": 1}
    return {
        "elastic": measure(spark, trace, speedup, seconds, elastic, stressor=True),
        "fixed 1": measure(spark, trace, speedup, seconds, fixed, stressor=True),
    }


def tables(found: dict[str, Any]) -> list[Table]:
    """A row for each run."""
    table = Table(
        title=f"Elastic degrees on Spark, {found['cores']} cores, {found['seconds']:.0f} s", title_justify="left"
    )
    columns = (
        "trace",
        "degrees by",
        "cores (mean)",
        "lag, median s",
        "most",
        "p99 latency s",
        "reversals",
        "backlog s",
    )
    for column in columns:
        table.add_column(column, justify="left" if column in columns[:2] else "right")
    for name, trace in found["traces"].items():
        for how, run_ in trace["runs"].items():
            table.add_row(f"{name} x {trace['speedup']:g}", how, *_cells(run_))
    for how, run_ in found.get("stressed", {}).items():
        table.add_row("steps, stressor", how, *_cells(run_))
    return [table]


def _cells(measured: dict[str, Any]) -> list[str]:
    if "lag_s" not in measured:
        return [f"{measured['steps']} steps only"]
    latency, backlog = measured["p99_latency_ms"], measured["most_backlog_ms"]
    return [
        f"{measured['core_share']:.2f}",
        f"{measured['lag_s']:.2f}",
        f"{measured['most_lag_s']:.2f}",
        "-" if latency is None else f"{latency / 1e3:.2f}",
        str(measured["reversals"]),
        "-" if backlog is None else f"{backlog / 1e3:.1f}",
    ]
