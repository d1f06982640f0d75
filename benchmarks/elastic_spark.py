"""Elastic degrees on Spark: lag, latency and core-seconds on recorded arrival traces, and beside a CPU stressor.

With what the machine has: one core is ``fixed 1``, all cores are ``fixed N``. A trace is squeezed into the time of one
run, at a rate at which the stream needs about :data:`MEAN_CORES` cores on average, which a first run measures.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from pyspark.sql import SparkSession
from rich.table import Table

import skypane as sp
from benchmarks.elastic_runs import PERIOD, WARM_UP_S, all_of, fixed_degree, run_query, squeezed, summary, warm
from benchmarks.kernels import data_folder
from skypane.api.continuous_query import ContinuousQuery
from skypane.spark.metrics import StepMetrics

ATTRIBUTES: Final = 8
MEAN_CORES: Final = 0.5
"""Of two: bursts need more than one core, quiet times much less."""
MAX_STEP_S: Final = 1.5
"""Admission: a step takes in at most what one core does in so long, so that one that is late becomes no later."""
CONTROLLERS: Final = ("threshold", "ds2", "fuzzy")
CALIBRATION_RATE: Final = 20_000.0
CALIBRATION_S: Final = 10.0
LENGTHS: Final = {True: (20.0, 12.0, 20.0), False: (24.0, 16.0, 32.0)}
"""Seconds of a trace, and of the run beside a stressor before and after that begins; quick, and not."""


def run(spark: SparkSession, quick: bool) -> dict[str, Any]:
    """Every controller on every trace, then beside a stressor; quick: one trace and the controllers in question."""
    cores = int(spark.sparkContext.defaultParallelism)
    folder = Path(tempfile.mkdtemp(prefix="skypane-bench-"))
    traces = sorted(data_folder().glob("arrivals-*elastic.txt" if quick else "arrivals-*.txt"))
    controllers = CONTROLLERS[1:] if quick else CONTROLLERS
    seconds, *around = LENGTHS[quick]
    per_record_s = calibrated(spark, cores)
    rate = MEAN_CORES / per_record_s
    found: dict[str, Any] = {"cores": cores, "seconds": seconds, "records_per_s": round(rate), "traces": {}}
    for trace in traces:
        stream, _ = squeezed(trace, folder, WARM_UP_S + seconds, rate)
        stream["max_records_per_batch"] = round(MAX_STEP_S / per_record_s)
        runs: dict[str, Any] = {}
        found["traces"][trace.stem.removeprefix("arrivals-")] = {"runs": runs}
        for name, how in ways(cores, controllers).items():
            runs[name] = measure(spark, stream, how, 4 * (WARM_UP_S + seconds))
            print(trace.stem, name, json.dumps(runs[name]), file=sys.stderr, flush=True)
    found["waiting"] = apart("elastic_waiting", seconds, ",".join(controllers), *traces)
    found["stressed"] = apart("elastic_stressed", *around)
    return found


def apart(module: str, *arguments: object) -> dict[str, Any]:
    """In a process of its own: slots belong to the session."""
    command = [sys.executable, "-m", f"benchmarks.{module}", *map(str, arguments)]
    said = subprocess.run(command, stdout=subprocess.PIPE, check=True, cwd=Path(__file__).parents[1])
    found: dict[str, Any] = json.loads(said.stdout.splitlines()[-1])
    return found


def ways(cores: int, controllers: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Two fixed degrees, and who decides otherwise."""
    fixed = {f"fixed {n}": fixed_degree(n) for n in (1, cores)}
    return fixed | {name: {"elastic": sp.Elastic(controller=name, period=PERIOD)} for name in controllers}


