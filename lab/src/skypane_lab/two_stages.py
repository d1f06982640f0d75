"""TwoStages: the pane stage and the window stage on one clock; workers of both come and go while panes are open."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count
from typing import Generic, TypeVar

from skypane.tuning.splitting.pane_strategy import Allocation
from skypane_lab.virtual_pane_stage import FinishedPane, Shard, VirtualPaneStage
from skypane_lab.virtual_window_stage import VirtualWindowStage, WindowRun

P = TypeVar("P")

PartialOf = Callable[[int, Shard], P]
"""The partial of a shard of a pane; asked once, when the shard gets no more records."""


class TwoStages(Generic[P]):
    """Call all methods in order of time. A shard that is ready goes to the window stage at once, not at the end."""

    def __init__(self, panes: VirtualPaneStage, windows: VirtualWindowStage[P], partial_of: PartialOf[P]) -> None:
        self.panes = panes
        self.windows = windows
        self._partial_of = partial_of
        self._ready: list[tuple[float, int, int, P]] = []
        self._numbers = count()

    def advance(self, now_us: float) -> None:
        """Everything that happens by now."""
        while self._ready and self._ready[0][0] <= now_us:
            at_us, _, pane, partial = heapq.heappop(self._ready)
            self.windows.offer(at_us, pane, partial)
        self.windows.advance(now_us)

    def arrive(self, now_us: float, pane: int, records: int) -> list[Allocation]:
        """Records of a pane come."""
        return self.panes.arrive(now_us, pane, records)

    def close(self, now_us: float, pane: int) -> FinishedPane:
        """No more records of a pane come."""
        self.advance(now_us)
        finished = self.panes.punctuate(now_us, pane)
        self.windows.close(now_us, pane, len(finished.all_shards()))
        self._send([(pane, shard) for shard in finished.shards])
        return finished

    def resize(self, now_us: float, pane_degree: int, window_degree: int) -> None:
        """So many workers from now on."""
        self.advance(now_us)
        self._send(self.panes.resize(now_us, pane_degree))
        self.windows.resize(now_us, window_degree)

    def drain(self) -> WindowRun[P]:
        """Until nothing is left to do."""
        while self._ready:
            self.advance(self._ready[0][0])
        return self.windows.drain()

    def _send(self, shards: list[tuple[int, Shard]]) -> None:
        for pane, shard in shards:
            entry = (shard.ready_us, next(self._numbers), pane, self._partial_of(pane, shard))
            heapq.heappush(self._ready, entry)
