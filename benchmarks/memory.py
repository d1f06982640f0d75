"""Memory: driver and workers over minutes of stream, and with windows of several sizes."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from pyspark.sql import SparkSession
from rich.table import Table

import skypane as sp
from benchmarks.source import bench_stream

ATTRIBUTES = 6
RATE = 100_000.0
SAMPLE_S = 5.0
WINDOWS_S = (1, 4, 16)
PARTS = ("live heap of the JVM", "driver's Python", "Python workers")


def run(spark: SparkSession, quick: bool) -> dict[str, Any]:
    """One long run with a window of a second, then short ones with longer windows."""
    found: dict[str, Any] = {"rate": RATE, "attributes": ATTRIBUTES}
    found["long"] = watch(spark, 1, 60.0 if quick else 600.0)
    found["windows"] = {size_s: watch(spark, size_s, 30.0 if quick else 75.0)[-1] for size_s in WINDOWS_S}
    return found


def watch(spark: SparkSession, window_s: int, seconds: float) -> list[dict[str, float]]:
    """Samples of memory (MiB), records seen and rows of open state, of a paced skyline query."""
    folder = Path(tempfile.mkdtemp(prefix="skypane-bench-"))
    names = [f"a{i}" for i in range(ATTRIBUTES)]
    windowed = sp.stream(bench_stream(spark, rate=RATE, attributes=ATTRIBUTES), time="ts").window(
        f"{window_s} seconds", slide="200 milliseconds"
    )
    query = (
        windowed.skyline(minimize=names)
        .emit("changes")
        .start(
            checkpoint=folder / "checkpoint",
            sink=sp.ParquetSink(folder / "out"),
            trigger="500 milliseconds",
        )
    )
    samples, began = [], time.monotonic()
    while query.is_active and time.monotonic() - began < seconds:
        time.sleep(SAMPLE_S)
        metrics = query.metrics()
        if metrics.recent:
            state_rows = float(np.mean([step.state_rows for step in metrics.recent[-8:]]))
            at = {"seconds": time.monotonic() - began, "records": metrics.ledger.accepted, "state_rows": state_rows}
            samples.append({**at, **memory_mib(spark)})
    query.stop()
    if query.exception() is not None:
        raise RuntimeError("the benchmark query failed") from query.exception()
    shutil.rmtree(folder, ignore_errors=True)
    return samples


def memory_mib(spark: SparkSession) -> dict[str, float]:
    """What is held now; of the JVM what a collection leaves: its resident size says how lazy the collector is."""
    jvm = spark.sparkContext._jvm  # noqa: SLF001 - there is no other way to ask
    assert jvm is not None
    jvm.java.lang.System.gc()
    runtime = jvm.java.lang.Runtime.getRuntime()
    own = psutil.Process()
    workers = [p for p in own.children(recursive=True) if "python" in _name(p)]
    sizes = (runtime.totalMemory() - runtime.freeMemory(), _private(own), sum(_private(p) for p in workers))
    return dict(zip(PARTS, (size / 2**20 for size in sizes), strict=True))


def _name(process: psutil.Process) -> str:
    try:
        return str(process.name())
    except psutil.NoSuchProcess:
        return ""


def _private(process: psutil.Process) -> int:
    """Memory that would be free without the process: forked workers share pages."""
    try:
        return int(process.memory_full_info().uss)
    except psutil.NoSuchProcess:
        return 0


def growth(samples: list[dict[str, float]]) -> dict[str, float]:
    """Mean memory of the last third over that of the second one; the first one is warm-up."""
    third = len(samples) // 3
    middle, last = samples[third : 2 * third], samples[2 * third :]
    return {part: float(np.mean([s[part] for s in last]) / np.mean([s[part] for s in middle])) for part in PARTS}


def tables(found: dict[str, Any]) -> list[Table]:
    """How memory goes with records, and with open state."""
    over_time = Table(
        title=f"Memory over {found['long'][-1]['seconds']:.0f} s at {found['rate']:,.0f} records/s: last third against "
        f"the second, {found['long'][-1]['records']:,.0f} records in all",
        title_justify="left",
    )
    for column in ("part", "at the end", "growth", "against"):
        over_time.add_column(column, justify="left" if column in {"part", "against"} else "right")
    for part, ratio in growth(found["long"]).items():
        over_time.add_row(part, f"{found['long'][-1][part]:,.0f} MiB", f"{ratio:.2f} x", "1.0: does not grow")
    by_window = Table(title="Memory by window", title_justify="left")
    for column in ("window", "rows of open state", *PARTS):
        by_window.add_column(column, justify="right")
    for size_s, last in found["windows"].items():
        by_window.add_row(f"{size_s} s", f"{last['state_rows']:,.0f}", *(f"{last[part]:,.0f} MiB" for part in PARTS))
    return [over_time, by_window]


def plot(found: dict[str, Any], folder: Path) -> None:
    """Memory over time, with the records seen."""
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    samples = found["long"]
    times = [sample["seconds"] for sample in samples]
    for part in PARTS:
        axes.plot(times, [sample[part] for sample in samples], label=part)
    axes.set_xlabel("seconds")
    axes.set_ylabel("MiB")
    axes.set_ylim(bottom=0)
    axes.set_title(f"Memory while {samples[-1]['records'] / 1e6:,.0f} million records go through")
    records = axes.twinx()
    records.plot(times, [s["records"] / 1e6 for s in samples], color="#8d99ae", linestyle="--", label="records (right)")
    records.set_ylabel("million records")
    records.set_ylim(bottom=0)
    axes.legend(loc="upper left", fontsize=8)
    records.legend(loc="lower right", fontsize=8)
    figure.savefig(folder / "memory.png", dpi=110)