def calibrated(spark: SparkSession, cores: int) -> float:
    """Seconds of work for a record, which hardly depend on the rate."""
    records = round(CALIBRATION_RATE * CALIBRATION_S)
    stream = {"arrivals": "poisson", "rate": CALIBRATION_RATE, "records": records}
    query = skyline(spark, {**stream, "max_records_per_batch": records // 8}, fixed_degree(cores))
    # The first steps are cold; of the others each says the same, but for what else the machine does.
    steps = run_query(query, all_of(records), 300.0)[2:]
    costs_s = [cores * busy_ms(step) / 1e3 / step.records for step in steps]
    if not costs_s:
        sys.exit("There were too few steps to measure anything.")
    return float(np.median(costs_s))


def busy_ms(step: StepMetrics) -> float:
    """How long all slots would have been busy."""
    return (step.pane_utilization or 0.0) * step.pane_ms + (step.window_utilization or 0.0) * step.window_ms


def measure(spark: SparkSession, stream: dict[str, Any], how: dict[str, Any], max_s: float) -> dict[str, Any]:
    """One run, without its warm-up."""
    return summary(warm(run_query(skyline(spark, stream, how), all_of(stream["records"]), max_s)))


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
    return windows.skyline(minimize=[f"a{i}" for i in range(ATTRIBUTES)]).parallel(
        **{"tuning": sp.Tuning(inline_rows=0), **how}
    )


def tables(found: dict[str, Any]) -> list[Table]:
    """The traces, then the stressor."""
    return [_traces(found), _stressed(found["stressed"])]


def _table(title: str, columns: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, justify="left" if column in columns[:2] else "right")
    return table


def _traces(found: dict[str, Any]) -> Table:
    """A row for each run."""
    columns = ("trace", "degrees by", "steps", "core-s", "cores", "lag, median s", "most", "last")
    table = _table(
        f"Elastic degrees on Spark, {found['cores']} cores, {found['seconds']:.0f} s of the stream",
        (*columns, "step, most s", "latency p99 s", "turns"),
    )
    groups = [(f"{name}", trace["runs"]) for name, trace in found["traces"].items()]
    groups += [(f"{name}, work that waits", trace["runs"]) for name, trace in found["waiting"].items()]
    limits = []
    for name, runs in groups:
        for how, one in runs.items():
            table.add_row(name, how, *_cells(one))
            limits += [f"{name}, {how}: {one['limit']}"] if one.get("limit") else []
    table.caption = "\n".join(limits) or None
    return table


def _cells(measured: dict[str, Any]) -> list[str]:
    if "lag_s" not in measured:
        return [str(measured["steps"]), "too few steps"]
    latency = measured["p99_latency_ms"]
    return [
        str(measured["steps"]),
        f"{measured['core_s']:.0f}",
        f"{measured['core_share']:.2f}",
        *(f"{measured[name]:.1f}" for name in ("lag_s", "most_lag_s", "last_lag_s", "longest_step_s")),
        "-" if latency is None else f"{latency / 1e3:.1f}",
        str(measured["reversals"]),
    ]


def _stressed(found: dict[str, Any]) -> Table:
    """Before and after."""
    columns = ("cores needed", "degrees by", "stressor takes", "", "steps", "mean degree", "utilization")
    title = f"Beside a CPU stressor from mid-run on (figure 18), {found['cores']} cores, {found['slots']} slots"
    table = _table(title, (*columns, "lag, median s", "last", "step, most s"))
    limits = []
    for one in found["runs"]:
        share = one["stressor_share"]
        for when in ("before", "after"):
            part, takes = one[when], "-" if when == "before" or share is None else f"{share:.0%}"
            row = (f"{one['cores_needed']:.2f}", one["degrees_by"], takes, when, str(part["steps"]))
            table.add_row(*row, *_part_cells(part))
            limits += [f"{row[0]}, {row[1]}, {when}: {part['limit']}"] if part.get("limit") else []
    table.caption = "\n".join(limits) or None
    return table


def _part_cells(part: dict[str, Any]) -> list[str]:
    if "lag_s" not in part:
        return ["too few steps"]
    rho = part["rho"]
    names = ("lag_s", "last_lag_s", "longest_step_s")
    return [
        f"{part['mean_degree']:.1f}",
        "-" if rho is None else f"{rho:.2f}",
        *(f"{part[name]:.1f}" for name in names),
    ]
