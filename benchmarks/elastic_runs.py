"""Elastic runs: a recorded trace squeezed into some seconds, a query over it, and what came of it."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

import skypane as sp
from skypane.api.stream import ContinuousQuery
from skypane.spark.metrics import StepMetrics


def squeezed(trace: Path, folder: Path, seconds: float, records_per_s: float) -> tuple[Path, float]:
    """A trace with the same ups and downs in so many seconds, at this mean rate; and its highest second over that."""
    counts = np.array([float(line.split()[1]) for line in trace.read_text().splitlines() if line.strip()])
    width = max(1, int(len(counts) // seconds))
    means = counts[: len(counts) // width * width].reshape(-1, width).mean(axis=1)
    scaled = np.round(means / means.mean() * records_per_s).astype(int)
    path = folder / trace.name
    path.write_text("".join(f"{second} {count}\n" for second, count in enumerate(scaled.tolist())))
    return path, float(means.max() / means.mean())


def run_query(
    query: ContinuousQuery, seconds: float, beside: AbstractContextManager[None] | None = None
) -> list[StepMetrics]:
    """The steps that it takes in so long, perhaps beside something else."""
    folder = Path(tempfile.mkdtemp(prefix="skypane-bench-"))
    running = query.start(sink=sp.DiscardSink(), checkpoint=folder / "checkpoint")
    began = time.monotonic()
    with beside or nullcontext():
        while running.is_active and time.monotonic() - began < seconds:
            time.sleep(0.2)
        running.stop()
    if running.exception() is not None:
        raise RuntimeError("the benchmark query failed") from running.exception()
    shutil.rmtree(folder, ignore_errors=True)
    return [step for step in running.metrics().recent if step.t_max_us is not None]


def summary(steps: Sequence[StepMetrics], warm_up_s: float) -> dict[str, Any]:
    """What counts, without the warm-up."""
    clock = np.array([step.committed_at for step in steps])
    kept = clock >= clock[0] + warm_up_s if len(steps) else np.zeros(0, dtype=bool)
    steps, clock = [step for step, keep in zip(steps, kept, strict=True) if keep], clock[kept]
    if len(steps) < 3:
        return {"steps": len(steps)}
    lag_s = np.array([step_lag_s(step) for step in steps])
    latency_ms = [step.window_latency_ms for step in steps if step.window_latency_ms is not None]
    degrees = np.array([max(step.pane_degree or 1, step.window_degree) for step in steps], dtype=float)
    core_s = float((degrees[1:] * np.diff(clock)).sum())
    turns = np.sign(np.diff(degrees))
    turns = turns[turns != 0]
    return {
        "steps": len(steps),
        "lag_s": float(np.median(lag_s)),
        "most_lag_s": float(lag_s.max()),
        "last_lag_s": float(lag_s[-1]),
        "longest_step_s": float(np.diff(clock).max()),
        "p99_latency_ms": float(np.percentile(latency_ms, 99)) if latency_ms else None,
        "core_s": core_s,
        "core_share": core_s / float(clock[-1] - clock[0]),
        "reversals": int((turns[1:] != turns[:-1]).sum()),
        "most_backlog_ms": max((s.elastic.backlog_ms or 0.0 for s in steps if s.elastic), default=None),
        "limit": next((s.elastic.limit for s in reversed(steps) if s.elastic and s.elastic.limit), None),
        "degrees": degrees.astype(int).tolist(),
    }


def step_lag_s(step: StepMetrics) -> float:
    """How long ago the newest record of a step happened when it was committed: streams begin at the clock's time."""
    committed_us = time.time() * 1e6 - (time.perf_counter() - step.committed_at) * 1e6
    return (committed_us - (step.t_max_us or committed_us)) / 1e6
