"""LiveSample: real points of paper 4's distributions, cut down to what still matters after millions of records.

A record that was dominated before the run begins is in nobody's part. So a run with a window of millions of records
needs only those that are stored when it begins, and then every record. Which are stored does not depend on the window
otherwise than by their age: one sample serves all windows up to the longest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from skypane import kernels
from skypane.model.groups import Float64Array, Int64Array
from skypane.traffic.points import DISTRIBUTIONS
from skypane_lab.live.lifetimes import dominated_at
from skypane_lab.live.queueing import run_queues
from skypane_lab.live.setup import LiveMachine, LiveSetup

ATTRIBUTES: Final = 5
_CHUNK: Final = 500_000
_SETTLE: Final = 40_000
"""Records after which a run counts: four times the longest queue."""
_WITHOUT_HASTE_NS: Final = 10_000_000
"""More than any scan takes."""

LEANINGS: Final = {"independent": 0.0, "anticorrelated": -0.31, "correlated": 1.12}
"""How much of its attributes' mean a normal point gets in addition. Chosen so that the live set has the sizes of paper
4's table II with the anticorrelated and the correlated points; independent points leave nothing to choose."""

MACHINES: Final = {
    "independent": LiveMachine(28_000),
    "anticorrelated": LiveMachine(11_800),
    "correlated": LiveMachine(37_000),
}
"""The first and the last: the shortest T_F with which twelve workers do not keep up with table II's rates, as its text
says, by its own sizes. The second: fits the degrees of figures 10 and 11 best, and is longer than table II demands."""


def leaning_points(leaning: float, random: np.random.Generator, count: int) -> Float64Array:
    """Normal attributes, each with a share of their mean added: below 0 anticorrelated, above 0 correlated."""
    points = random.standard_normal((count, ATTRIBUTES))
    points += leaning * points.mean(axis=1, keepdims=True)
    return points


def generated_points(name: str, random: np.random.Generator, count: int) -> Float64Array:
    """Points of our own generators."""
    return np.ascontiguousarray(DISTRIBUTIONS[name](random, ATTRIBUTES, count).T)


def stored_after(points: Float64Array) -> Int64Array:
    """The records that no later one dominates, ascending: the skyline with recency as one more attribute."""
    ages = -np.arange(len(points), dtype=np.float64)
    return np.asarray(np.sort(kernels.skyline(np.column_stack((points, ages)))), dtype=np.int64)


@dataclass(frozen=True)
class LiveSample:
    """``before`` records that are only there to be stored, then those of the run."""

    before: int
    numbers: Int64Array
    """The records that matter, ascending, by their number in the whole stream."""
    dominated: Int64Array
    """Of each the place here of the first later one that dominates it."""

    def stored(self, window: int) -> int:
        """The size of the live set when the run begins."""
        return int(np.count_nonzero((self.numbers >= self.before - window) & (self.numbers < self.before)))

    def offered(self, window: int, setup: LiveSetup) -> float:
        """Records per second that the workers process if the emitter never waits for one: the offered bandwidth.

        The stored records come first and without haste, and are dealt out in turn: the policy starts from there.
        """
        if window > self.before:
            raise ValueError(f"the sample has {self.before} records before the run, fewer than the window of {window}")
        first = int(np.searchsorted(self.numbers, self.before - window))
        numbers, stored = self.numbers[first:], self.stored(window)
        arrivals = np.minimum(np.arange(len(numbers)), stored) * _WITHOUT_HASTE_NS
        dealt = numbers[:stored] % setup.degree
        run = run_queues(arrivals, self.dominated[first:] - first, window, setup, times_ns=numbers, dealt=dealt)
        return run.bandwidth(stored + _SETTLE)

    def sequential(self, window: int, machine: LiveMachine) -> float:
        """The same of one thread without queues."""
        return self.offered(window, LiveSetup(LiveMachine(machine.scan_ps, 0), 1))


def draw_sample(name: str, before: int, measured: int = 240_000, seed: int = 1) -> LiveSample:
    """Points of a distribution as large as paper 4's."""
    random = np.random.default_rng(seed)
    points: Float64Array = np.empty((0, ATTRIBUTES))
    numbers: Int64Array = np.empty(0, dtype=np.int64)
    for low in range(0, before, _CHUNK):
        count = min(_CHUNK, before - low)
        points = np.concatenate((points, leaning_points(LEANINGS[name], random, count)))
        numbers = np.concatenate((numbers, np.arange(low, low + count)))
        kept = stored_after(points)
        points, numbers = points[kept], numbers[kept]
    points = np.concatenate((points, leaning_points(LEANINGS[name], random, measured)))
    numbers = np.concatenate((numbers, np.arange(before, before + measured)))
    return LiveSample(before, numbers, dominated_at(points, before + measured))
