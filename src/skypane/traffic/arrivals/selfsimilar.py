"""Self-similar arrivals: sessions with Pareto lengths, bursts at every time scale."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from skypane.model.groups import Float64Array
from skypane.traffic.arrivals.base import US_PER_S, ModulatedArrivals, RateProfile, Stretch, stepped_profile
from skypane.traffic.seeds import Purpose, Seeds

_RECORDS_OF_SHORTEST = 10.0
# The longest sessions send 10 * 2^40 records: no stream is long enough to notice the end of the tail.
_OCTAVES = 40
_BLIP = 8.0  # length of the added short sessions, in shortest sessions
# Octaves of so many sessions or cells up to the horizon are close to their mean by themselves.
_MAX_SESSIONS, _MAX_CELLS = 100_000, 2_000
_LARGEST_FACTOR = 4.0


@dataclass(frozen=True)
class SelfSimilarArrivals(ModulatedArrivals):
    """Sessions start at random, last a Pareto time, and send at the same rate while they last.

    With tail exponent ``3 - 2 H`` the number of open sessions has a correlation that falls as a power of
    the distance, exactly so beyond the shortest session: the counts are self-similar with Hurst parameter H.
    The memory has no end, yet a time is found in a few draws: sessions are drawn by octaves of their
    length, and a session of one octave is never older than two cells of that octave.

    The mean of such a stream is off by a share that falls only as ``length ** (H - 1)``. So up to
    ``horizon_us``, if there is one, all rates are multiplied with what gives the ``partitions`` together the asked
    mean there. A constant factor leaves the Hurst parameter alone.
    """

    rate_per_s: float
    hurst: float
    sessions: float = 4.0  # open on average: the fewer, the stronger the bursts
    horizon_us: int = 0
    partitions: int = 1  # as this one, which share a factor

    @property
    def mean_rate_per_s(self) -> float:
        """The mean of the rate over all seeds."""
        return self.rate_per_s

    @property
    def tail(self) -> float:
        """Exponent of the Pareto lengths."""
        return 3.0 - 2.0 * self.hurst

    @property
    def shortest_us(self) -> float:
        """Length of the shortest Pareto session, the one that sends ten records."""
        return _RECORDS_OF_SHORTEST * self.sessions / self.rate_per_s * US_PER_S

    @property
    def blips(self) -> float:
        """Short sessions of one length to add for each Pareto session.

        The variance of counts is that of a self-similar process and a term that grows with the length of the
        interval: positive from the noise of counting, negative because no Pareto session is shorter than
        the shortest. For H near 0.5 both grow almost alike, and the sum looks like a larger H over all scales
        that a stream can show. Blips have a variance of the second kind only: so many make the term vanish.
        """
        tail = self.tail
        lacking = 1.0 / ((tail - 1.0) * (2.0 - tail)) - tail / (tail - 1.0) + 0.5
        noise = 1.0 / _RECORDS_OF_SHORTEST
        return max(0.0, 2.0 * lacking - noise * tail / (tail - 1.0)) / (_BLIP**2 + noise * _BLIP)

    @property
    def starts_per_us(self) -> float:
        """Pareto sessions that start per microsecond; so many keep ``sessions`` open."""
        tail = self.tail
        # Of the octaves there are: for H near 1 those left out would matter.
        kept = 1.0 - float(2.0 ** ((1.0 - tail) * _OCTAVES))
        mean_length = kept * tail / (tail - 1.0) + self.blips * _BLIP
        return self.sessions / mean_length / self.shortest_us

    def profile(self, seeds: Seeds, stretch: Stretch) -> RateProfile:
        """Open sessions times the rate of one."""
        starts, stops = self._sessions(seeds, stretch)
        # Two sorted runs, which a stable sort merely merges.
        changes_us = np.concatenate((np.sort(starts), np.sort(stops)))
        steps = np.concatenate((np.ones(len(starts)), -np.ones(len(stops))))
        order = np.argsort(changes_us, kind="stable")
        open_sessions = np.concatenate(([0.0], np.cumsum(steps[order])))
        times_us = np.concatenate(([-np.inf], changes_us[order]))
        factor = _factor_of_horizon(self, seeds.seed, stretch.stop_us - stretch.start_us) if self.horizon_us else 1.0
        return stepped_profile(times_us, open_sessions * (factor * self.rate_per_s / self.sessions), stretch)

    def _sessions(self, seeds: Seeds, stretch: Stretch) -> tuple[Float64Array, Float64Array]:
        """Start and stop of all sessions that are open at some time of the stretch."""
        starts: list[Float64Array] = []
        stops: list[Float64Array] = []
        for octave in range(_OCTAVES + 1):
            cell_us = self.cell_us(octave, stretch.stop_us - stretch.start_us)
            within = (stretch.start_us, stretch.stop_us)
            for begins_us, ends_us in self.sessions_of_octave(seeds, octave, cell_us, *within):
                seen = (begins_us < stretch.stop_us) & (ends_us > stretch.start_us)
                starts.append(begins_us[seen])
                stops.append(ends_us[seen])
        return np.concatenate(starts), np.concatenate(stops)

    def cell_us(self, octave: int, block_us: int) -> int:
        """Length of the cells of an octave in a stream of such blocks: no session is longer."""
        longest_us = self.shortest_us * (_BLIP if octave == _OCTAVES else 2.0 ** (octave + 1))
        return int(max(longest_us, block_us))

    def sessions_of_octave(
        self, seeds: Seeds, octave: int, cell_us: int, start_us: int, stop_us: int
    ) -> Iterator[tuple[Float64Array, Float64Array]]:
        """Start and stop of sessions of one octave, by cells, among them all that touch the interval."""
        for cell in range(start_us // cell_us - 1, (stop_us - 1) // cell_us + 1):
            yield _octave_cell(self, seeds, octave, cell_us, cell)

    def starts_per_us_of(self, octave: int) -> float:
        """Sessions of one octave that start per microsecond."""
        if octave == _OCTAVES:
            return self.starts_per_us * self.blips
        return self.starts_per_us * float(2.0 ** (-self.tail * octave) * (1.0 - 2.0**-self.tail))

    def mean_length_us(self, octave: int) -> float:
        """Mean length of the sessions of one octave."""
        if octave == _OCTAVES:
            return _BLIP * self.shortest_us
        tail = self.tail
        within = float((1.0 - 2.0 ** (1.0 - tail)) / (1.0 - 2.0**-tail)) * tail / (tail - 1.0)
        return self.shortest_us * 2.0**octave * within


@lru_cache(maxsize=1024)  # cells of long sessions serve very many blocks
def _octave_cell(
    arrivals: SelfSimilarArrivals, seeds: Seeds, octave: int, cell_us: int, cell: int
) -> tuple[Float64Array, Float64Array]:
    """Start and stop of the sessions of one octave of length that start in one cell of time."""
    random = seeds.generator(Purpose.SESSIONS, cell, octave)
    count = int(random.poisson(arrivals.starts_per_us_of(octave) * cell_us))
    begins_us = (random.random(count) + cell) * cell_us
    if octave == _OCTAVES:
        return begins_us, begins_us + _BLIP * arrivals.shortest_us
    # By inversion of the part of the distribution that is this octave.
    survival = 2.0 ** (-arrivals.tail * octave) * (1.0 - (1.0 - 2.0**-arrivals.tail) * random.random(count))
    return begins_us, begins_us + arrivals.shortest_us * survival ** (-1.0 / arrivals.tail)


@lru_cache(maxsize=64)
def _factor_of_horizon(arrivals: SelfSimilarArrivals, seed: int, block_us: int) -> float:
    """Asked over actual mean rate from the start to the horizon, of all partitions together."""
    horizon_us = arrivals.horizon_us
    open_us = 0.0
    for octave in range(_OCTAVES + 1):
        cell_us = arrivals.cell_us(octave, block_us)
        expected = arrivals.partitions * arrivals.starts_per_us_of(octave) * horizon_us
        if expected > _MAX_SESSIONS or arrivals.partitions * horizon_us > _MAX_CELLS * cell_us:
            open_us += expected * arrivals.mean_length_us(octave)
            continue
        for partition in range(arrivals.partitions):
            seeds = Seeds(seed, partition)
            for begins_us, ends_us in arrivals.sessions_of_octave(seeds, octave, cell_us, 0, horizon_us):
                open_us += float((np.clip(ends_us, 0, horizon_us) - np.clip(begins_us, 0, horizon_us)).sum())
    asked_us = arrivals.partitions * arrivals.sessions * horizon_us
    # A few sessions more or less in a very short stream are no reason to make it another one.
    return float(np.clip(asked_us / max(open_us, 1.0), 1.0 / _LARGEST_FACTOR, _LARGEST_FACTOR))
