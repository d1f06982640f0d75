"""Adaptive splitting: a shard grows to a threshold, then the least loaded worker takes over (paper 1, AS)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from skypane.tuning.splitting.base_threshold import BaseThreshold
from skypane.tuning.splitting.pane_strategy import Allocation, PaneStrategy, Queues


class Adaptive(PaneStrategy):
    """The threshold is the base threshold: mean plus standard deviation of the shards closed lately."""

    name = "adaptive"

    def __init__(self, degree: int) -> None:
        super().__init__(degree)
        self._base = BaseThreshold()
        self._base_records = math.inf
        self._owners: dict[int, int] = {}
        self._last_chosen = -1

    @property
    def threshold(self) -> float:
        """Records that a shard may have before the pane goes on elsewhere."""
        return self._base_records

    def choose(self, pane: int, records: int, shards: Mapping[int, int], queues: Queues) -> list[Allocation]:
        """Fill the active shard, then turn to the least loaded worker."""
        limit = self.threshold
        owner = self._owners.get(pane)
        if owner is not None and shards[owner] + records <= limit:
            return [Allocation(owner, records)]
        sizes, lengths = dict(shards), list(queues.lengths())
        allocations: list[Allocation] = []
        left = records
        while left:
            if owner is None or sizes.get(owner, 0) >= limit:
                owner = self._least_loaded(lengths)
            room = limit - sizes.get(owner, 0)
            # A shard that is full and active again, because its worker is the least loaded, gets a little at a time.
            take = left if room >= left else math.ceil(room) if room > 0 else -(-records // self.degree)
            take = min(take, left)
            allocations.append(Allocation(owner, take))
            sizes[owner] = sizes.get(owner, 0) + take
            lengths[owner] += take
            left -= take
        assert owner is not None
        self._owners[pane] = owner
        return allocations

    def _least_loaded(self, lengths: list[int]) -> int:
        """The worker with the shortest queue; of equals the next after the one chosen last."""
        start = self._last_chosen + 1
        worker = min(((start + i) % self.degree for i in range(self.degree)), key=lengths.__getitem__)
        self._last_chosen = worker
        return worker

    def on_close(self, pane: int, shards: Mapping[int, int]) -> None:
        """Remember how large its shards were."""
        self._owners.pop(pane, None)
        self._observe([*shards.values(), *self.handed_in(pane)])
        self._base_records = self._base.records

    def _observe(self, sizes: Sequence[int]) -> None:
        self._base.observe(sizes)

    def describe(self) -> dict[str, float]:
        """The threshold, for ``explain()``."""
        return {"threshold": self.threshold}

    def on_resize(self, before: int) -> None:
        """Active shards go with their workers' records; the threshold stays."""
        del before
        self._owners = {pane: owner % self.degree for pane, owner in self._owners.items()}
        self._last_chosen = min(self._last_chosen, self.degree - 1)

    def on_leave(self, before: int, numbers: Mapping[int, int], lengths: Sequence[int]) -> None:
        """Panes whose active shard left go to the least loaded worker; without a shard of it, it opens an empty one."""
        del before
        self._last_chosen = numbers.get(self._last_chosen, -1)
        waiting = list(lengths)
        for pane, owner in self._owners.items():
            self._owners[pane] = now = numbers[owner] if owner in numbers else self._least_loaded(waiting)
            self._shards[pane].setdefault(now, 0)

    def memory(self) -> dict[str, Any]:
        """The owners of the active shards and the shards seen."""
        return {
            "owners": sorted(self._owners.items()),
            "last_chosen": self._last_chosen,
            "base": self._base.to_json(),
        }

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Continue with the same owners and the same threshold."""
        self._owners = dict(memory["owners"])
        self._last_chosen = memory["last_chosen"]
        self._base.restore(memory["base"])
        self._base_records = self._base.records
