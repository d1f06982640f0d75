"""Queueing: the times of a live system of any size, without its answers, from when each record is dominated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skypane.model.groups import Int64Array
from skypane_lab.kernels.live_queues import queue_records
from skypane_lab.live.setup import LiveSetup


@dataclass(frozen=True)
class QueueRun:
    """What :func:`run_queues` found."""

    stamps_ns: Int64Array
    owners: Int64Array
    completed_ns: Int64Array
    """Of every record, when the last worker had processed it."""
    differences: Int64Array
    """Records of the worker that holds most, minus those of the one that holds least, at every sampling instant."""

    def bandwidth(self, warm_up: int) -> float:
        """Records per second that were completed after the first ``warm_up`` ones."""
        took_ns = int(self.completed_ns[-1] - self.completed_ns[warm_up])
        return (len(self.completed_ns) - 1 - warm_up) / took_ns * 1e9


def run_queues(
    arrivals_ns: Int64Array,
    dominated_at: Int64Array,
    within_ns: int,
    setup: LiveSetup,
    sample_ns: int = 0,
    times_ns: Int64Array | None = None,
    dealt: Int64Array | None = None,
) -> QueueRun:
    """Queue all records; with ``sample_ns`` also sample the load difference that often.

    ``times_ns`` are their stamps if those are not the arrivals, ``dealt`` the owners of the first ones, if given.
    """
    machine = setup.machine
    nobody: Int64Array = np.empty(0, dtype=np.int64)
    return QueueRun(
        *queue_records(
            arrivals_ns,
            arrivals_ns if times_ns is None else times_ns,
            dominated_at,
            nobody if dealt is None else dealt,
            within_ns,
            setup.degree,
            min(setup.queue_size, len(arrivals_ns)),
            setup.ownership.rule,
            setup.reduce.owner_waits,
            setup.emitter_stamps,
            (machine.scan_ps, machine.record_ns, 2 * machine.message_ns),
            sample_ns,
        )
    )


def evenly(count: int, rate: float) -> Int64Array:
    """Arrivals at a constant rate, in nanoseconds."""
    return np.asarray(np.arange(count) * (1e9 / rate), dtype=np.int64)
