"""Latency: how long panes and windows took, by the definitions 1 to 3 of the first paper.

A record arrives when the source cuts the batch that has it, and is computed with that batch. So a pane's latency is
the time from its first to its last batch; its closing lag the time from its last batch to the one that sealed it; a
window's latency the time from the first batch with any of its records to the one that answered it.

No cost grows with how much windows overlap: of sealed panes only those are remembered that are the first to come in
some window yet to fire, and windows are counted by the pane that was first in them, not one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from skypane.model.groups import Int64Array
from skypane.model.panes import Panes

MAX_SEALED = 1_024
"""Of more sealed panes, neighbours are thrown together; latencies of windows are then off by 0.2 %, at most."""
MAX_OPEN = 16_384
"""Of more open panes, only the newest are measured."""


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


class PaneRun(NamedTuple):
    """Panes in a row that came together."""

    first_pane: int
    panes: int
    first_us: int
    last_us: int


@dataclass(frozen=True)
class PaneClock:
    """The times of all panes that are open, or in a window that is; a part of the committed state."""

    runs: tuple[PaneRun, ...] = ()

    @classmethod
    def of(cls, panes: Mapping[int, PaneTimes]) -> PaneClock:
        """Neighbours with the same times make one run."""
        runs: list[PaneRun] = []
        for pane, times in sorted(panes.items()):
            if runs and runs[-1].first_pane + runs[-1].panes == pane and runs[-1][2:] == times:
                runs[-1] = runs[-1]._replace(panes=runs[-1].panes + 1)
            else:
                runs.append(PaneRun(first_pane=pane, panes=1, first_us=times.first_us, last_us=times.last_us))
        return cls(tuple(runs))

    @property
    def panes(self) -> dict[int, PaneTimes]:
        """Each pane with its first and last arrival."""
        return {
            pane: PaneTimes(first_us, last_us)
            for first, count, first_us, last_us in self.runs
            for pane in range(first, first + count)
        }

    def advance(
        self,
        window: Panes,
        records_by_pane: Mapping[int, int],
        now_us: int,
        before_us: int | None,
        after_us: int | None,
    ) -> tuple[PaneClock, Latencies]:
        """One step at ``now_us``, which moved the watermark from ``before_us`` to ``after_us``."""
        panes = self.panes
        for pane in records_by_pane:
            panes[pane] = PaneTimes(panes[pane].first_us if pane in panes else now_us, now_us)
        if after_us is None:
            return PaneClock.of(_newest(panes)), Latencies()
        sealed = window.sealed_before(after_us)
        sealed_from = min(panes, default=0) if before_us is None else window.sealed_before(before_us)
        closed = [times for pane, times in panes.items() if sealed_from <= pane < sealed]
        first = {pane: times.first_us for pane, times in panes.items()}
        first_us, windows = _windows_by_first(first, window, before_us, after_us)
        waited_us = sum((now_us - first) * count for first, count in zip(first_us, windows, strict=True))
        latencies = Latencies(
            _mean_ms(sum(times.last_us - times.first_us for times in closed), len(closed)),
            _mean_ms(sum(now_us - times.last_us for times in closed), len(closed)),
            None if window.counted else _mean_ms(waited_us, sum(windows)),
        )
        needed_from = window.first_pane(window.closed_before(after_us))
        past = sorted((pane, times.first_us) for pane, times in panes.items() if needed_from <= pane < sealed)
        return PaneClock.of(_first_comers(past) | _newest({p: t for p, t in panes.items() if p >= sealed})), latencies


def first_arrivals_us(
    window: Panes, first_us_by_pane: Mapping[int, int], before_us: int | None, after_us: int
) -> list[int]:
    """When the first record came of each window that a watermark from ``before_us`` to ``after_us`` answers."""
    # Windows that share their first arrival follow each other, in the order of the panes that it was in.
    first_us, windows = _windows_by_first(first_us_by_pane, window, before_us, after_us)
    arrivals: list[int] = np.repeat(np.array(first_us, dtype=np.int64), windows).tolist()
    return arrivals


def _windows_by_first(
    first_us_by_pane: Mapping[int, int], window: Panes, before_us: int | None, after_us: int
) -> tuple[list[int], list[int]]:
    """Of each pane, oldest first, when it came, and how many of the windows to answer had no record before that.

    These are the windows that have the pane, but neither the nearest older pane that came no later, nor the nearest
    younger one that came sooner. Where windows lie far apart or long gaps between records, only windows with records
    count.
    """
    if not first_us_by_pane:
        return [], []
    panes = np.array(sorted(first_us_by_pane), dtype=np.int64)
    first_us = [first_us_by_pane[pane] for pane in panes.tolist()]
    older, younger = _earlier_neighbours(first_us)
    low, high = window.first_window(panes), window.last_window(panes)
    # One entry more, for panes without such a neighbour: the last of an array is also its place -1.
    far = 2**62
    after_older = np.append(high, -far)[older] + 1
    before_younger = np.append(low, far)[younger] - 1
    begin = np.maximum(low, after_older)
    end = np.minimum(np.minimum(high, before_younger), window.closed_before(after_us) - 1)
    if before_us is not None:
        begin = np.maximum(begin, window.closed_before(before_us))
    return first_us, np.maximum(end - begin + 1, 0).tolist()


def _earlier_neighbours(first_us: Sequence[int]) -> tuple[Int64Array, Int64Array]:
    """Of each place, the nearest before it with no larger time, and the nearest after it with a smaller one; or -1."""
    before, after = [-1] * len(first_us), [-1] * len(first_us)
    rising: list[int] = []
    for place, time_us in enumerate(first_us):
        while rising and first_us[rising[-1]] > time_us:
            after[rising.pop()] = place
        if rising:
            before[place] = rising[-1]
        rising.append(place)
    return np.array(before, dtype=np.int64), np.array(after, dtype=np.int64)


def _first_comers(past: Sequence[tuple[int, int]]) -> dict[int, PaneTimes]:
    """The sealed panes (in order, with the time they came) that may be the first to come in some window.

    A window yet to fire that has a sealed pane has all younger sealed panes, too: if one of these came no later, the
    older one is not needed.
    """
    kept: list[tuple[int, int]] = []
    for pane, first_us in past:
        while kept and kept[-1][1] >= first_us:
            kept.pop()
        kept.append((pane, first_us))
    if len(kept) > MAX_SEALED:
        # A power of two as grain: what was thrown together by the last step stays as it is in this one.
        grain_us = 1 << ((kept[-1][1] - kept[0][1]) // MAX_SEALED).bit_length()
        youngest: dict[int, tuple[int, int]] = {}
        for pane, first_us in kept:
            youngest[first_us // grain_us] = (pane, youngest.get(first_us // grain_us, (pane, first_us))[1])
        kept = list(youngest.values())
    return {pane: PaneTimes(first_us, first_us) for pane, first_us in kept}


def _newest(panes: Mapping[int, PaneTimes]) -> dict[int, PaneTimes]:
    if len(panes) <= MAX_OPEN:
        return dict(panes)
    return {pane: panes[pane] for pane in sorted(panes)[-MAX_OPEN:]}


def _mean_ms(total_us: int, count: int) -> float | None:
    return round(total_us / count / 1e3, 3) if count else None
