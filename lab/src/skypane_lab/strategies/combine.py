"""Combine: partials are made where the records are, and nothing is sent but partials; control bounds how many places.

The papers route every record to the owner of its shard. Records of a pane are anyway spread over all tasks that read
the source, so the cheapest shards are those that are there. What remains to be decided is how many tasks read: each
makes a shard of every pane. The controller bounds that number, since more shards mean more rows for the window stage.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from skypane.tuning.splitting.pane_strategy import Allocation, PaneStrategy, Queues
from skypane.tuning.splitting.round_robin import dealt
from skypane.tuning.splitting.splitting_controller import ControlOptions, SplittingController
from skypane.tuning.splitting.utilization import Measurement


class Combine(PaneStrategy):
    """Distributes a pane's records evenly over ``spread`` workers, the least loaded when the pane opens."""

    name = "combine"

    def __init__(self, degree: int, control: ControlOptions | None = None) -> None:
        super().__init__(degree)
        self._controller = SplittingController(control or ControlOptions())
        self._share = 1.0
        self._holders: dict[int, list[int]] = {}
        self._turns: dict[int, int] = {}
        self._last_chosen = -1

    @property
    def spread(self) -> int:
        """How many workers may hold a shard of a pane that opens now."""
        return max(1, min(self.degree, round(self._share * self.degree)))

    def choose(self, pane: int, records: int, shards: Mapping[int, int], queues: Queues) -> list[Allocation]:
        """Deal out to the pane's holders, chosen when it opens."""
        del shards
        holders = self._holders.get(pane)
        if holders is None:
            holders = self._holders[pane] = self._open(queues)
        turn = self._turns.get(pane, 0)
        self._turns[pane] = (turn + records) % len(holders)
        return dealt(records, holders[turn:] + holders[:turn], self.degree)

    def _open(self, queues: Queues) -> list[int]:
        lengths, start = queues.lengths(), self._last_chosen + 1
        by_load = sorted(((start + i) % self.degree for i in range(self.degree)), key=lengths.__getitem__)
        holders = by_load[: self.spread]
        self._last_chosen = holders[-1]
        return holders

    def feedback(self, measurement: Measurement) -> None:
        """Spread more above the set-point, less below it."""
        # A positive adjustment asks for less splitting, that is for a smaller share: ends are swapped.
        blocked = 1 if self._share <= 1.0 / self.degree else -1 if self._share >= 1.0 else 0
        self._share *= math.exp(-self._controller.adjust(measurement, blocked))
        self._share = max(1.0 / self.degree, min(1.0, self._share))

    def on_close(self, pane: int, shards: Mapping[int, int]) -> None:
        """Forget its holders."""
        del shards
        self._holders.pop(pane, None)
        self._turns.pop(pane, None)

    def describe(self) -> dict[str, float]:
        """The spread."""
        return {"spread": float(self.spread)}

    def on_resize(self, before: int) -> None:
        """As many shards of a pane as before, as far as there are workers; open panes keep the holders they have."""
        self._share = max(1.0 / self.degree, min(1.0, self._share * before / self.degree))
        self._holders = {
            pane: list(dict.fromkeys(worker % self.degree for worker in workers))
            for pane, workers in self._holders.items()
        }
        self._turns = {pane: turn % len(self._holders[pane]) for pane, turn in self._turns.items()}
        self._last_chosen = min(self._last_chosen, self.degree - 1)

    def memory(self) -> dict[str, Any]:
        """The spread and the holders of the open panes."""
        return {
            "share": self._share,
            "holders": sorted(self._holders.items()),
            "turns": sorted(self._turns.items()),
            "last_chosen": self._last_chosen,
            "controller": self._controller.to_json(),
        }

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Continue with the same spread and holders."""
        self._share = memory["share"]
        self._holders = {pane: list(workers) for pane, workers in memory["holders"]}
        self._turns = dict(memory["turns"])
        self._last_chosen = memory["last_chosen"]
        self._controller.restore(memory["controller"])
