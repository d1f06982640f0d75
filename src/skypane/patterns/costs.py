"""Costs: what records, rows, windows and jobs take, learned from a query's own steps; committed with them.

The first guess is what a small machine measured. Whatever is learned changes who does later work, never an answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

NEWS = 0.3
"""How much of what is expected is the last step's."""
FADES = 0.9
"""How much of what was measured before still counts with each step."""


class Costs(NamedTuple):
    """Microseconds."""

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
    exchange_us: float = 1.0
    """For each record that is sent to another task."""


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
class Measured:
    """One step."""

    load: Load
    pane_busy_us: Sequence[int] = ()
    """By task."""
    pane_us: int = 0
    window_busy_us: Sequence[int] = ()
    window_us: int = 0
    rows_read: int = 0
    in_driver: bool = True


@dataclass(frozen=True)
class Sums:
    """Least squares with two unknowns: what rows and windows take together. Begins with a first guess."""

    rows_rows: float = 1e6
    rows_windows: float = 0.0
    windows_windows: float = 1e2
    rows_us: float = 1e6 * Costs().row_us
    windows_us: float = 1e2 * Costs().window_us

    def with_step(self, rows: int, windows: float, busy_us: int) -> Sums:
        """One more measurement; older ones fade."""
        return Sums(
            FADES * self.rows_rows + rows * rows,
            FADES * self.rows_windows + rows * windows,
            FADES * self.windows_windows + windows * windows,
            FADES * self.rows_us + rows * busy_us,
            FADES * self.windows_us + windows * busy_us,
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
class Learned:
    """What a query knows of itself after some steps."""

    steps: int = 0
    costs: Costs = field(default_factory=Costs)
    load: Load = field(default_factory=Load)
    sums: Sums = field(default_factory=Sums)

    def after(self, step: Measured) -> Learned:
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
            sums = sums.with_step(step.rows_read, step.load.windows, sum(step.window_busy_us))
            row_us, window_us = sums.solved()
            costs = costs._replace(row_us=row_us, window_us=window_us)
            if not step.in_driver:
                over = max(0, step.window_us - max(step.window_busy_us))
                costs = costs._replace(window_job_us=_mixed(costs.window_job_us, over))
        return replace(self, steps=self.steps + 1, costs=costs, load=load, sums=sums)

    def _load(self, step: Measured) -> Load:
        """What is to be expected; a step without a window stage says nothing of it."""
        first = self.steps == 0 or not self.load.rows
        seen = step.load if step.rows_read else self.load._replace(records=step.load.records, longest=step.load.longest)
        return seen if first else Load(*(_mixed(old, new) for old, new in zip(self.load, seen, strict=True)))

    def _mixed(self, expected: float, seen: float) -> float:
        """The first thing seen counts alone."""
        return float(seen) if self.steps == 1 else _mixed(expected, seen)


def _mixed(expected: float, seen: float) -> float:
    """The last thing seen counts a little."""
    return (1 - NEWS) * expected + NEWS * seen
