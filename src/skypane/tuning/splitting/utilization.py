"""Utilization: how busy a stage is, from what its workers did in one sampling period (paper 1, equations 4 and 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


class WorkerLoad(NamedTuple):
    """What one worker did in a sampling period."""

    busy_us: float
    """How long it worked."""
    done: float
    """Records that it processed."""
    scheduled: int
    """Records that were sent to it, whether it came to process them or not."""


@dataclass(frozen=True)
class Measurement:
    """What all workers of a stage did in one sampling period."""

    period_us: float
    workers: Sequence[WorkerLoad]


def utilization(measurement: Measurement) -> float | None:
    """Arrivals over what could have been served, averaged over records; above 1 the stage is a bottleneck.

    ``rho = sum(scheduled_i^2 / (scheduled * capacity_i))``: each worker's own utilization, weighted by its share of the
    records, so idle workers do not hide an overloaded one. ``None`` if nothing was scheduled or nothing was processed,
    so that utilization is unknown.
    """
    scheduled = sum(worker.scheduled for worker in measurement.workers)
    done = sum(worker.done for worker in measurement.workers)
    if scheduled == 0 or done <= 0:
        return None
    cost_us = sum(worker.busy_us for worker in measurement.workers) / done
    if cost_us <= 0:
        return 0.0
    return sum(
        worker.scheduled**2 / (scheduled * capacity(worker, measurement.period_us, cost_us))
        for worker in measurement.workers
        if worker.scheduled
    )


def capacity(worker: WorkerLoad, period_us: float, cost_us: float) -> float:
    """Records that a worker could have processed: those it did, and as many more as fit into its idle time.

    Costs grow with the pane, so the idle time is converted with ``cost_us``, the mean of all workers.
    """
    idle_us = max(0.0, period_us - worker.busy_us)
    # A worker that sat on one long piece of work has done next to nothing: not less than a thousandth of the mean.
    return max(worker.done + idle_us / cost_us, period_us / cost_us / 1000.0)
