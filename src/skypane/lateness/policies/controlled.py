"""ControlledSlack: the least slack that keeps a share of lost records at its target; feed-forward and feedback.

Feed-forward: a fading histogram of how long records were overdue gives the slack at which the wanted share is late.
Feedback: an integrator on what was really lost corrects what the histogram cannot know - that the coming records are
not like the past ones. The sum of its errors is bounded, so over many records the share reached is the target, whatever
the delays are like.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import ClassVar

from skypane.lateness.delay_histogram import DelayHistogram
from skypane.lateness.policy import AUTO, Lateness, Observation, PolicyState, SlackBounds
from skypane.model.durations import Duration
from skypane.model.errors import OptionError
from skypane.model.panes import Panes

_MEMORY_LOSSES = 200
"""Remember as many records as have this many losses at the target: enough to tell the share to about 7 %."""
_LEAST_FADING = 0.95
"""However many records a step has, forget at most a twentieth: delays against pane borders vary from step to step."""
_MAX_FEEDBACK = 4.0
"""The feedback moves the aimed-at share by at most e^4 = 55 times either way."""
_MAX_CREDIT, _MAX_DEBT = 4.0, 50.0
"""In budgets (the losses that are fine while the memory lasts). Little credit, lest a calm hour pays for a disaster;
much debt, because rare bursts lose a lot at once; but not so much that one disaster makes the slack long for ever."""


@dataclass(frozen=True)
class ControlledSlack(Lateness):
    """What ``DropRatio`` and ``Harm`` have in common."""

    target: float
    max_slack: Duration | None = AUTO
    """By default ten windows, at least a minute; ``None`` for no bound."""
    initial_slack: Duration = "0 seconds"

    max_late: ClassVar[float] = 1.0
    """The largest share of records to give up, whatever the feedback says."""

    def __post_init__(self) -> None:
        if not isinstance(self.target, int | float) or not 0 < self.target < 1:
            raise OptionError(
                f"{type(self).__name__}(target={self.target!r}) must be a share between 0 and 1, e.g. 0.01 for 1 %."
            )
        _ = self._bounds

    @property
    def _bounds(self) -> SlackBounds:
        return SlackBounds.parse(type(self).__name__, self.initial_slack, self.max_slack)

    def for_window(self, panes: Panes) -> ControlledSlack:
        """Set the bound of the slack that suits the windows."""
        max_us = self.max_slack_us(panes)
        return self if max_us is None else replace(self, max_slack=timedelta(microseconds=max_us))

    def max_slack_us(self, panes: Panes) -> int | None:
        """The bound of the slack."""
        return self._bounds.max_slack_us(panes)

    @abstractmethod
    def losses(self, seen: Observation) -> float:
        """How many records the last known step lost, in the sense of the target."""

    def loss_per_late(self, state: PolicyState) -> float:
        """What share of late records is a loss."""
        del state
        return 1.0

    @property
    def title(self) -> str:
        """The name with the target."""
        return f"{self.name} {100 * self.target:g} %"

    def describe(self) -> Mapping[str, object]:
        """The target and the bounds of the slack."""
        return {"target": f"{100 * self.target:g} %", **self._bounds.describe()}

    def initial(self) -> PolicyState:
        """The state before the first record."""
        return {
            "overdue": DelayHistogram().to_json(),
            "step_records": 0.0,
            "settled": False,
            "debt": 0.0,
            "feedback": 0.0,
        }

    def observe(self, state: PolicyState, seen: Observation) -> PolicyState:
        """Add the step to the histogram, and what it lost to the feedback."""
        state = state if "overdue" in state else self.initial()
        step_records = max(state["step_records"] * _LEAST_FADING, seen.records)
        memory = max(_MEMORY_LOSSES / self.target, step_records / (1 - _LEAST_FADING))
        budget = self.target * memory
        # Until a debt is paid off, what has led to it is remembered: rare bursts of delays are met prepared.
        kept_longer = 1 + max(state["debt"], 0.0) / budget
        overdue = DelayHistogram.from_json(state["overdue"]).fade(math.exp(-seen.records / (memory * kept_longer)))
        # What is lost while the histogram fills was not the controller's choice, and is not made up for.
        settled = state["settled"] or overdue.records > memory / 2
        debt = state["debt"] + self.losses(seen) - self.target * seen.records if settled else 0.0
        return {
            "overdue": DelayHistogram.merge([overdue, seen.overdue]).to_json(),
            "step_records": step_records,
            "settled": settled,
            "debt": min(max(debt, -_MAX_CREDIT * budget), _MAX_DEBT * budget),
            "feedback": min(max(-debt / budget, -_MAX_FEEDBACK), _MAX_FEEDBACK),
        }

    def slack_us(self, state: PolicyState) -> int:
        """The slack for the share that the feedback aims at, within the bound."""
        initial = self._bounds.initial_us
        overdue = DelayHistogram.from_json(state["overdue"]) if "overdue" in state else DelayHistogram()
        if not overdue.records:
            return initial
        share = self.target * math.exp(state["feedback"]) / self.loss_per_late(state)
        slack = overdue.slack_us(min(share, self.max_late))
        if not state["settled"]:
            slack = max(slack, initial)
        return self._bounds.clip_us(slack)
