"""Batch runs: a pane strategy as a micro-batch engine uses it - a plan before each batch, a lesson after it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from skypane.flow.plan import Routing
from skypane.flow.reports import TaskLoad
from skypane.model.codec import from_text, to_text
from skypane.testing.law import expect
from skypane.tuning.splitting.batch_plan import BatchOutcome, RoutingState
from skypane.tuning.splitting.batch_planner import BatchPlanner
from skypane.tuning.splitting.pane_strategies import StrategyFactory


@dataclass(frozen=True)
class Batch:
    """Accepted records by pane, where the open panes begin afterwards, with how many workers, and how slow they are."""

    records_by_pane: Mapping[int, int]
    first_open: int | None
    degree: int
    busy_us: int


def batches_are_planned(new: StrategyFactory, batches: Sequence[Batch]) -> None:
    """Planned as Spark's batches are, also with another degree for each: every record has a worker that there is.

    Plan and lesson follow from the state that was committed, through JSON, and from nothing else.
    """
    state = None
    for number, batch in enumerate(batches):
        plan, after = run_batch(BatchPlanner(new, batch.degree), state, batch, number)
        expect([worker for worker in plan.table if not 0 <= worker < batch.degree], [])
        stored = None if state is None else from_text(to_text(state), RoutingState)
        again_plan, again = run_batch(BatchPlanner(new, batch.degree), stored, batch, number)
        expect((again_plan.first_pane, again_plan.table), (plan.first_pane, plan.table))
        expect(to_text(again), to_text(after))
        state = BatchPlanner(new, batch.degree).close(after, batch.first_open)
        expect(to_text(state), to_text(after))


def run_batch(
    planner: BatchPlanner, state: RoutingState | None, batch: Batch, number: int = 0
) -> tuple[Routing, RoutingState]:
    """Plan, send records with hashes 0, 1, 2, ... as the plan says, learn."""
    routing = planner.plan(state).routing
    made: list[Counter[int]] = [Counter() for _ in range(planner.degree)]
    for pane, records in batch.records_by_pane.items():
        for record_hash in range(records):
            made[routing.worker(pane, record_hash)][pane] += 1
    tasks = [TaskLoad(batch.busy_us * task.total(), task.total(), task) for task in made]
    stage_us = max(task.busy_us for task in tasks)
    cut_us = number * 1_000_000
    outcome = BatchOutcome(
        tasks=tasks,
        records_by_pane=batch.records_by_pane,
        first_open_pane=batch.first_open,
        cut_us=cut_us,
        pane_stage_us=stage_us,
        elsewhere_us=0,
        sinks_us=0,
        slots=planner.degree,
    )
    return routing, planner.learn(state, outcome)


@st.composite
def batch_runs(draw: st.DrawFn) -> list[Batch]:
    """Batches of a stream that moves on."""
    first_open, drawn = None, []
    for _ in range(draw(st.integers(1, 6))):
        low = -20 if first_open is None else first_open
        some = draw(st.dictionaries(st.integers(low, low + 15), st.integers(1, 300), max_size=6))
        if draw(st.booleans()):
            first_open = low + draw(st.integers(0, 10))
        drawn.append(Batch(some, first_open, draw(st.integers(1, 6)), draw(st.sampled_from([1, 1_000, 20_000]))))
    return drawn
