"""Elastic runs: a query over a stream that ends, until it has taken in all of it, and what came of its steps.

Runs are cut by the stream, not by the clock: each has the same records and the same work, and where it is measured from
is a time of the stream. A busy machine makes steps longer, and a run with them, but not other steps of another stream.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from pyspark.sql import SparkSession

import skypane as sp
from skypane.api.continuous_query import ContinuousQuery
from skypane.spark.metrics import StepMetrics

PERIOD: Final = "2.5 seconds"
WARM_UP_S: Final = 8.0
"""Of the stream: the first steps of a run start Python and compile what Spark makes of the query."""
LEAST_STEPS: Final = 5
"""Fewer do not suffice for a figure."""
Rows = dict[str, "np.ndarray[Any, Any]"]
Over = Callable[[Sequence[StepMetrics]], bool]
"""Whether a run is over, by its steps so far."""


def squeezed(trace: Path, folder: Path, seconds: float, records_per_s: float) -> tuple[dict[str, Any], float]:
    """A stream with the ups and downs of a trace in so many seconds, at this mean rate; and its highest second over it.

    It ends after them.
    """
    counts = np.array([float(line.split()[1]) for line in trace.read_text().splitlines() if line.strip()])
    width = max(1, int(len(counts) // seconds))
    means = counts[: len(counts) // width * width].reshape(-1, width).mean(axis=1)[: round(seconds)]
    scaled = np.round(means / means.mean() * records_per_s).astype(int)
    path = folder / trace.name
    path.write_text("".join(f"{second} {count}\n" for second, count in enumerate(scaled.tolist())))
    stream = {"arrivals": "trace", "trace": str(path), "records": int(scaled.sum())}
    return stream, float(means.max() / means.mean())


def fixed_degree(tasks: int) -> dict[str, Any]:
    """Options of ``parallel`` for so many tasks of both stages, none of which runs in the driver."""
    return {"degree": tasks, "tuning": sp.Tuning(pane_degree=tasks, inline_rows=0)}


def function_query(
    spark: SparkSession, stream: dict[str, Any], work: Callable[[int], None], how: dict[str, Any]
) -> ContinuousQuery:
    """A function over windows that does this for so many records, on a stream at its own pace."""
    options: dict[str, Any] = {"paced": "true", "attributes": 1, "keys": 64, "partitions": 1, "seed": 5}
    df = spark.readStream.format("skypane-traffic").options(**{**options, "disorder": "none", **stream}).load()

    def count(rows: Rows) -> dict[str, int]:
        work(len(rows["id"]))
        return {"n": len(rows["id"])}

    count.__annotations__["rows"] = dict
    windows = sp.stream(df, time="ts", key="key").window("500 milliseconds")
    return windows.apply(count, "n long").parallel(**{"tuning": sp.Tuning(inline_rows=0), **how})


def run_query(query: ContinuousQuery, over: Over, max_s: float) -> list[StepMetrics]:
    """The steps until it is over by what they say, or so many seconds after the first of them."""
    folder = Path(tempfile.mkdtemp(prefix="skypane-bench-"))
    running = query.start(sink=sp.DiscardSink(), checkpoint=folder / "checkpoint")
    first = None
    while running.is_active and not over(steps := _with_records(running)):
        now = time.monotonic()
        first = now if first is None and steps else first
        if first is not None and now - first > max_s:
            break
        time.sleep(0.2)
    running.stop()
    if running.exception() is not None:
        raise RuntimeError("the benchmark query failed") from running.exception()
    shutil.rmtree(folder, ignore_errors=True)
    return _with_records(running)


def all_of(records: int) -> Over:
    """A run is over when so many are through."""
    return lambda steps: sum(step.records for step in steps) >= records


def _with_records(running: sp.RunningQuery) -> list[StepMetrics]:
    return [step for step in running.metrics().recent if step.t_max_us is not None and step.records]


def warm(steps: Sequence[StepMetrics]) -> list[StepMetrics]:
    """Those after the warm-up, by the time of the stream."""
    began_us = min((step.t_max_us or 0 for step in steps), default=0)
    return [step for step in steps if (step.t_max_us or 0) >= began_us + WARM_UP_S * 1e6]


def covered_s(steps: Sequence[StepMetrics]) -> float:
    """How much of the stream they have moved on."""
    return ((steps[-1].t_max_us or 0) - (steps[0].t_max_us or 0)) / 1e6


def summary(steps: Sequence[StepMetrics]) -> dict[str, Any]:
    """What counts of these steps."""
    if len(steps) < LEAST_STEPS:
        return {"steps": len(steps)}
    clock = np.array([step.committed_at for step in steps])
    lag_s = np.array([step_lag_s(step) for step in steps])
    latency_ms = [step.window_latency_ms for step in steps if step.window_latency_ms is not None]
    degrees = np.array([max(step.pane_degree or 1, step.window_degree) for step in steps], dtype=float)
    core_s = float((degrees[1:] * np.diff(clock)).sum())
    turns = np.sign(np.diff(degrees))
    turns = turns[turns != 0]
    return {
        "steps": len(steps),
        "records": sum(step.records for step in steps),
        "lag_s": float(np.median(lag_s)),
        "most_lag_s": float(lag_s.max()),
        "last_lag_s": float(lag_s[-1]),
        "longest_step_s": float(np.diff(clock).max()),
        "p99_latency_ms": float(np.percentile(latency_ms, 99)) if latency_ms else None,
        "core_s": core_s,
        "mean_degree": core_s / float(clock[-1] - clock[0]),
        "core_share": core_s / max(1e-3, covered_s(steps)),
        "reversals": int((turns[1:] != turns[:-1]).sum()),
        "rho": _median([s.elastic.rho_windows for s in steps if s.elastic]),
        "most_backlog_ms": max((s.elastic.backlog_ms or 0.0 for s in steps if s.elastic), default=None),
        "limit": next((s.elastic.limit for s in reversed(steps) if s.elastic and s.elastic.limit), None),
        "degrees": degrees.astype(int).tolist(),
    }


def _median(told: Sequence[float | None]) -> float | None:
    known = [value for value in told if value is not None]
    return float(np.median(known)) if known else None


def step_lag_s(step: StepMetrics) -> float:
    """How long ago the newest record of a step happened when it was committed: streams begin at the clock's time."""
    committed_us = wall_s(step) * 1e6
    return (committed_us - (step.t_max_us or committed_us)) / 1e6


def wall_s(step: StepMetrics) -> float:
    """When it was committed, as a time of day."""
    return time.time() - (time.perf_counter() - step.committed_at)
