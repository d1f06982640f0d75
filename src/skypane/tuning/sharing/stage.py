"""Stage: how the tasks of the window stage share its work, for every engine.

Key groups are split into ranges. Of a range with far too many rows for one task, tasks share the windows, or where
these are answered together, the join of its rows. A stage with little to do runs in the driver.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from skypane.flow.plan import EngineFacts, StagePlan
from skypane.flow.program import Program
from skypane.flow.shares import CutLimits, GroupRange, WindowShare
from skypane.model.panes import PaneRange
from skypane.tuning.sharing.joins import JoinSharing
from skypane.tuning.sharing.ranges import max_tasks, task_ranges
from skypane.tuning.sharing.windows import cut_windows

THREADED_ROWS: Final = 20_000
"""So many rows take the driver some 4 ms (0.19 us each of 830,000), many times what it takes to start threads.

With fewer rows one thread answers all, so that files are written in the same order."""


class WindowWork(NamedTuple):
    """What the window stage of a step has to do, as far as sharing it depends on that."""

    before_us: int | None
    """The watermark before the step."""
    after_us: int | None
    rows_by_group: Mapping[int, int]
    """Rows of partials and state by key group."""
    filled: PaneRange | None
    """The panes that have rows, as far as they are known."""
    late_rows: int = 0


class StageShares(NamedTuple):
    """The tasks of the window stage and what each does."""

    shares: tuple[WindowShare, ...]
    in_driver: bool
    """Whether the driver runs them, because a job would cost more than it saves."""
    driver_threads: int
    """How many of them the driver runs at a time."""
    task_threads: int
    """How many threads each may use."""
    join_threads: int
    """How many threads the driver uses for the joins that tasks do not share."""
    visits: int
    """How often a row is looked at."""


def share_window_stage(program: Program, plan: StagePlan, work: WindowWork, engine: EngineFacts) -> StageShares:
    """Share out the window stage of a step; total: every plan gives shares that cover all of it."""
    limits = _cut_limits(program, plan, work, engine)
    shares = tuple(
        window_shares(plan, work.rows_by_group, engine.slots, limits, join_sharing(program, plan, work, engine))
    )
    rows = sum(work.rows_by_group.values())
    in_driver = rows + work.late_rows <= plan.inline_rows and all(share.cut is None for share in shares)
    join_threads = _threads(plan, engine, 1, in_driver=True)
    driver_threads = join_threads if rows >= THREADED_ROWS and program.definition.query.in_threads else 1
    if in_driver and driver_threads == 1 and all(share.joiners < 2 for share in shares):
        # One after the other they would take longer.
        shares = tuple(map(WindowShare, task_ranges(work.rows_by_group, 1, plan.scheduling)))
    return StageShares(
        shares=shares,
        in_driver=in_driver,
        driver_threads=driver_threads,
        task_threads=_threads(plan, engine, len(shares), in_driver=in_driver),
        join_threads=join_threads,
        visits=1 if limits is None else limits.visits,
    )


def join_sharing(program: Program, plan: StagePlan, work: WindowWork, engine: EngineFacts) -> JoinSharing | None:
    """How tasks share the join of a heavy key, if they may; threads are cheaper where all slots are in this process."""
    pays = plan.window_tasks is None and (plan.join_rows == 0 or not engine.embedded)
    moves = work.after_us is not None and plan.window_degree(engine.slots) > 1
    if not (moves and pays and program.processing.shares_joins):
        return None
    return JoinSharing(plan.ownership, plan.join_rows)


def _cut_limits(program: Program, plan: StagePlan, work: WindowWork, engine: EngineFacts) -> CutLimits | None:
    """Which windows of a heavy key can be split across tasks."""
    if work.after_us is None or work.filled is None or plan.window_degree(engine.slots) < 2:
        return None
    span = program.definition.window.span(work.before_us, work.after_us)
    return program.processing.cut_limits(span, work.filled, late=work.late_rows > 0)


def window_shares(
    plan: StagePlan,
    rows_by_group: Mapping[int, int],
    slots: int,
    limits: CutLimits | None = None,
    joins: JoinSharing | None = None,
) -> Iterator[WindowShare]:
    """Ranges of key groups; of one with far too many rows for one task, its windows or its joins."""
    degree = plan.key_tasks or slots
    limit, total = max_tasks(degree, plan.scheduling), sum(rows_by_group.values())
    for groups in task_ranges(rows_by_group, degree, plan.scheduling):
        rows = _rows_of(groups, rows_by_group)
        worth = plan.window_tasks or rows * limit // max(1, total)
        if plan.scheduling == "round_robin":  # decided in advance, whatever the rows
            yield WindowShare(groups)
        elif limits is None:
            yield WindowShare(groups, joiners=max(1, min(worth, rows)) if joins is not None and joins.pays(rows) else 1)
        else:
            heavy = rows * limits.visits > plan.cut_rows
            cut = cut_windows(limits, plan.partitioning, worth) if heavy else None
            yield from [WindowShare(groups)] if cut is None else [WindowShare(groups, cut, task) for task in cut.tasks]


def _rows_of(groups: GroupRange, rows_by_group: Mapping[int, int]) -> int:
    return sum(rows for group, rows in rows_by_group.items() if groups.first <= group < groups.end)


def _threads(plan: StagePlan, engine: EngineFacts, tasks: int, *, in_driver: bool) -> int:
    """Slots that would be idle are used by threads: with one key there is only one task, however many cores.

    Not on a cluster, where the cores of a worker may belong to others.
    """
    slots = engine.slots if plan.max_threads is None else min(engine.slots, plan.max_threads)
    return max(1, min(slots // tasks, engine.cores)) if engine.embedded or in_driver else 1
