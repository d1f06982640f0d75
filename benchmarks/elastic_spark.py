"""Elastic degrees on Spark: lag, latency and core-seconds on recorded arrival traces, and beside a CPU stressor.

With what the machine has: one core is ``fixed small``, all cores are ``fixed large``. A trace is played as fast as it
takes for the stream to need about :data:`MEAN_CORES` cores on average, which a first run measures.
"""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession
from rich.table import Table

import skypane as sp
from benchmarks.elastic_runs import run_query, summary
from benchmarks.kernels import data_folder
from skypane.api.stream import ContinuousQuery
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
    found["waiting"] = waiting(traces, seconds)
    if traces:
        found["stressed"] = stressed(spark, next(t for t in traces if "steps" in t.name), cores, seconds)
    return found


def waiting(traces: Sequence[Path], seconds: float) -> dict[str, Any]:
    """Work that waits, on more slots than there are cores, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.elastic_waiting", str(seconds), *map(str, traces)]
    said = subprocess.run(command, stdout=subprocess.PIPE, check=True, cwd=Path(__file__).parents[1])
    found: dict[str, Any] = json.loads(said.stdout.splitlines()[-1])
    return found


def ways(cores: int) -> dict[str, dict[str, Any]]:
    """Two fixed degrees, and who decides otherwise."""
    fixed = {f"fixed {n}": {"pane_degree": n, "degree": n} for n in (1, cores)}
    by_name = {name: {"elastic": sp.Elastic(controller=name, period=PERIOD)} for name in ("threshold", "ds2", "fuzzy")}
    return {**fixed, **by_name}


def calibrated(spark: SparkSession, trace: Path, cores: int) -> float:
    """How much faster than recorded the trace needs :data:`MEAN_CORES`; the work of a record hardly depends on it."""
    steps = run_query(skyline(spark, trace, 1.0, {"pane_degree": cores, "degree": cores}), WARM_UP_S + 12.0)
    steps = [step for step in steps if step.committed_at > steps[0].committed_at + WARM_UP_S]
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
    spark: SparkSession, trace: Path, speedup: float, seconds: float, how: dict[str, Any], *, stressor: bool = False
) -> dict[str, Any]:
    """One run, without its warm-up."""
    beside = stressing(WARM_UP_S + seconds / 3) if stressor else None
    return summary(run_query(skyline(spark, trace, speedup, how), WARM_UP_S + seconds, beside), WARM_UP_S)


def skyline(spark: SparkSession, trace: Path, speedup: float, how: dict[str, Any]) -> ContinuousQuery:
    """A query over the trace at its own pace."""
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
    windows = sp.stream(df, time="ts", key="key").window("1 second", slide="200 milliseconds")
    return windows.skyline(minimize=[f"a{i}" for i in range(ATTRIBUTES)]).parallel(inline_rows=0, **how)


@contextmanager
def stressing(after_s: float) -> Iterator[None]:
    """After so many seconds, another program takes half of the machine."""
    over = threading.Event()
    programs: list[multiprocessing.process.BaseProcess] = []

    def begin() -> None:
        if not over.wait(after_s):
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
    for name, trace in found["waiting"].items():
        for how, run_ in trace["runs"].items():
            table.add_row(f"{name}, work that waits", how, *_cells(run_))
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
