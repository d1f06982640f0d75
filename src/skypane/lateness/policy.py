"""Lateness: a policy says how much slack to leave behind the newest time before panes are sealed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from skypane.lateness.delay_histogram import DelayHistogram
from skypane.model.durations import Duration, parse_duration_us
from skypane.model.errors import OptionError

PolicyState = Mapping[str, Any]
"""What a policy remembers from step to step: plain JSON, stored in the manifest."""


@dataclass(frozen=True)
class Judgement:
    """Late records, and those of them that would have changed an answer; too old to tell counts as harmful."""

    late: int = 0
    harmful: int = 0

    def __add__(self, other: Judgement) -> Judgement:
        return Judgement(self.late + other.late, self.harmful + other.harmful)


@dataclass(frozen=True)
class Observation:
    """What one step shows a policy. It depends on the records as a multiset, not on their order or their tasks."""

    records: int
    """Records with a usable time."""
    late: int = 0
    """Those of them that were dropped."""
    front_us: int | None = None
    """The time that the punctuation stays behind, after this step."""
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

    @property
    def name(self) -> str:
        """In explanations and tables; by default the class's name."""
        return type(self).__name__

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
        """How far the punctuation stays behind the front."""


def slack_bounds_us(policy: str, initial_slack: Duration, max_slack: Duration | None) -> tuple[int, int | None]:
    """The parsed bounds of an adaptive slack, checked against each other."""
    initial = parse_duration_us(initial_slack, f"{policy}(initial_slack)", zero_ok=True)
    bound = None if max_slack is None else parse_duration_us(max_slack, f"{policy}(max_slack)", zero_ok=True)
    if bound is not None and initial > bound:
        raise OptionError(f"{policy}(initial_slack={initial_slack!r}) is longer than max_slack={max_slack!r}.")
    return initial, bound
