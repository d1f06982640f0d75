"""Pace: how long to gather records before the next step, so that answers come within a bound (paper 5, corrected).

A record that just misses a step waits until the next one is cut, and for that step: with an interval I between cuts,
and steps that take ``fixed + record x rate x I``, for ``I + fixed + record x rate x I`` at most. Larger steps are
cheaper for each record, so I is as long as the bound allows; where none is short enough, steps follow each other. The
paper's batch of B windows is what ends within I: B = I / slide.
"""

from __future__ import annotations

from collections import deque

from skypane.tuning.planner.cost_model import EWMA_WEIGHT, LeastSquares

HEADROOM = 0.1
"""The share of the bound that is kept in reserve."""
_REMEMBERED = 8


class Pace:
    """Fed with what every step took; of one run, since it decides nothing but when batches are cut."""

    def __init__(self, max_latency_us: int, slide_us: int | None = None) -> None:
        self.max_latency_us = max_latency_us
        self._slide_us = slide_us
        """Between the ends of two windows of a key, where they end by the clock."""
        self._sums = LeastSquares(1e-6, 0.0, 1e-6, 0.0, 0.0)
        self._between_us: deque[float] = deque(maxlen=_REMEMBERED)
        self._rate: float | None = None
        """Records in a microsecond."""
        self.gather_us = 0.0
        """How long to wait after the last step."""

    def between(self, us: float) -> None:
        """From the end of the wait until the next step began: the engine's own time, if there were records at all."""
        self._between_us.append(us)

    def stepped(self, records: int, took_us: float, interval_us: float | None) -> None:
        """A step of so many records; ``interval_us`` since the one before was cut."""
        if interval_us:
            seen = records / interval_us
            self._rate = seen if self._rate is None else (1 - EWMA_WEIGHT) * self._rate + EWMA_WEIGHT * seen
        self._sums = self._sums.with_step(records, 1.0, round(took_us))
        within = self._within_us()
        self.gather_us = max(0.0, within - self.step_us(within))

    def step_us(self, interval_us: float) -> float:
        """What a step takes that has the records of so long, until its answers are published."""
        record_us, fixed_us = self._sums.solved()
        return self._own_us + fixed_us + record_us * (self._rate or 0.0) * interval_us

    def interval_us(self) -> float:
        """The longest time between cuts that keeps the bound; never shorter than the step itself.

        Infinite if records come faster than steps can ingest them: then each step is longer than the one before.
        """
        slope = self._slope()
        return max(self._within_us(), self.step_us(0.0) / (1 - slope)) if slope < 1 else float("inf")

    def _within_us(self) -> float:
        """The longest time between cuts with which a record waits no longer than it may; 0 if there is none."""
        return max(0.0, (self.max_latency_us * (1 - HEADROOM) - self.step_us(0.0)) / (1 + self._slope()))

    def _slope(self) -> float:
        """How much longer a step takes for each microsecond for which records are gathered."""
        return (self.step_us(1e6) - self.step_us(0.0)) / 1e6

    def latency_us(self) -> float:
        """The longest that a record is expected to wait for its answer, once its window has ended."""
        interval = self.interval_us()
        return interval + self.step_us(interval) if interval < float("inf") else interval

    def max_records(self) -> int | None:
        """Admission: the largest step that keeps the bound also while records wait behind it, if any does.

        Steps follow each other then, and a record that just misses one waits for that and for its own.
        """
        record_us, _ = self._sums.solved()
        left_us = self.max_latency_us * (1 - HEADROOM) / 2 - self.step_us(0.0)
        return int(left_us / record_us) if left_us > 0 and record_us > 0 else None

    def windows(self) -> float | None:
        """How many windows of each key a step answers, about: paper 5's B."""
        interval = self.interval_us()
        return None if self._slide_us is None or interval == float("inf") else interval / self._slide_us

    @property
    def _own_us(self) -> float:
        """The engine's own time for a step: the least that was seen lately, since it also waits for records there."""
        return min(self._between_us, default=0.0)

    def explain(self) -> str:
        """What is done, in words."""
        if self._rate is None:
            return "decided from the first steps; until then they follow each other at once"
        gathers, latency_us = f"gathers records for {self.gather_us / 1e3:.0f} ms a step", self.latency_us()
        if latency_us == float("inf"):
            return f"{gathers}; more records come than steps keep up with, so answers come later and later"
        windows, most = self.windows(), self.max_records()
        answers = "" if windows is None else f" and answers {windows:.1f} windows of a key at a time"
        admits = "" if most is None else f"; with up to {most:,} records in a step the bound holds after a delay, too"
        return f"{gathers}{answers}; {latency_us / 1e3:.0f} ms predicted{admits}"
