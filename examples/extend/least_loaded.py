"""A pane strategy of your own: a pane stays with the worker that had least to do when the pane opened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import skypane as sp


class LeastLoaded(sp.extend.PaneStrategy):
    """Like ``pane_rr``, no pane is split; unlike it, a busy worker gets no new pane."""

    name = "least_loaded"

    def __init__(self, degree: int) -> None:
        super().__init__(degree)
        self._homes: dict[int, int] = {}

    def choose(
        self, pane: int, records: int, shards: Mapping[int, int], queues: sp.extend.Queues
    ) -> list[sp.extend.Allocation]:
        """All records to the pane's home."""
        if pane not in self._homes:
            lengths = queues.lengths()
            self._homes[pane] = min(range(self.degree), key=lengths.__getitem__)
        return [sp.extend.Allocation(self._homes[pane], records)]

    def on_close(self, pane: int, shards: Mapping[int, int]) -> None:
        """A closed pane needs no home."""
        self._homes.pop(pane, None)

    def on_resize(self, before: int) -> None:
        """Panes go where their shards went."""
        self._homes = {pane: worker % self.degree for pane, worker in self._homes.items()}

    def memory(self) -> Mapping[str, Any]:
        """For the checkpoint; as pairs, since JSON knows only text as keys."""
        return {"homes": sorted(self._homes.items())}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """From the checkpoint."""
        self._homes = dict(memory["homes"])
