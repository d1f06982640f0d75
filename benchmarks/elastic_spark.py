"""Elastic degrees on Spark: lag, latency and core-seconds on recorded arrival traces, and beside a CPU stressor.

With what the machine has: one core is ``fixed 1``, all cores are ``fixed N``. A trace is squeezed into the time of one
run, at a rate at which the stream needs about :data:`MEAN_CORES` cores on average, which a first run measures.
"""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession
from rich.table import Table

import skypane as sp
from benchmarks.elastic_runs import run_query, squeezed, summary
from benchmarks.kernels import data_folder
from skypane.api.stream import ContinuousQuery
from skypane.spark.metrics import StepMetrics

ATTRIBUTES: Final = 8
MEAN_CORES: Final = 0.8
"""Of two: bursts need more than one core, quiet times much less."""
MOST_STEP_S: Final = 4.0
"""Admission: a step takes in at most what one core does in so long, so that one that is late becomes no later."""
PERIOD: Final = "2.5 seconds"
WARM_UP_S: Final = 6.0
CONTROLLERS: Final = ("threshold", "ds2", "fuzzy")
CALIBRATION_RATE: Final = 20_000.0


def run(spark: SparkSession, quick: bool) -> dict[str, Any]:
    """Every controller on every trace, then beside a stressor; quick: one trace and the controllers in question."""
    cores = int(spark.sparkContext.defaultParallelism)
    folder = Path(tempfile.mkdtemp(prefix="skypane-bench-"))
    traces = [trace for trace in sorted(data_folder().glob("arrivals-*.txt")) if not quick or "elastic" in trace.name]
    controllers = CONTROLLERS[1:] if quick else CONTROLLERS
    seconds = 16.0 if quick else 32.0
    per_record_s = calibrated(spark, cores)
    rate = MEAN_CORES / per_record_s
    found: dict[str, Any] = {"cores": cores, "seconds": seconds, "records_per_s": round(rate), "traces": {}}
    for trace in traces:
        path, _ = squeezed(trace, folder, WARM_UP_S + seconds, rate)
        stream = {"arrivals": "trace", "trace": str(path), "max_records_per_batch": round(MOST_STEP_S / per_record_s)}
        runs = {name: measure(spark, stream, seconds, how) for name, how in ways(cores, controllers).items()}
        found["traces"][trace.stem.removeprefix("arrivals-")] = {"runs": runs}
    found["waiting"] = waiting(traces, seconds, controllers)
    found["stressed"] = stressed(spark, per_record_s, seconds)
    return found


def waiting(traces: Sequence[Path], seconds: float, controllers: Sequence[str]) -> dict[str, Any]:
    """Work that waits, on more slots than there are cores, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.elastic_waiting", str(seconds), ",".join(controllers)]
    said = subprocess.run(
        [*command, *map(str, traces)], stdout=subprocess.PIPE, check=True, cwd=Path(__file__).parents[1]
    )
    found: dict[str, Any] = json.loads(said.stdout.splitlines()[-1])
    return found


def ways(cores: int, controllers: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Two fixed degrees, and who decides otherwise."""
    fixed = {f"fixed {n}": {"pane_degree": n, "degree": n} for n in (1, cores)}
    return fixed | {name: {"elastic": sp.Elastic(controller=name, period=PERIOD)} for name in controllers}


def calibrated(spark: SparkSession, cores: int) -> float:
    """Seconds of work for a record, which hardly depend on the rate."""
    stream = {"arrivals": "poisson", "rate": CALIBRATION_RATE}
    steps = run_query(skyline(spark, stream, {"pane_degree": cores, "degree": cores}), WARM_UP_S + 8.0)[2:]
    if not steps:
        sys.exit(f"There were too few steps in {WARM_UP_S + 8.0:.0f} s: is the machine busy?")
    return cores * sum(map(busy_ms, steps)) / 1e3 / sum(step.records for step in steps)


def busy_ms(step: StepMetrics) -> float:
    """How long all slots would have been busy."""
    return (step.pane_utilization or 0.0) * step.pane_ms + (step.window_utilization or 0.0) * step.window_ms


def measure(
    spark: SparkSession, stream: dict[str, Any], seconds: float, how: dict[str, Any], *, stressor: bool = False
) -> dict[str, Any]:
    """One run, without its warm-up."""
    beside = stressing(WARM_UP_S + seconds / 3) if stressor else None
    return summary(run_query(skyline(spark, stream, how), WARM_UP_S + seconds, beside), WARM_UP_S)


def skyline(spark: SparkSession, stream: dict[str, Any], how: dict[str, Any]) -> ContinuousQuery:
    """A query over a stream at its own pace."""
    options: dict[str, Any] = {
        "paced": "true",
        "attributes": ATTRIBUTES,
        "keys": 16,
        "partitions": int(spark.sparkContext.defaultParallelism),
        "mean_delay": "200 ms",
        "seed": 5,
        **stream,
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


def stressed(spark: SparkSession, per_record_s: float, seconds: float) -> dict[str, Any]:
    """Half of the machine is taken: from a stream that leaves room to grow, and from one that does not."""
    elastic, fixed = {"elastic": sp.Elastic(period=PERIOD)}, {"pane_degree": 1, "degree": 1}
    found: dict[str, Any] = {}
    for name, cores, how in (
        ("0.5 cores, fixed 1", 0.5, fixed),
        ("0.5 cores, elastic", 0.5, elastic),
        ("1.6 cores, elastic", 1.6, elastic),
    ):
        limit = round(MOST_STEP_S / per_record_s)
        stream = {"arrivals": "poisson", "rate": cores / per_record_s, "max_records_per_batch": limit}
        found[name] = measure(spark, stream, seconds, how, stressor=True)
    return found


def tables(found: dict[str, Any]) -> list[Table]:
    """A row for each run."""
    title = f"Elastic degrees on Spark, {found['cores']} cores, {found['seconds']:.0f} s"
    table = Table(title=title, title_justify="left")
    columns = ("trace", "degrees by", "cores", "lag, median s", "most", "last", "step, most", "latency p99", "turns")
    for column in columns:
        table.add_column(column, justify="left" if column in columns[:2] else "right")
    groups = [(f"{name}", trace["runs"]) for name, trace in found["traces"].items()]
    groups += [(f"{name}, work that waits", trace["runs"]) for name, trace in found["waiting"].items()]
    groups += [("stressor", found.get("stressed", {}))]
    limits = []
    for name, runs in groups:
        for how, one in runs.items():
            table.add_row(name, how, *_cells(one))
            limits += [f"{name}, {how}: {one['limit']}"] if one.get("limit") else []
    table.caption = "\n".join(limits) or None
    return [table]


def _cells(measured: dict[str, Any]) -> list[str]:
    if "lag_s" not in measured:
        return [f"{measured['steps']} steps only"]
    latency = measured["p99_latency_ms"]
    return [
        f"{measured['core_share']:.2f}",
        *(f"{measured[name]:.1f}" for name in ("lag_s", "most_lag_s", "last_lag_s", "longest_step_s")),
        "-" if latency is None else f"{latency / 1e3:.1f} s",
        str(measured["reversals"]),
    ]
