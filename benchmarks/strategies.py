"""Strategies side by side on a bursty stream: throughput as fast as batches are taken, window latency at a set pace."""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pyspark.sql import SparkSession
from rich.table import Table

import skypane as sp
from benchmarks.pipeline import skyline_query, wait_until
from skypane.flow.plan import WINDOW_SCHEDULINGS
from skypane.spark.metrics import StepMetrics
from skypane.spark.sources import register_sources
from skypane.tuning.splitting.pane_strategies import SPLITTINGS

ATTRIBUTES = 6
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


class Study(NamedTuple):
    """One option of a query with all its values, on one stream."""

    title: str
    option: str
    values: Sequence[str]
    slide: str = "200 milliseconds"
    partitions: int = 2
    keys: int = 0
    """So many keys, of uneven size; 0 for none."""


STUDIES = {
    "splitting": Study("pane strategies", "splitting", SPLITTINGS),
    "small panes": Study(
        "pane strategies, 16 source partitions, small panes", "splitting", SPLITTINGS, "20 milliseconds", partitions=16
    ),
    "window scheduling": Study("window scheduling, 64 keys", "window_scheduling", WINDOW_SCHEDULINGS, keys=64),
}


def run(spark: SparkSession, quick: bool) -> dict[str, Any]:
    """Every strategy in turn, and that several times: a machine that is shared has better and worse minutes."""
    rounds, steps, seconds = (1, 8, 10.0) if quick else (3, 10, 12.0)
    register_sources(spark)
    studies = {}
    for name, study in STUDIES.items():
        maxed(spark, study, study.values[0], 2)  # whoever comes first would pay for compiling and starting workers
        found: dict[str, list[dict[str, float]]] = {value: [] for value in study.values}
        for _ in range(rounds):
            for value in study.values:
                found[value].append({**maxed(spark, study, value, steps), **paced(spark, study, value, seconds)})
        studies[name] = {
            "strategies": {value: _medians(rows) for value, rows in found.items()},
            "all_rounds": found,
        }
    stream = {"arrivals": "map", "dispersion": DISPERSION, "attributes": ATTRIBUTES}
    return {"stream": stream, "batch": BATCH, "paced_rate": PACED_RATE, "rounds": rounds, "studies": studies}


def maxed(spark: SparkSession, study: Study, value: str, steps: int) -> dict[str, float]:
    """Records per second as fast as the query takes batches, and what its stages looked like."""
    done = _measured(spark, study, value, {"rate": RATE, "max_records_per_batch": BATCH}, "0 seconds", steps=steps)
    seconds = done[-1].committed_at - done[0].committed_at
    names = ("pane_ms", "window_ms", "splitting_factor", "imbalance", "pane_utilization", "selected_per_pane")
    values = {name: [v for step in done if (v := getattr(step, name)) is not None] for name in names}
    return {
        "records_per_s": sum(step.records for step in done[1:]) / seconds,
        **{name: statistics.median(numbers) for name, numbers in values.items() if numbers},
    }


def paced(spark: SparkSession, study: Study, value: str, seconds: float) -> dict[str, float]:
    """Window latency, one value per step with answers, at a rate that every strategy can keep."""
    options = {"rate": PACED_RATE, "paced": "true"}
    done = _measured(spark, study, value, options, "200 milliseconds", seconds=seconds)
    latencies = [step.window_latency_ms for step in done if step.window_latency_ms is not None]
    if not latencies:
        return {}
    return {
        "median_latency_ms": float(np.percentile(latencies, 50)),
        "p99_latency_ms": float(np.percentile(latencies, 99)),
    }


def _measured(
    spark: SparkSession,
    study: Study,
    value: str,
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
        "partitions": study.partitions,
        "seed": 7,
    }
    tuning: dict[str, Any] = {study.option: value}
    how: dict[str, Any] = {"trigger": trigger, "sink": sp.DiscardSink()}
    if study.keys:
        fixed |= {"keys": study.keys, "key_skew": 1.0}
        how["key"] = "key"
        tuning["inline_rows"] = 0  # in the driver nothing would be scheduled
    df = spark.readStream.format("skypane-traffic").options(**fixed, **options).load()
    folder = Path(tempfile.mkdtemp(prefix="skypane-bench-"))
    query = skyline_query(df, ATTRIBUTES, study.slide, folder, parallel={"tuning": sp.Tuning(**tuning)}, **how)
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


def tables(found: dict[str, Any]) -> list[Table]:
    """One for each study, one line for each strategy."""
    shown = []
    for name, study in STUDIES.items():
        table = Table(
            title=f"{study.title}: MAP arrivals, I = {DISPERSION}, {ATTRIBUTES} attributes, window 1 s, slide "
            f"{study.slide}; batches of {found['batch']:,}; latency at {found['paced_rate']:,} records/s",
            title_justify="left",
        )
        table.add_column(study.option)
        for heading, _ in COLUMNS.values():
            table.add_column(heading, justify="right")
        for value, row in found["studies"][name]["strategies"].items():
            table.add_row(value, *(form.format(row[key]) if key in row else "-" for key, (_, form) in COLUMNS.items()))
        shown.append(table)
    return shown


def plot(found: dict[str, Any], folder: Path) -> None:
    """Throughput and latency, beside each other."""
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(9, 3.4 * len(STUDIES)), layout="constrained")
    grid = figure.subplots(len(STUDIES), 2)
    for (name, study), (left, right) in zip(STUDIES.items(), grid, strict=True):
        rows = found["studies"][name]["strategies"]
        left.bar(list(rows), [row["records_per_s"] for row in rows.values()])
        left.set_ylabel("records per second")
        left.set_title(study.title, fontsize=10)
        for key, label in (("p99_latency_ms", "p99"), ("median_latency_ms", "median")):
            right.bar(list(rows), [row.get(key, 0.0) for row in rows.values()], label=label)
        right.set_ylabel("window latency, ms")
        right.set_title(f"at {found['paced_rate']:,} records per second", fontsize=10)
        right.legend(loc="lower right")
        for axes in (left, right):
            axes.tick_params(axis="x", rotation=20)
            axes.grid(visible=True, axis="y", alpha=0.3)
    figure.savefig(folder / "strategies.png", dpi=100)
