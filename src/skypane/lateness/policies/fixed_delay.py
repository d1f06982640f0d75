"""FixedDelay: always wait the same time, like Spark's own watermark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from skypane.lateness.policy import Lateness, Observation, PolicyState, auto_slack_us
from skypane.model.durations import Duration, format_duration_us, parse_duration_us
from skypane.model.panes import Panes


@dataclass(frozen=True)
class FixedDelay(Lateness):
    """Leave a constant slack: right when the disorder is known and does not change."""

    name = "fixed delay"

    delay: Duration

    adapts = False

    def __post_init__(self) -> None:
        parse_duration_us(self.delay, "FixedDelay(delay)", zero_ok=True)

    @property
    def title(self) -> str:
        """The name with the delay."""
        return f"{self.name} {format_duration_us(self.slack_us({}))}"

    def describe(self) -> Mapping[str, object]:
        """The delay."""
        return {"delay": format_duration_us(self.slack_us({}))}

    def initial(self) -> PolicyState:
        """An empty state: the delay is fixed."""
        return {}

    def observe(self, state: PolicyState, seen: Observation) -> PolicyState:
        """Return the state unchanged."""
        del seen
        return state

    def slack_us(self, state: PolicyState) -> int:
        """The delay."""
        del state
        return parse_duration_us(self.delay, "FixedDelay(delay)", zero_ok=True)

    def max_slack_us(self, panes: Panes) -> int | None:
        """Long enough for any stream that the delay was chosen for."""
        return max(self.slack_us({}), auto_slack_us(panes))
