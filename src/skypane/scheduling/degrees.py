"""Degrees: how many tasks the stages have; a part of the step's state, so that they may change between steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol


class Degrees(NamedTuple):
    """The tasks that each stage is to have at a time."""

    panes: int | None = None
    """``None``: as many as the engine can run at a time."""
    windows: int = 1


class DegreePolicy(Protocol):
    """Decides the degrees of a step from those that were committed with the one before."""

    def choose(self, before: Degrees) -> Degrees:
        """The degrees of the next step; the same again after a crash."""
        ...


@dataclass(frozen=True)
class FixedDegrees:
    """The degrees that the user asked for."""

    degrees: Degrees = field(default_factory=Degrees)

    def choose(self, before: Degrees) -> Degrees:
        """Whatever they were before: a restart may ask for others."""
        del before
        return self.degrees
