"""Self-similar arrivals: sessions with Pareto lengths, bursts at every time scale."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from skypane.model.groups import Float64Array
from skypane.traffic.arrivals.base import US_PER_S, ModulatedArrivals, RateProfile, Span, stepped_profile
from skypane.traffic.seeds import Purpose, Seeds

_RECORDS_OF_SHORTEST = 10.0
# The longest sessions send 10 * 2^40 records: no stream is long enough to notice the end of the tail.
_OCTAVES = 40
_BLIP = 8.0  # length of the added short sessions, in shortest sessions


@dataclass(frozen=True)
class SelfSimilarArrivals(ModulatedArrivals):
    """Sessions start at random, last a Pareto time, and send at the same rate while they last.

    With tail exponent ``3 - 2 H`` the number of open sessions has a correlation that falls as a power of
    the distance, exactly so beyond the shortest session: the counts are self-similar with Hurst parameter H.
    The memory has no end, yet a time is found in a few draws: sessions are drawn by octaves of their
    length, and a session of one octave is never older than two cells of that octave.
    """

    rate_per_s: float
    hurst: float
    sessions: float = 4.0  # open on average: the fewer, the stronger the bursts

    @property
    def mean_rate_per_s(self) -> float:
        """The mean of the rate, which no finite stream comes close to quickly."""
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

    def profile(self, seeds: Seeds, span: Span) -> RateProfile:
        """Open sessions times the rate of one."""
        starts, stops = self._sessions(seeds, span)
        changes_us = np.concatenate((starts, stops))
        steps = np.concatenate((np.ones(len(starts)), -np.ones(len(stops))))
        order = np.argsort(changes_us, kind="stable")
        open_sessions = np.concatenate(([0.0], np.cumsum(steps[order])))
        times_us = np.concatenate(([-np.inf], changes_us[order]))
        return stepped_profile(times_us, open_sessions * (self.rate_per_s / self.sessions), span)

    def _sessions(self, seeds: Seeds, span: Span) -> tuple[Float64Array, Float64Array]:
        """Start and stop of all sessions that are open at some time of the span."""
        starts: list[Float64Array] = []
        stops: list[Float64Array] = []
        for octave in range(_OCTAVES + 1):
            longest_us = self.shortest_us * (_BLIP if octave == _OCTAVES else 2.0 ** (octave + 1))
            cell_us = int(max(longest_us, span.stop_us - span.start_us))
            for cell in range(span.start_us // cell_us - 1, (span.stop_us - 1) // cell_us + 1):
                begins_us, ends_us = _octave_cell(self, seeds, octave, cell_us, cell)
                seen = (begins_us < span.stop_us) & (ends_us > span.start_us)
                starts.append(begins_us[seen])
                stops.append(ends_us[seen])
        return np.concatenate(starts), np.concatenate(stops)


@lru_cache(maxsize=1024)  # cells of long sessions serve very many blocks
def _octave_cell(
    arrivals: SelfSimilarArrivals, seeds: Seeds, octave: int, cell_us: int, cell: int
) -> tuple[Float64Array, Float64Array]:
    """Start and stop of the sessions of one octave of length that start in one cell of time."""
    tail = arrivals.tail
    per_us = arrivals.sessions / (tail / (tail - 1.0) + arrivals.blips * _BLIP) / arrivals.shortest_us
    random = seeds.generator(Purpose.SESSIONS, cell, octave)
    if octave == _OCTAVES:
        begins_us = (random.random(int(random.poisson(per_us * arrivals.blips * cell_us))) + cell) * cell_us
        return begins_us, begins_us + _BLIP * arrivals.shortest_us
    upper, lower = 2.0 ** (-tail * octave), 2.0 ** (-tail * (octave + 1))
    count = int(random.poisson(per_us * (upper - lower) * cell_us))
    begins_us = (random.random(count) + cell) * cell_us
    survival = lower + (upper - lower) * random.random(count)
    return begins_us, begins_us + arrivals.shortest_us * survival ** (-1.0 / tail)
