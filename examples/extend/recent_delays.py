"""A lateness policy of your own: wait as long as the largest delay of the last steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import skypane as sp


@dataclass(frozen=True)
class RecentDelays(sp.extend.Lateness):
    """``RecentDelays(20)``: what was not seen in 20 steps is forgotten."""

    name = "recent delays"

    steps: int

    def describe(self) -> Mapping[str, object]:
        """The options, for ``query.explain()``."""
        return {"steps": self.steps}

    def initial(self) -> sp.extend.PolicyState:
        """Nothing seen."""
        return {"delays_us": []}

    def observe(self, state: sp.extend.PolicyState, seen: sp.extend.Observation) -> sp.extend.PolicyState:
        """A new state: this one was committed, and is needed again if the step is repeated."""
        # The state may be of another policy that this one replaces.
        delays = [*state.get("delays_us", []), seen.max_delay_us]
        return {"delays_us": delays[-self.steps :]}

    def slack_us(self, state: sp.extend.PolicyState) -> int:
        """How long to wait."""
        return max(state.get("delays_us", []), default=0)

    def max_slack_us(self, panes: sp.extend.Panes) -> int:
        """Records that were over for longer teach nothing: one of 1970 would make the query wait for decades."""
        return 10 * panes.reach_us
