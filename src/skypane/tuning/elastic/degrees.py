"""Degrees: how many tasks the stages have, where that follows the load."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from skypane.tuning.elastic.elastic_state import ElasticState, StepLoad


class Degrees(NamedTuple):
    """The tasks that each stage has at a time."""

    panes: int
    windows: int


class DegreePolicy(Protocol):
    """Decides the degrees of a step from what was committed with the one before."""

    @property
    def min_degree(self) -> int:
        """The fewest tasks of a stage, which will do while no record comes."""
        ...

    def choose(self, learned: ElasticState | None) -> Degrees:
        """The degrees of the next step."""
        ...

    def target(self, learned: ElasticState | None) -> Degrees:
        """The degrees that there should be slots for: those that were decided, be the slots there or not."""
        ...

    def learn(self, learned: ElasticState | None, load: StepLoad) -> ElasticState | None:
        """What is committed with a step for those after it."""
        ...
