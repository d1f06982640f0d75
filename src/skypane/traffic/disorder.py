"""Disorder: how long each record is on its way, so that it arrives after younger ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from skypane.model.groups import Float64Array, Int64Array
from skypane.traffic.arrivals.base import US_PER_S, Stretch
from skypane.traffic.arrivals.markov import BoolArray, two_state_path
from skypane.traffic.seeds import Purpose, Seeds


@dataclass(frozen=True)
class Disorder(ABC):
    """Delays of the records of one block of event time; none is above ``max_delay_us``."""

    mean_us: int
    max_delay_us: int  # how far back a reader must look for records that are still on their way

    def delays_us(self, seeds: Seeds, stretch: Stretch, ts_us: Int64Array) -> Int64Array:
        """The delay of each record of the block; the few that would be longer are held to the maximum."""
        delays_us = self.draw_us(seeds.generator(Purpose.DELAYS, stretch.index), len(ts_us))
        return np.minimum(np.rint(delays_us, out=delays_us).astype(np.int64), self.max_delay_us)

    @abstractmethod
    def draw_us(self, random: np.random.Generator, count: int) -> Float64Array:
        """So many delays; ``random`` is fresh for every block."""


class NoDisorder(Disorder):
    """Every record arrives at once."""

    def draw_us(self, random: np.random.Generator, count: int) -> Float64Array:  # noqa: ARG002
        """Zeros."""
        return np.zeros(count)


class UniformDelay(Disorder):
    """Anything from 0 to the maximum, which is twice the mean."""

    def draw_us(self, random: np.random.Generator, count: int) -> Float64Array:
        """Uniform delays."""
        return random.random(count) * self.max_delay_us


class ExponentialDelay(Disorder):
    """Mostly short, now and then several times the mean."""

    def draw_us(self, random: np.random.Generator, count: int) -> Float64Array:
        """Exponential delays."""
        return random.standard_exponential(count) * self.mean_us


@dataclass(frozen=True)
class HeavyTailDelay(Disorder):
    """Lomax delays (Pareto from zero) cut off at a maximum: most are very short, a few enormous."""

    tail: float  # the smaller, the heavier; above 1

    def draw_us(self, random: np.random.Generator, count: int) -> Float64Array:
        """By inversion, from the part of the distribution below the maximum."""
        scale = self._scale_us()
        beyond = (1.0 + self.max_delay_us / scale) ** -self.tail
        survival = beyond + (1.0 - beyond) * random.random(count)
        delays_us: Float64Array = scale * (survival ** (-1.0 / self.tail) - 1.0)
        return delays_us

    def _scale_us(self) -> float:
        """The scale with which the distribution, cut as it is, has the asked mean."""
        low, high = 0.0, 1e6 * self.mean_us
        for _ in range(60):
            scale = (low + high) / 2.0
            low, high = (scale, high) if self._mean_with(scale) < self.mean_us else (low, scale)
        return (low + high) / 2.0

    def _mean_with(self, scale_us: float) -> float:
        reach = 1.0 + self.max_delay_us / scale_us
        beyond = reach**-self.tail
        whole = scale_us / (self.tail - 1.0) * (1.0 - reach ** (1.0 - self.tail))
        return float((whole - self.max_delay_us * beyond) / (1.0 - beyond))


@dataclass(frozen=True)
class StallDelay(Disorder):
    """The way is blocked now and then: what is sent during a stall arrives all at once when it ends.

    That is how delays turn into bursts of arrivals in recorded streams. Nine tenths of the mean delay come
    from stalls, the rest is a small uniform delay of every record.
    """

    stalled_share: float

    def draw_us(self, random: np.random.Generator, count: int) -> Float64Array:
        """The small delays."""
        return random.random(count) * (0.2 * self.mean_us)

    def delays_us(self, seeds: Seeds, stretch: Stretch, ts_us: Int64Array) -> Int64Array:
        """Small delays, plus the rest of the stall for those sent during one."""
        delays_us = super().delays_us(seeds, stretch, ts_us)
        starts_us, stalled = self._stalls(seeds, stretch)
        at = np.searchsorted(starts_us, ts_us, side="right") - 1
        waits = np.flatnonzero(stalled[at])
        delays_us[waits] += starts_us[at[waits] + 1].astype(np.int64) - ts_us[waits]
        return np.minimum(delays_us, self.max_delay_us)

    def _stalls(self, seeds: Seeds, stretch: Stretch) -> tuple[Float64Array, BoolArray]:
        """When the way gets blocked and free, until nothing of the stretch is waiting any more."""
        # A record sent during a stall waits for the mean length of a stall: the rest of an exponential time.
        stall_us = 0.9 * self.mean_us / self.stalled_share
        redraws_per_s = US_PER_S / stall_us / (1.0 - self.stalled_share)
        last_us = stretch.stop_us + self.max_delay_us
        starts_us, stalled = two_state_path(
            seeds, Purpose.STALLS, redraws_per_s, self.stalled_share, start_us=stretch.start_us, stop_us=last_us
        )
        return np.append(starts_us, max(last_us, starts_us[-1])), np.append(stalled, [False])
