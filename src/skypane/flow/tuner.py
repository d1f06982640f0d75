"""Tuner: chooses how the tasks of each step share its work. What it chooses and learns never changes an answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from skypane.flow.measurement import StepMeasurement
from skypane.flow.plan import EngineFacts, StagePlan

T = TypeVar("T")


class Tuner(Protocol[T]):
    """Pure: what it remembers from step to step is a value, committed with the step."""

    def start(self) -> T:
        """The tuning state before the first step."""
        ...

    def plan(self, state: T, engine: EngineFacts) -> StagePlan:
        """How the next step shares its work."""
        ...

    def learn(self, state: T, plan: StagePlan, seen: StepMeasurement) -> T:
        """After a step with a batch."""
        ...

    def close(self, state: T, engine: EngineFacts, first_open_pane: int | None) -> T:
        """After a step without one, which the clock decided: panes were sealed, and nothing was measured."""
        ...


@dataclass(frozen=True)
class FixedPlan:
    """The same plan for every step."""

    fixed: StagePlan = field(default_factory=StagePlan)

    def start(self) -> None:
        """Start without a memory."""

    def plan(self, state: None, engine: EngineFacts) -> StagePlan:
        """Whatever the engine can do."""
        del state, engine
        return self.fixed

    def learn(self, state: None, plan: StagePlan, seen: StepMeasurement) -> None:
        """Learn nothing."""

    def close(self, state: None, engine: EngineFacts, first_open_pane: int | None) -> None:
        """Learn nothing."""
