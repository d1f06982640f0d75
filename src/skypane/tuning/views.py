"""Views: one measurement of a step, as the cost model, the router and the elastic loops each need it."""

from __future__ import annotations

from collections.abc import Sequence

from skypane.flow.measurement import StepMeasurement
from skypane.flow.plan import StagePlan
from skypane.tuning.elastic.elastic_state import StepLoad
from skypane.tuning.planner.cost_model import Load, StepTiming
from skypane.tuning.splitting.batch_plan import BatchOutcome, shards_by_pane


def step_timing(plan: StagePlan, seen: StepMeasurement) -> StepTiming:
    """The part of a step's measurement that the cost model learns from."""
    busy_us, groups = _pane_busy_us(plan, seen), seen.rows_by_group.values()
    load = Load(
        records=seen.delivered,
        rows=seen.rows_owned,
        windows=seen.windows,
        visits=max(1, seen.visits),  # a step that closes no window says nothing of those that do
        heaviest=max(groups, default=1) / max(1, sum(groups)),
        longest=max(busy_us, default=1) / max(1, sum(busy_us)),
    )
    return StepTiming(
        load=load,
        pane_busy_us=busy_us,
        pane_us=seen.pane_us,
        window_busy_us=seen.window_busy_us,
        window_us=seen.window_us,
        rows_read=seen.rows_read,
        in_driver=seen.in_driver,
    )


def _pane_busy_us(plan: StagePlan, seen: StepMeasurement) -> list[int]:
    """By task; where the engine made the partials, its own tasks did most of the work, in all slots all the time."""
    if seen.pre_aggregated:
        slots = seen.engine.slots
        return [seen.pane_us] * min(slots, plan.pane_tasks or slots)
    return [task.busy_us for task in seen.tasks]


def batch_outcome(seen: StepMeasurement) -> BatchOutcome:
    """For the strategy that routes records."""
    return BatchOutcome(
        tasks=seen.tasks,
        records_by_pane=seen.records_by_pane,
        first_open_pane=seen.first_open_pane,
        cut_us=seen.cut_us,
        pane_stage_us=seen.pane_us,
        elsewhere_us=seen.window_us,
        sinks_us=seen.engine.elsewhere_us,
        slots=seen.engine.slots,
    )


def step_load(plan: StagePlan, seen: StepMeasurement) -> StepLoad:
    """For the loops that decide degrees."""
    engine = seen.engine
    busy_us = [task.busy_us for task in seen.tasks]
    waited_us = _not_busy_us(seen.pane_us, busy_us, engine.slots)
    if not seen.in_driver:
        waited_us += _not_busy_us(seen.window_us, seen.window_busy_us, engine.slots)
    # Tasks that make partials of what they read have a shard of every pane, which says nothing about the load.
    shards = shards_by_pane(seen.tasks) if plan.routing is not None else {}
    return StepLoad(
        cut_us=seen.cut_us,
        t_max_us=seen.t_max_us,
        pane_work_us=sum(busy_us),
        window_work_us=sum(seen.window_busy_us),
        window_in_driver=seen.in_driver,
        took_us=seen.pane_us + seen.window_us,
        waited_us=waited_us,
        panes=len(shards),
        shards=sum(shards.values()),
        ready=engine.ready,
        backlog_us=engine.backlog_us,
        elsewhere_us=engine.elsewhere_us,
        first=engine.first,
    )


def _not_busy_us(took_us: int, busy_us: Sequence[int], slots: int) -> int:
    """Of the time of a stage: what starting tasks and bringing their reports back took."""
    return max(0, took_us - max(max(busy_us, default=0), sum(busy_us) // slots))
