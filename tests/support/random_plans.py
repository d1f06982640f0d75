"""Random plans: every StagePlan is legal, so a tuner may choose any; no answer, ledger or state row may change."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from skypane.flow.measurement import StepMeasurement
from skypane.flow.plan import (
    OWNERSHIPS,
    PARTITIONINGS,
    WINDOW_SCHEDULINGS,
    EngineFacts,
    Routing,
    StagePlan,
)
from skypane.tuning.tuner import StepTuner, TuningState


def random_plan(rng: random.Random) -> StagePlan:
    """Any plan, with small numbers, at which tests look."""
    return StagePlan(
        pane_tasks=rng.choice([None, 1, 2, 3]),
        routing=rng.choice([None, random_routing(rng)]),
        pre_aggregate=rng.choice([None, 1, 2]),
        key_tasks=rng.choice([None, 1, 2, 5]),
        window_tasks=rng.choice([None, None, 1, 2, 4]),
        scheduling=rng.choice(WINDOW_SCHEDULINGS),
        partitioning=rng.choice(PARTITIONINGS),
        ownership=rng.choice(OWNERSHIPS),
        cut_rows=rng.choice([0, 0, 20, 10**9]),
        join_rows=rng.choice([0, 0, 20, 10**9]),
        inline_rows=rng.choice([0, 0, 20, 10**9]),
        max_threads=rng.choice([None, 1, 3]),
    )


def random_routing(rng: random.Random) -> Routing:
    """Any table, also one of panes that the batch does not have."""
    degree, width = rng.randint(1, 4), rng.randint(1, 3)
    return Routing(
        degree=degree,
        first_pane=rng.randint(-20, 60),
        width=width,
        table=tuple(rng.randrange(degree) for _ in range(width * rng.randint(0, 30))),
        splits_unplanned=rng.random() < 0.5,
    )


@dataclass(frozen=True)
class RandomTuner:
    """Remembers a seed, and draws the plan of each step from it."""

    seed: int

    def start(self) -> int:
        return self.seed

    def plan(self, state: int, engine: EngineFacts) -> StagePlan:
        return random_plan(random.Random(f"plan {state}"))

    def learn(self, state: int, plan: StagePlan, seen: StepMeasurement) -> int:
        return state + 1

    def close(self, state: int, engine: EngineFacts, first_open_pane: int | None) -> int:
        return state + 1


@dataclass(frozen=True)
class RandomStepTuner(StepTuner):
    """On Spark: draws anew whenever it is asked, so that a step that is repeated has another plan."""

    rng: random.Random = field(default_factory=random.Random)

    def plan(self, state: TuningState, engine: EngineFacts) -> StagePlan:
        return random_plan(self.rng)
