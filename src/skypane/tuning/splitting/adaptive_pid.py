"""Adaptive splitting under control: the least splitting with which the stage keeps up (paper 1, AS_PID)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from skypane.tuning.splitting.adaptive import Adaptive
from skypane.tuning.splitting.relay import Relay
from skypane.tuning.splitting.splitting_controller import ControlOptions, SplittingController
from skypane.tuning.splitting.utilization import Measurement

MIN_ALPHA, MAX_ALPHA = 0.001, 20.0


class AdaptivePid(Adaptive):
    """The threshold is ``alpha`` times the base threshold; a PID moves alpha to keep utilization at the set-point.

    The base threshold is made of whole panes here, of the shards that there would be without splitting. Made of the
    shards there are, which the threshold limits, it would follow any alpha below 1 down until every worker has a shard
    of every pane: alpha would set how fast the threshold falls, not where it is, and no PID holds that still.
    """

    name = "adaptive_pid"

    def __init__(self, degree: int, control: ControlOptions | None = None) -> None:
        super().__init__(degree)
        self._alpha = 1.0
        self._controller = SplittingController(control or ControlOptions())

    @property
    def threshold(self) -> float:
        """Alpha times the base threshold."""
        return self._alpha * self._base_records

    def feedback(self, measurement: Measurement) -> None:
        """Move alpha, within the range in which it makes a difference.

        The adjustment is relative. Utilization goes about with the threshold, so that a step of 0.1 is a large one
        at alpha 0.3 and a small one at 3. As a power, since ``alpha * (1 + x)`` goes down further than it comes up.
        """
        low, high = self._range()
        blocked = 1 if self._alpha >= high else -1 if self._alpha <= low else 0
        self._alpha *= math.exp(self._controller.adjust(measurement, blocked))
        self._alpha = max(low, min(high, self._alpha))

    def _observe(self, sizes: Sequence[int]) -> None:
        self._base.observe([sum(sizes)])

    def _range(self) -> tuple[float, float]:
        """Beyond these alphas nothing changes, so going there would only delay the way back (windup of alpha itself).

        Above the largest pane nothing is split. At half an even share of a mean pane every worker has a shard of all
        but small panes; to go lower is to come back late when the backlog of an overload is gone.
        """
        base = self._base_records
        if not math.isfinite(base) or base <= 0:
            return MIN_ALPHA, MAX_ALPHA
        high = max(1.0, min(MAX_ALPHA, 1.05 * self._base.largest_pane / base))
        low = max(MIN_ALPHA, min(1.0, 0.5 * self._base.mean_pane / self.degree / base))
        return low, high

    @property
    def relay(self) -> Relay:
        """The experiment that the gains are from."""
        return self._controller.relay

    def describe(self) -> dict[str, float]:
        """The threshold, alpha and the gains."""
        gains = self._controller.gains
        found = {} if gains is None else {"kp": gains.proportional, "ki": gains.integral, "kd": gains.derivative}
        return {**super().describe(), "alpha": self._alpha, **found}

    def memory(self) -> dict[str, Any]:
        """With alpha and the controller."""
        return {**super().memory(), "alpha": self._alpha, "controller": self._controller.to_json()}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Continue with the same alpha and controller."""
        super().recall(memory)
        self._alpha = memory["alpha"]
        self._controller.restore(memory["controller"])
