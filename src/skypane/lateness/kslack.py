"""KSlack: wait as long as the largest delay seen so far (paper 1, section 4.1.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from skypane.lateness.policy import Delays, Lateness, PolicyState
from skypane.model.durations import Duration, format_duration_us, parse_duration_us
from skypane.model.errors import OptionError


@dataclass(frozen=True)
class KSlack(Lateness):
    """Start with ``initial_slack`` and grow to the largest delay that any record, late ones included, has shown."""

    initial_slack: Duration = "0 seconds"
    max_slack: Duration | None = None

    def __post_init__(self) -> None:
        if self._initial_us > (self._max_us if self._max_us is not None else self._initial_us):
            raise OptionError(
                f"KSlack(initial_slack={self.initial_slack!r}) is longer than max_slack={self.max_slack!r}."
            )

    @property
    def _initial_us(self) -> int:
        return parse_duration_us(self.initial_slack, "KSlack(initial_slack)", zero_ok=True)

    @property
    def _max_us(self) -> int | None:
        return None if self.max_slack is None else parse_duration_us(self.max_slack, "KSlack(max_slack)", zero_ok=True)

    def describe(self) -> Mapping[str, object]:
        """The bounds of the slack."""
        bound = "unbounded" if self._max_us is None else format_duration_us(self._max_us)
        return {
            "policy": "K-slack",
            "initial slack": format_duration_us(self._initial_us),
            "max slack": bound,
        }

    def initial(self) -> PolicyState:
        """The initial slack."""
        return {"slack_us": self._initial_us}

    def observe(self, state: PolicyState, delays: Delays) -> PolicyState:
        """Grow to the largest delay."""
        return {"slack_us": max(state.get("slack_us", self._initial_us), delays.max_delay_us)}

    def slack_us(self, state: PolicyState) -> int:
        """The largest delay, within the bound."""
        slack = state.get("slack_us", self._initial_us)
        return slack if self._max_us is None else min(slack, self._max_us)
