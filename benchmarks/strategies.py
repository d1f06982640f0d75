"""Strategies side by side on a bursty stream: throughput as fast as batches are taken, window latency at a set pace."""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import SparkSession
from rich.table import Table

import skypane as sp
from benchmarks.pipeline import skyline_query, wait_until
from skypane.scheduling.batch_plan import SPLITTINGS
from skypane.spark.metrics import StepMetrics
from skypane.spark.sources import register_sources

ATTRIBUTES = 6
SLIDE = "200 milliseconds"
DISPERSION = 1000
RATE, PACED_RATE = 200_000, 30_000
"""Records per second: of event time where batches are taken as fast as possible, of the clock where they are paced."""
BATCH = 100_000
WARM_UP_STEPS = 3
COLUMNS = {
    "records_per_s": ("records/s", "{:,.0f}"),
    "pane_ms": ("pane stage", "{:,.0f} ms"),
    "window_ms": ("window stage", "{:,.0f} ms"),
    "splitting_factor": ("shards per pane", "{:.2f}"),
    "imbalance": ("imbalance", "{:.2f}"),
    "pane_utilization": ("utilization", "{:.0%}"),
    "selected_per_pane": ("rows per pane", "{:,.0f}"),
    "median_latency_ms": ("latency, median", "{:,.0f} ms"),
    "p99_latency_ms": ("latency, p99", "{:,.0f} ms"),
}


def run(spark: SparkSession, quick: bool) -> dict[str, Any]:
    """Every strategy in turn, and that several times: a machine that is shared has better and worse minutes."""
    rounds, steps, seconds = (1, 8, 10.0) if quick else (3, 12, 15.0)
    register_sources(spark)
    maxed(spark, SPLITTINGS[0], 2)  # whoever comes first would pay for compiling and for starting workers
    found: dict[str, list[dict[str, float]]] = {name: [] for name in SPLITTINGS}
    for _ in range(rounds):
        for name in SPLITTINGS:
            found[name].append({**maxed(spark, name, steps), **paced(spark, name, seconds)})
    return {
        "stream": {"arrivals": "map", "dispersion": DISPERSION, "attributes": ATTRIBUTES, "slide": SLIDE},
        "batch": BATCH,
        "paced_rate": PACED_RATE,
        "rounds": rounds,
        "strategies": {name: _medians(rows) for name, rows in found.items()},
        "all_rounds": found,
    }


def maxed(spark: SparkSession, splitting: str, steps: int) -> dict[str, float]:
    """Records per second as fast as the query takes batches, and what its pane stage looked like."""
    done = _measured(spark, splitting, {"rate": RATE, "max_records_per_batch": BATCH}, "0 seconds", steps=steps)
    seconds = done[-1].committed_at - done[0].committed_at
    names = ("pane_ms", "window_ms", "splitting_factor", "imbalance", "pane_utilization", "selected_per_pane")
    values = {name: [v for step in done if (v := getattr(step, name)) is not None] for name in names}
    return {
        "records_per_s": sum(step.records for step in done[1:]) / seconds,
        **{name: statistics.median(numbers) for name, numbers in values.items() if numbers},
    }


def paced(spark: SparkSession, splitting: str, seconds: float) -> dict[str, float]:
    """Window latency, one value per step with answers, at a rate that every strategy can keep."""
    options = {"rate": PACED_RATE, "paced": "true"}
    done = _measured(spark, splitting, options, "200 milliseconds", seconds=seconds)
    latencies = [step.window_latency_ms for step in done if step.window_latency_ms is not None]
    if not latencies:
        return {}
    return {
        "median_latency_ms": float(np.percentile(latencies, 50)),
        "p99_latency_ms": float(np.percentile(latencies, 99)),
    }


def _measured(
    spark: SparkSession,
    splitting: str,
    options: dict[str, Any],
    trigger: str,
    *,
    steps: int | None = None,
    seconds: float = 0.0,
) -> Sequence[StepMetrics]:
    """The steps of one run, without the first few."""
    fixed: dict[str, Any] = {
        "arrivals": "map",
        "dispersion": DISPERSION,
        "attributes": ATTRIBUTES,
        "partitions": 2,
        "seed": 7,
    }
    df = spark.readStream.format("skypane-traffic").options(**fixed, **options).load()
    folder = Path(tempfile.mkdtemp(prefix="skypane-bench-"))
    query = skyline_query(df, ATTRIBUTES, SLIDE, folder, splitting=splitting, trigger=trigger, sink=sp.DiscardSink())
    wait_until(lambda: query.metrics().steps >= WARM_UP_STEPS + (steps or 0) or not query.is_active)
    began = time.monotonic()
    wait_until(lambda: time.monotonic() - began >= seconds or not query.is_active)
    query.stop()
    shutil.rmtree(folder, ignore_errors=True)
    if query.exception() is not None:
        raise RuntimeError("the benchmark query failed") from query.exception()
    return query.metrics().recent[WARM_UP_STEPS:]


def _medians(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.median(row[name] for row in rows if name in row) for name in rows[0]}


def table(found: dict[str, Any]) -> Table:
    """One line for each strategy."""
    shown = Table(
        title=f"Pane strategies, MAP arrivals, I = {DISPERSION}, {ATTRIBUTES} attributes, window 1 s, slide {SLIDE}; "
        f"batches of {found['batch']:,}; latency at {found['paced_rate']:,} records/s",
        title_justify="left",
    )
    shown.add_column("splitting")
    for heading, _ in COLUMNS.values():
        shown.add_column(heading, justify="right")
    for name, row in found["strategies"].items():
        shown.add_row(name, *(form.format(row[key]) if key in row else "-" for key, (_, form) in COLUMNS.items()))
    return shown


def plot(found: dict[str, Any], path: Path) -> None:
    """Throughput and latency, beside each other."""
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    rows = found["strategies"]
    left.bar(list(rows), [row["records_per_s"] for row in rows.values()])
    left.set_ylabel("records per second")
    left.set_title("as fast as batches are taken")
    for key, label in (("p99_latency_ms", "p99"), ("median_latency_ms", "median")):
        right.bar(list(rows), [row.get(key, 0.0) for row in rows.values()], label=label)
    right.set_ylabel("window latency, ms")
    right.set_title(f"at {found['paced_rate']:,} records per second")
    right.legend(loc="lower right")
    for axes in (left, right):
        axes.tick_params(axis="x", rotation=20)
        axes.grid(visible=True, axis="y", alpha=0.3)
    figure.savefig(path, dpi=120)
