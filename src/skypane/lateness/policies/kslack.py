"""KSlack: wait as long as the largest delay seen so far (paper 1, section 4.1.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from skypane.lateness.policy import AUTO, Lateness, Observation, PolicyState, SlackBounds
from skypane.model.durations import Duration, format_duration_us, parse_duration_us
from skypane.model.panes import Panes

_PERIODS = 8
"""The memory is forgotten in so many parts, the oldest first."""


@dataclass(frozen=True)
class KSlack(Lateness):
    """Start with ``initial_slack`` and grow to the largest delay that any record, late ones included, has shown.

    As in the paper the slack never shrinks, unless ``memory`` says after how much stream time a delay is forgotten.
    Unlike in the paper it is bounded: by ten windows, at least a minute, unless ``max_slack`` says otherwise (``None``
    for no bound). A delay beyond the bound is not learned: such a record would be late with any slack that is allowed.
    """

    name = "K-slack"

    initial_slack: Duration = "0 seconds"
    max_slack: Duration | None = AUTO
    memory: Duration | None = None

    def __post_init__(self) -> None:
        _ = self._bounds, self._memory_us

    @property
    def _bounds(self) -> SlackBounds:
        return SlackBounds.parse("KSlack", self.initial_slack, self.max_slack)

    @property
    def _memory_us(self) -> int | None:
        return None if self.memory is None else parse_duration_us(self.memory, "KSlack(memory)")

    def describe(self) -> Mapping[str, object]:
        """The bounds of the slack."""
        return {
            **self._bounds.describe(),
            **({} if self._memory_us is None else {"memory": format_duration_us(self._memory_us)}),
        }

    def for_window(self, panes: Panes) -> KSlack:
        """Set the bound of the slack that suits the windows."""
        max_us = self.max_slack_us(panes)
        return self if max_us is None else replace(self, max_slack=timedelta(microseconds=max_us))

    def max_slack_us(self, panes: Panes) -> int | None:
        """The bound of the slack."""
        return self._bounds.max_slack_us(panes)

    def initial(self) -> PolicyState:
        """The initial slack."""
        return {"slack_us": self._bounds.initial_us}

    def observe(self, state: PolicyState, seen: Observation) -> PolicyState:
        """Grow to the largest delay; forget those of long ago."""
        initial = self._bounds.initial_us
        if self._memory_us is None or seen.front_us is None:
            return {"slack_us": max(state.get("slack_us", initial), seen.max_delay_us)}
        period = seen.front_us // max(1, self._memory_us // _PERIODS)
        largest = {int(p): int(d) for p, d in state.get("largest", [])}
        largest[period] = max(largest.get(period, 0), seen.max_delay_us)
        kept = [[p, d] for p, d in sorted(largest.items()) if p > period - _PERIODS]
        return {"slack_us": max(initial, *(d for _, d in kept)), "largest": kept}

    def slack_us(self, state: PolicyState) -> int:
        """The largest delay, within the bound."""
        return self._bounds.clip_us(int(state.get("slack_us", self._bounds.initial_us)))
