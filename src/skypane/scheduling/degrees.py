"""Degrees: how many tasks the stages have; a part of the step's state, so that they may change between steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from skypane.scheduling.elastic_state import ElasticState, StepLoad


class Degrees(NamedTuple):
    """The tasks that each stage is to have at a time."""

    panes: int | None = None
    """``None``: as many as the engine can run at a time."""
    windows: int = 1


class DegreePolicy(Protocol):
    """Decides the degrees of a step from what was committed with the one before."""

    def choose(self, before: Degrees, learned: ElasticState | None) -> Degrees:
        """The degrees of the next step; the same again after a crash."""
        ...

    def wanted(self, before: Degrees, learned: ElasticState | None) -> Degrees:
        """The degrees that there should be slots for: those that were decided, be the slots there or not."""
        ...

    def learn(self, learned: ElasticState | None, load: StepLoad) -> ElasticState | None:
        """What is committed with a step for those after it."""
        ...


@dataclass(frozen=True)
class FixedDegrees:
    """The degrees that the user asked for."""

    degrees: Degrees = field(default_factory=Degrees)

    def choose(self, before: Degrees, learned: ElasticState | None) -> Degrees:
        """Whatever they were before: a restart may ask for others."""
        del before, learned
        return self.degrees

    def wanted(self, before: Degrees, learned: ElasticState | None) -> Degrees:
        """The same."""
        return self.choose(before, learned)

    def learn(self, learned: ElasticState | None, load: StepLoad) -> ElasticState | None:
        """Nothing."""
        del learned, load
        return None
