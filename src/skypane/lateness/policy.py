"""Lateness: a policy says how much slack to leave behind the newest time before panes are sealed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

PolicyState = Mapping[str, int]
"""What a policy remembers from step to step: plain numbers, stored in the manifest."""


@dataclass(frozen=True)
class Delays:
    """How old the records of one step were: the delay of a record is ``t_max`` of the step before, minus its time."""

    records: int
    max_delay_us: int
    """The largest delay, late records included; 0 if no record was older than ``t_max``."""


class Lateness(ABC):
    """A pure function from what was committed, and the step's records as a multiset, to the slack."""

    @abstractmethod
    def describe(self) -> Mapping[str, object]:
        """For explanations; a policy may change over the life of a checkpoint."""

    @abstractmethod
    def initial(self) -> PolicyState:
        """What it knows before the first record."""

    @abstractmethod
    def observe(self, state: PolicyState, delays: Delays) -> PolicyState:
        """What it knows after one more step."""

    @abstractmethod
    def slack_us(self, state: PolicyState) -> int:
        """How far the punctuation stays behind the newest time."""
