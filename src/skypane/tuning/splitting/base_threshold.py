"""BaseThreshold: how large a shard usually is - mean plus standard deviation of the shards closed lately."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

WARM_UP_PANES = 5
MEMORY_PANES = 300
"""Long against the sampling period: the threshold limits the shards it is made from, and must not chase itself."""


class _PaneSums(NamedTuple):
    shards: int
    records: int
    squares: int


class BaseThreshold:
    """Remembers the last closed panes by their shards; shards without records are left out.

    Only sums are kept of each pane, whole numbers throughout: the same panes give the same threshold, bit for bit,
    however they came to be remembered.
    """

    def __init__(self) -> None:
        self._panes: deque[_PaneSums] = deque()
        self._total = _PaneSums(0, 0, 0)

    def observe(self, shards: Iterable[int]) -> None:
        """Take in the shard sizes of a closed pane."""
        sizes = [size for size in shards if size > 0]
        if sizes:
            self._remember(_PaneSums(len(sizes), sum(sizes), sum(size * size for size in sizes)))

    def _remember(self, pane: _PaneSums) -> None:
        self._panes.append(pane)
        gone = self._panes.popleft() if len(self._panes) > MEMORY_PANES else _PaneSums(0, 0, 0)
        self._total = _PaneSums(*(old + new - out for old, new, out in zip(self._total, pane, gone, strict=True)))

    @property
    def records(self) -> float:
        """The threshold in records; infinite, so that nothing is split, during the first panes."""
        if len(self._panes) < WARM_UP_PANES:
            return math.inf
        mean = self._total.records / self._total.shards
        return mean + math.sqrt(max(0.0, self._total.squares / self._total.shards - mean * mean))

    @property
    def largest_pane(self) -> int:
        """The largest pane remembered: a threshold above it splits nothing."""
        return max((pane.records for pane in self._panes), default=0)

    @property
    def mean_pane(self) -> float:
        """The mean size of the panes remembered."""
        return self._total.records / len(self._panes) if self._panes else 0.0

    def to_json(self) -> list[list[int]]:
        """A form that survives JSON."""
        return [list(pane) for pane in self._panes]

    def restore(self, body: Sequence[Sequence[int]]) -> None:
        """Continue from :meth:`to_json`."""
        self._panes, self._total = deque(), _PaneSums(0, 0, 0)
        for pane in body:
            self._remember(_PaneSums(*pane))
