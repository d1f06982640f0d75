"""Relay: find the gains of a PID by experiment (Astrom and Hagglund): push up and down, watch what swings.

The relay adjusts by a fixed ``step``, up while the measurement is below the set-point and down while it is above. That
makes the loop oscillate; the amplitude and the period of the oscillation say how strongly and how fast the process
answers, and rules of thumb turn them into gains.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import median

from skypane.tuning.splitting.pid import Gains

MIN_CYCLES = 2


@dataclass(frozen=True)
class Relay:
    """One experiment; feed it a measurement per sampling period."""

    set_point: float
    step: float = 0.15
    hysteresis: float = 0.02
    """How far beyond the set-point a measurement must be to flip the relay: noise alone must not."""
    direction: int = 1
    """1: pushing up, -1: pushing down."""
    samples: tuple[float, ...] = ()
    """The measurements of the current cycle."""
    amplitudes: tuple[float, ...] = ()
    """Largest minus smallest measurement, of each finished cycle."""
    periods: tuple[int, ...] = ()
    """Sampling periods of each finished cycle."""
    started: bool = False
    """Whether the first cycle has begun: what is measured before the first flip is no full cycle."""

    def update(self, measured: float) -> tuple[float, Relay]:
        """The adjustment for one more measurement, and the experiment after it."""
        error = self.set_point - measured
        direction = self.direction if abs(error) <= self.hysteresis else (1 if error > 0 else -1)
        after = replace(self, direction=direction, samples=(*self.samples, measured))
        if direction == 1 and self.direction == -1:
            after = _next_cycle(after)
        return direction * self.step, after

    def gains(self, *, adds_up: bool = False) -> Gains | None:
        """The gains found, time counted in sampling periods; ``None`` if there were too few cycles to tell.

        The ultimate gain is ``4 step / (pi a)`` with ``a`` half the swing; the medians over cycles, since one burst is
        no oscillation. By default the rules of Ziegler and Nichols. They are for outputs that are set. Where the output
        ``adds_up``, as adjustments do, equation 3 is a PID in velocity form: its first gain already weighs the integral
        of the errors and its last one the error. Another sum makes it overshoot, so that gain is zero; the others are
        a third of what Tyreus and Luyben advise for processes that integrate, since bursts swing wider than the relay.
        """
        if len(self.periods) < MIN_CYCLES:
            return None
        swing, period = median(self.amplitudes), median(self.periods)
        if swing <= 0.0:
            return None
        ultimate = 8.0 * self.step / (math.pi * swing)
        if adds_up:
            return Gains(ultimate / 6.6, 0.0, ultimate / 6.6 * period / 6.3)
        return Gains(0.6 * ultimate, 1.2 * ultimate / period, 0.075 * ultimate * period)


def _next_cycle(relay: Relay) -> Relay:
    if not relay.started:
        return replace(relay, started=True, samples=relay.samples[-1:])
    swing, length = max(relay.samples) - min(relay.samples), len(relay.samples) - 1
    return replace(
        relay,
        samples=relay.samples[-1:],
        amplitudes=(*relay.amplitudes, swing),
        periods=(*relay.periods, length),
    )
