"""Queues before the parts of a live set, in virtual nanoseconds: how long records wait, not what is answered.

What the parts hold depends on the records only through the instants at which each is dominated by a younger one, so
that is all that this needs: millions of records and a dozen workers take a second. It is the arithmetic of
``skypane_lab.live.system``, which runs the real thing record by record (tests compare the two).
"""

from __future__ import annotations

import numba
import numpy as np

from skypane.kernels.arrays import Indices

IN_TURN, FIRST_ROOM, NEXT_ROOM, SMALLEST, SMALLEST_TO_BE = 0, 1, 2, 3, 4
"""Who becomes the owner."""


@numba.njit(cache=True, nogil=True)
def queue_records(
    arrivals: Indices,
    times: Indices,
    dominated_at: Indices,
    dealt: Indices,
    within: int,
    degree: int,
    capacity: int,
    owner_rule: int,
    owner_waits: bool,
    emitter_stamps: bool,
    costs: tuple[int, int, int],
    sample_every: int,
) -> tuple[Indices, Indices, Indices, Indices]:
    """Of every record its stamp, owner and the instant when all have processed it; and sampled load differences.

    ``times`` are their stamps unless the emitter stamps them. ``dominated_at`` is the number of the first later record
    that dominates each (any larger number: none). ``dealt`` are the owners of the first records, if they are given.
    ``costs`` are picoseconds per stored record, nanoseconds per record, and nanoseconds for a message and its answer.
    """
    scan_ps, record_ns, round_trip_ns = costs
    count = len(arrivals)
    stamps, owners = np.empty(count, np.int64), np.empty(count, np.int64)
    completed = np.empty(count, np.int64)
    samples = np.empty(1024, np.int64)
    sampled, next_sample = 0, sample_every
    head, following = np.full(count, -1, np.int32), np.empty(count, np.int32)
    for i in range(count):
        if dominated_at[i] < count:
            following[i] = head[dominated_at[i]]
            head[dominated_at[i]] = i
    ring = capacity + 2  # a worker has at most its queue and the record in service before it
    started, finished = np.zeros((degree, ring), np.int64), np.zeros((degree, ring), np.int64)
    sizes_after = np.zeros((degree, ring), np.int64)
    holds = np.zeros(degree, np.int64)  # as of the record at hand
    seen, stored, queued = np.zeros(degree, np.int64), np.zeros(degree, np.int64), np.zeros(degree, np.int64)
    free, room = np.zeros(degree, np.int64), np.zeros(degree, np.int64)
    emitter_free, expired, last_owner = 0, 0, 0
    for j in range(count):
        now = max(arrivals[j], emitter_free)
        while True:  # what the workers' counters say at each sampling instant until now, and now
            until = now
            if sample_every > 0 and next_sample <= now:
                until = next_sample
            for m in range(degree):
                while seen[m] < j and finished[m, seen[m] % ring] <= until:
                    stored[m] = sizes_after[m, seen[m] % ring]
                    if owners[seen[m]] == m:
                        queued[m] -= 1
                    seen[m] += 1
            if sample_every <= 0 or next_sample > now:
                break
            if sampled == len(samples):
                samples = np.concatenate((samples, np.empty(len(samples), np.int64)))
            samples[sampled] = stored.max() - stored.min()
            sampled += 1
            next_sample += sample_every
        stamps[j] = now if emitter_stamps else times[j]
        for m in range(degree):
            room[m] = now if j < capacity else max(now, started[m, (j - capacity) % ring])
        if j < len(dealt):
            owner = dealt[j]
        elif owner_rule == IN_TURN:
            owner = j % degree
        elif owner_rule == FIRST_ROOM:
            owner = np.argmin(room)
        elif owner_rule == NEXT_ROOM:
            owner = last_owner
            for k in range(1, degree):
                if room[(last_owner + k) % degree] < room[owner]:
                    owner = (last_owner + k) % degree
        elif owner_rule == SMALLEST:
            owner = np.argmin(stored)
        else:
            owner = np.argmin(stored + queued)
        owners[j] = last_owner = owner
        queued[owner] += 1
        emitter_free = room.max()
        while stamps[expired] + within <= stamps[j]:
            if dominated_at[expired] >= j:
                holds[owners[expired]] -= 1
            expired += 1
        last = 0
        for m in range(degree):
            start = max(room[m], free[m])
            free[m] = start + record_ns + scan_ps * holds[m] // 1000
            started[m, j % ring], finished[m, j % ring] = start, free[m]
            last = max(last, free[m])
        i = head[j]
        while i >= 0:
            if i >= expired:
                holds[owners[i]] -= 1
            i = following[i]
        holds[owner] += 1
        for m in range(degree):
            sizes_after[m, j % ring] = holds[m]
        completed[j] = last
        if owner_waits:
            free[owner] = last + round_trip_ns
    return stamps, owners, completed, samples[:sampled].copy()


def warm_live_queues() -> None:
    """Compile for the types that the simulator uses."""
    times, never = np.array([0, 1]), np.array([2, 2])
    queue_records(times, times, never, np.empty(0, np.int64), 1, 1, 1, 0, True, True, (1, 1, 1), 0)
