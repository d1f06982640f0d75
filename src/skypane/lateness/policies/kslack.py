"""KSlack: wait as long as the largest delay seen so far (paper 1, section 4.1.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from skypane.lateness.policy import Lateness, Observation, PolicyState, slack_bounds_us
from skypane.model.durations import Duration, format_duration_us, parse_duration_us

_PERIODS = 8
"""The memory is forgotten in so many parts, the oldest first."""


@dataclass(frozen=True)
class KSlack(Lateness):
    """Start with ``initial_slack`` and grow to the largest delay that any record, late ones included, has shown.

    As in the paper the slack never shrinks, unless ``memory`` says after how much stream time a delay is forgotten.
    """

    name = "K-slack"

    initial_slack: Duration = "0 seconds"
    max_slack: Duration | None = None
    memory: Duration | None = None

    def __post_init__(self) -> None:
        slack_bounds_us("KSlack", self.initial_slack, self.max_slack)
        _ = self._memory_us

    @property
    def _bounds_us(self) -> tuple[int, int | None]:
        return slack_bounds_us("KSlack", self.initial_slack, self.max_slack)

    @property
    def _memory_us(self) -> int | None:
        return None if self.memory is None else parse_duration_us(self.memory, "KSlack(memory)")

    def describe(self) -> Mapping[str, object]:
        """The bounds of the slack."""
        initial, bound = self._bounds_us
        return {
            "initial slack": format_duration_us(initial),
            "max slack": "unbounded" if bound is None else format_duration_us(bound),
            **({} if self._memory_us is None else {"memory": format_duration_us(self._memory_us)}),
        }

    def initial(self) -> PolicyState:
        """The initial slack."""
        return {"slack_us": self._bounds_us[0]}

    def observe(self, state: PolicyState, seen: Observation) -> PolicyState:
        """Grow to the largest delay; forget those of long ago."""
        initial = self._bounds_us[0]
        if self._memory_us is None or seen.front_us is None:
            return {"slack_us": max(state.get("slack_us", initial), seen.max_delay_us)}
        period = seen.front_us // max(1, self._memory_us // _PERIODS)
        largest = {int(p): int(d) for p, d in state.get("largest", [])}
        largest[period] = max(largest.get(period, 0), seen.max_delay_us)
        kept = [[p, d] for p, d in sorted(largest.items()) if p > period - _PERIODS]
        return {"slack_us": max(initial, *(d for _, d in kept)), "largest": kept}

    def slack_us(self, state: PolicyState) -> int:
        """The largest delay, within the bound."""
        initial, bound = self._bounds_us
        slack = int(state.get("slack_us", initial))
        return slack if bound is None else min(slack, bound)
