"""Costs: what records, rows, windows and jobs take, learned from a query's own steps; committed with them.

The first guess is what a small machine measured. Whatever is learned changes who does later work, never an answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

EWMA_WEIGHT = 0.3
"""How much of what is expected is the last step's."""
DECAY = 0.9
"""How much of what was measured before still counts with each step."""
SLOWER, MAX_SLOWER = 1.2, 3.0
"""Tasks beside each other, over one alone in the driver: as long as nothing is known, and at most."""
FORGOTTEN = 0.03
"""How much of that is forgotten with each step in the driver."""


class Costs(NamedTuple):
    """The costs of records, rows, windows and jobs in microseconds, and a ratio."""

    record_us: float = 1.0
    """For each record of the pane stage."""
    row_us: float = 0.3
    """For each row that the window stage reads."""
    window_us: float = 30.0
    """For each answer of the window stage, one for each key and window."""
    pane_job_us: float = 80_000.0
    """For the job of the pane stage, beside what its longest task does."""
    window_job_us: float = 100_000.0
    """The same of the window stage, if it does not run in the driver."""
    exchange_us: float = 3.0
    """For each record that is sent to another task."""
    exchange_job_us: float = 100_000.0
    """For sending any at all."""
    slower: float = SLOWER
    """What rows and answers take in tasks of a job, over what they take in the driver, which knows the state."""


class Load(NamedTuple):
    """What a step has to do."""

    records: float = 0.0
    rows: float = 0.0
    """Rows that windows are answered from, each once."""
    windows: float = 0.0
    visits: float = 1.0
    """How many windows look at a row."""
    heaviest: float = 1.0
    """The share of the key group with most rows."""
    longest: float = 1.0
    """The share of the pane-stage task that took longest, in what all took."""


@dataclass(frozen=True)
class StepTiming:
    """What a step measured, for the cost model."""

    load: Load
    pane_busy_us: Sequence[int] = ()
    """By task."""
    pane_us: int = 0
    window_busy_us: Sequence[int] = ()
    window_us: int = 0
    rows_read: int = 0
    in_driver: bool = True


@dataclass(frozen=True)
class LeastSquares:
    """Least squares with two unknowns: what rows and windows take together. Begins with a first guess."""

    rows_rows: float = 1e6
    rows_windows: float = 0.0
    windows_windows: float = 1e2
    rows_us: float = 1e6 * Costs().row_us
    windows_us: float = 1e2 * Costs().window_us

    def with_step(self, rows: int, windows: float, busy_us: int) -> LeastSquares:
        """One more measurement; older ones fade."""
        return LeastSquares(
            DECAY * self.rows_rows + rows * rows,
            DECAY * self.rows_windows + rows * windows,
            DECAY * self.windows_windows + windows * windows,
            DECAY * self.rows_us + rows * busy_us,
            DECAY * self.windows_us + windows * busy_us,
        )

    def solved(self) -> tuple[float, float]:
        """Microseconds for a row and for a window; neither is less than nothing."""
        determinant = self.rows_rows * self.windows_windows - self.rows_windows**2
        if determinant > 1e-9 * self.rows_rows * self.windows_windows:
            row = (self.rows_us * self.windows_windows - self.windows_us * self.rows_windows) / determinant
            window = (self.windows_us * self.rows_rows - self.rows_us * self.rows_windows) / determinant
            if row >= 0 and window >= 0:
                return row, window
        if self.rows_us > self.windows_us:
            return self.rows_us / self.rows_rows, 0.0
        return 0.0, self.windows_us / self.windows_windows


@dataclass(frozen=True)
class CostModel:
    """What a query knows of itself after some steps."""

    steps: int = 0
    costs: Costs = field(default_factory=Costs)
    load: Load = field(default_factory=Load)
    sums: LeastSquares = field(default_factory=LeastSquares)
    in_driver: bool = False
    """Whether windows have been answered in the driver."""

    def after(self, step: StepTiming) -> CostModel:
        """With what one more step says; in the first one everything is slow, so it says nothing of costs."""
        load = self._load(step)
        if self.steps == 0:
            return replace(self, steps=1, load=load)
        costs, sums, busy = self.costs, self.sums, sum(step.pane_busy_us)
        if busy and step.load.records:
            over = max(0, step.pane_us - max(step.pane_busy_us))
            costs = costs._replace(
                record_us=self._mixed(costs.record_us, busy / step.load.records),
                pane_job_us=self._mixed(costs.pane_job_us, over),
            )
        if step.window_busy_us and step.rows_read:
            costs, sums = self._windows(step, costs)
        in_driver = self.in_driver or (step.in_driver and step.rows_read > 0)
        return replace(self, steps=self.steps + 1, costs=costs, load=load, sums=sums, in_driver=in_driver)

    def _windows(self, step: StepTiming, costs: Costs) -> tuple[Costs, LeastSquares]:
        """Of the driver: what rows and answers take. Of a job, once that is known: how much slower its tasks are."""
        busy_us, sums = sum(step.window_busy_us), self.sums
        if step.in_driver or not self.in_driver:
            # Of threads beside each other only one counts.
            alone_us = min(busy_us, step.window_us or busy_us) if step.in_driver else busy_us / SLOWER
            sums = sums.with_step(step.rows_read, step.load.windows, round(alone_us))
            row_us, window_us = sums.solved()
            costs = costs._replace(row_us=row_us, window_us=window_us)
        if step.in_driver:
            # Slowly forgotten, so that a job is tried again.
            return costs._replace(slower=costs.slower + FORGOTTEN * (SLOWER - costs.slower)), sums
        expected_us = costs.row_us * step.rows_read + costs.window_us * step.load.windows
        seen = min(max(busy_us / max(1.0, expected_us), 1.0), MAX_SLOWER)
        over = max(0, step.window_us - max(step.window_busy_us))
        mixed = {"window_job_us": _mixed(costs.window_job_us, over), "slower": _mixed(costs.slower, seen)}
        return costs._replace(**mixed), sums

    def _load(self, step: StepTiming) -> Load:
        """What is to be expected; a step without a window stage says nothing of it."""
        first = self.steps == 0 or not self.load.rows
        seen = step.load if step.rows_read else self.load._replace(records=step.load.records, longest=step.load.longest)
        return seen if first else Load(*(_mixed(old, new) for old, new in zip(self.load, seen, strict=True)))

    def _mixed(self, expected: float, seen: float) -> float:
        """The first thing seen counts alone."""
        return float(seen) if self.steps == 1 else _mixed(expected, seen)


def _mixed(expected: float, seen: float) -> float:
    """The last thing seen counts a little."""
    return (1 - EWMA_WEIGHT) * expected + EWMA_WEIGHT * seen
