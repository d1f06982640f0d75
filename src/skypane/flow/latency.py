"""Latency: how long panes and windows took, by the definitions 1 to 3 of the first paper.

A record arrives when the source cuts the batch that has it, and is computed with that batch. So a pane's latency is
the time from its first to its last batch; its closing lag the time from its last batch to the one that sealed it; a
window's latency the time from the first batch with any of its records to the one that answered it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import fmean
from typing import NamedTuple

import numpy as np

from skypane.model.panes import Panes
from skypane.tables.grouping import sort_by
from skypane.tables.ranges import ramp


class PaneTimes(NamedTuple):
    """When the first and the last batch with records of a pane came."""

    first_us: int
    last_us: int


@dataclass(frozen=True)
class Latencies:
    """Means over what one step has sealed or answered; ``None`` where that was nothing."""

    pane_ms: float | None = None
    closing_lag_ms: float | None = None
    window_ms: float | None = None


@dataclass(frozen=True)
class PaneClock:
    """The times of all panes that are open, or in a window that is; a part of the committed state."""

    panes: Mapping[int, PaneTimes] = field(default_factory=dict)

    def advance(
        self,
        window: Panes,
        records_by_pane: Mapping[int, int],
        now_us: int,
        before_us: int | None,
        after_us: int | None,
    ) -> tuple[PaneClock, Latencies]:
        """One step at ``now_us``, which moved the punctuation from ``before_us`` to ``after_us``."""
        panes = dict(self.panes)
        for pane in records_by_pane:
            panes[pane] = PaneTimes(panes[pane].first_us if pane in panes else now_us, now_us)
        if after_us is None:
            return PaneClock(panes), Latencies()
        sealed = window.sealed_before(after_us)
        sealed_from = min(panes, default=0) if before_us is None else window.sealed_before(before_us)
        closed = [times for pane, times in panes.items() if sealed_from <= pane < sealed]
        first = {pane: times.first_us for pane, times in panes.items()}
        latencies = Latencies(
            _mean_ms(times.last_us - times.first_us for times in closed),
            _mean_ms(now_us - times.last_us for times in closed),
            _mean_ms(now_us - first_us for first_us in first_arrivals_us(window, first, before_us, after_us)),
        )
        needed_from = window.first_pane(window.closed_before(after_us))
        return PaneClock({pane: times for pane, times in panes.items() if pane >= needed_from}), latencies

    def to_json(self) -> list[list[int]]:
        """A form that survives JSON."""
        return [[pane, *times] for pane, times in self.panes.items()]

    @classmethod
    def from_json(cls, body: list[list[int]]) -> PaneClock:
        """The inverse of :meth:`to_json`."""
        return cls({pane: PaneTimes(first_us, last_us) for pane, first_us, last_us in body})


def first_arrivals_us(
    window: Panes, first_us_by_pane: Mapping[int, int], before_us: int | None, after_us: int
) -> list[int]:
    """When the first record came of each window that a punctuation from ``before_us`` to ``after_us`` answers."""
    if not first_us_by_pane:
        return []
    numbers = np.array(sorted(first_us_by_pane))
    first_us = np.array([first_us_by_pane[int(pane)] for pane in numbers])
    # Only windows that have a pane: there may be a long gap before them, and windows may be tiny.
    low = window.first_window(numbers)
    count = np.maximum(window.last_window(numbers) - low + 1, 0)
    windows = np.repeat(low, count) + ramp(count)
    starts = np.repeat(first_us, count)
    fired = windows < window.closed_before(after_us)
    if before_us is not None:
        fired &= windows >= window.closed_before(before_us)
    order = sort_by(windows[fired], np.zeros(int(fired.sum()), dtype=np.int64))
    if not len(order.rows):
        return []
    earliest: list[int] = np.minimum.reduceat(starts[fired][order.rows], order.groups.offsets[:-1]).tolist()
    return earliest


def _mean_ms(values: Iterable[int]) -> float | None:
    numbers = list(values)
    return round(fmean(numbers) / 1e3, 3) if numbers else None
