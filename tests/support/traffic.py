"""What the tests of traffic share: counts of long streams without keeping the records."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from skypane.model.groups import Float64Array, Int64Array
from skypane.traffic import Stream, TrafficSpec
from skypane.traffic.arrivals import Arrivals, Stretch
from skypane.traffic.arrivals.base import ModulatedArrivals
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
        stretch = Stretch(index, index * block_us, (index + 1) * block_us)
        inside = arrivals.events_us(Seeds(seed, 0), stretch) - stretch.start_us
        parts.append(np.bincount(inside // interval_us, minlength=block_us // interval_us))
    return Counts(interval_us, np.concatenate(parts).astype(np.int64))


def expected_counts(
    arrivals: ModulatedArrivals, seeds: Seeds, stretch: Stretch, interval_us: int
) -> tuple[Float64Array, Int64Array]:
    """Counts of the intervals of a stretch, given the rate of this seed: the mean of those by chance, the sure."""
    profile = arrivals.profile(seeds, stretch)
    edges_us = np.arange(stretch.start_us, stretch.stop_us + 1, interval_us, dtype=float)
    by_chance = np.diff(np.interp(edges_us, profile.edges_us, profile.mass()))
    sure = np.bincount((profile.sure_us - stretch.start_us) // interval_us, minlength=len(by_chance))
    return by_chance, sure


def drawn_counts(arrivals: ModulatedArrivals, seed: int, records: float, interval_us: int) -> Counts:
    """Counts like those of ``long_counts``, at the cost of the rate's changes instead of the records.

    Given the rate, counts are Poisson numbers: that is drawn here, and another test shows it of the events.
    """
    intervals = int(records / arrivals.mean_rate_per_s * 1e6) // interval_us
    by_chance, sure = expected_counts(arrivals, Seeds(seed, 0), Stretch(0, 0, intervals * interval_us), interval_us)
    return Counts(interval_us, np.random.default_rng(seed).poisson(by_chance) + sure)
