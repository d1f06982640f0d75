"""Lateness: a policy says how much slack to leave behind the newest time before panes are sealed."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from skypane.lateness.delay_histogram import DelayHistogram
from skypane.model.durations import Duration, format_duration_us, parse_duration_us
from skypane.model.errors import OptionError
from skypane.model.panes import Panes

PolicyState = Mapping[str, Any]
"""What a policy remembers from step to step: plain JSON, stored in the manifest."""

AUTO = "auto"
_AUTO_WINDOWS = 10
_AUTO_LEAST_US = 60_000_000
_LONG_WINDOWS = 3
"""Answers that come this many windows late are worth a warning."""
_IN_SECONDS_US = 10_000_000
"""A wait of this length or more is shown in whole seconds."""


@dataclass(frozen=True)
class Judgement:
    """Late records, and those of them that would have changed an answer; too old to tell counts as harmful."""

    late: int = 0
    harmful: int = 0

    def __add__(self, other: Judgement) -> Judgement:
        return Judgement(self.late + other.late, self.harmful + other.harmful)


@dataclass(frozen=True)
class Observation:
    """What one step shows a policy. It depends on the records as a multiset, not on their order or their tasks.

    Records that no permitted slack could have saved are not in it: one that is years old says nothing of the others.
    """

    records: int
    """Records with a usable time."""
    late: int = 0
    """Those of them that were dropped."""
    front_us: int | None = None
    """The time that the watermark stays behind, after this step."""
    max_delay_us: int = 0
    """The largest delay against the front before this step, late records included; 0 if all were newer."""
    overdue: DelayHistogram = field(default_factory=DelayHistogram)
    """How long the panes of the records had been over when they came: with less slack than that they are late."""
    judged: Judgement = field(default_factory=Judgement)
    """About the late records of the step before: this step's are judged when its windows are computed."""


class Lateness(ABC):
    """A pure function from what was committed, and the step's records as a multiset, to the slack."""

    needs_harm = False
    """Whether late records have to be judged for this policy."""
    adapts = True
    """Whether the slack follows the records, and so may surprise."""

    @property
    def name(self) -> str:
        """In explanations and tables; by default the class's name."""
        return type(self).__name__

    @property
    def title(self) -> str:
        """The name with the option that matters most, where several of a kind are compared."""
        return self.name

    @abstractmethod
    def describe(self) -> Mapping[str, object]:
        """Its options, for explanations; a policy may change over the life of a checkpoint."""

    @abstractmethod
    def initial(self) -> PolicyState:
        """What it knows before the first record."""

    @abstractmethod
    def observe(self, state: PolicyState, seen: Observation) -> PolicyState:
        """What it knows after one more step; ``state`` may be of another policy, which this one replaces."""

    @abstractmethod
    def slack_us(self, state: PolicyState) -> int:
        """How far the watermark stays behind the front."""

    def for_window(self, panes: Panes) -> Lateness:
        """The same policy with what it leaves to the windows filled in: ``max_slack="auto"``."""
        del panes
        return self

    def max_slack_us(self, panes: Panes) -> int | None:
        """The most slack there can be; ``None`` for no bound.

        A pane that was over for longer is lost with any slack, so its records teach nothing.
        """
        del panes
        return None


@dataclass(frozen=True)
class SlackBounds:
    """From where an adaptive slack starts, and how far it may grow."""

    initial_us: int
    max_us: int | None
    auto: bool = False
    """Whether the windows say how far."""

    @classmethod
    def parse(cls, policy: str, initial_slack: Duration, max_slack: Duration | None) -> SlackBounds:
        """Checked against each other; ``"auto"`` is no bound before the windows are known."""
        initial = parse_duration_us(initial_slack, f"{policy}(initial_slack)", zero_ok=True)
        limit = None
        if max_slack is not None and max_slack != AUTO:
            limit = parse_duration_us(max_slack, f"{policy}(max_slack)", zero_ok=True)
        if limit is not None and initial > limit:
            raise OptionError(f"{policy}(initial_slack={initial_slack!r}) is longer than max_slack={max_slack!r}.")
        return cls(initial, limit, max_slack == AUTO)

    def max_slack_us(self, panes: Panes) -> int | None:
        """The most slack there can be."""
        return max(self.initial_us, auto_slack_us(panes)) if self.auto else self.max_us

    def clip_us(self, slack_us: int) -> int:
        """Limit a slack to the bound."""
        return slack_us if self.max_us is None else min(slack_us, self.max_us)

    def describe(self) -> dict[str, object]:
        """Settings and values for ``explain()``."""
        limit = "unbounded" if self.max_us is None else format_duration_us(self.max_us)
        auto = f"{_AUTO_WINDOWS} windows, at least {format_duration_us(_AUTO_LEAST_US)}"
        return {"initial slack": format_duration_us(self.initial_us), "max slack": auto if self.auto else limit}


def auto_slack_us(panes: Panes) -> int:
    """``max_slack="auto"``: ten windows, at least a minute."""
    return max(_AUTO_LEAST_US, _AUTO_WINDOWS * panes.reach_us)


def slack_warning(policy: Lateness, panes: Panes, slack_us: int) -> str | None:
    """What to tell the user if answers wait for several windows' length; ``None`` if they do not, or as was asked."""
    if not policy.adapts or panes.counted or slack_us <= _LONG_WINDOWS * panes.reach_us:
        return None
    wait = format_duration_us(slack_us - slack_us % (1_000 if slack_us < _IN_SECONDS_US else 1_000_000))
    return (
        f"answers wait {wait} for late records, more than {_LONG_WINDOWS} "
        f"{panes.lengths}: bound it with max_slack=, or choose DropRatio or Harm"
    )


def slack_of(policy: Lateness, state: PolicyState) -> int:
    """How long a policy says to wait; one of the user's may say anything."""
    slack = policy.slack_us(state)
    try:
        whole = operator.index(slack)
    except TypeError:
        whole = -1
    if whole < 0:
        raise OptionError(
            f"The policy {policy.name}: slack_us returned {slack!r}; return whole microseconds, 0 or more."
        )
    return whole
