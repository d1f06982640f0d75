"""What the tests of traffic share: counts of long streams without keeping the records."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from skypane.traffic import Stream, TrafficSpec
from skypane.traffic.arrivals import Arrivals, Span
from skypane.traffic.estimators import Counts
from skypane.traffic.reading import chunks
from skypane.traffic.seeds import Seeds


def stream(**options: object) -> Stream:
    return Stream(TrafficSpec.from_options(options))


def table(made: Stream, chunk: int = 131_072) -> pa.Table:
    return pa.Table.from_batches(chunks(made, chunk), made.schema).combine_chunks()


def long_counts(arrivals: Arrivals, seed: int, records: float, interval_us: int) -> Counts:
    """Counts of about ``records`` events in intervals of ``interval_us``, from consecutive blocks."""
    block_us = int(131_072 / arrivals.mean_rate_per_s * 1e6) // interval_us * interval_us
    blocks = int(records / (arrivals.mean_rate_per_s * block_us / 1e6)) + 1
    parts = []
    for index in range(blocks):
        span = Span(index, index * block_us, (index + 1) * block_us)
        inside = arrivals.events_us(Seeds(seed, 0), span) - span.start_us
        parts.append(np.bincount(inside // interval_us, minlength=block_us // interval_us))
    return Counts(interval_us, np.concatenate(parts).astype(np.int64))
