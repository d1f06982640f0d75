"""The planner: costs are learned from steps, thresholds follow from costs, what is explained is what runs."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skypane.flow.measurement import StepMeasurement
from skypane.flow.plan import StagePlan
from skypane.model.codec import from_text, to_text
from skypane.tuning.patterns.base import Work
from skypane.tuning.patterns.extent import Extent
from skypane.tuning.planner.cost_model import CostModel, Costs, LeastSquares, Load, StepTiming
from skypane.tuning.planner.planner import CUT_ROWS, FIRST_STEPS, INLINE_ROWS, Planner
from skypane.tuning.views import step_timing

TODAY = StagePlan(key_tasks=2, cut_rows=2_000_000, inline_rows=100_000)
SLIDING = Work(Extent(10_000_000, 1_000_000))
PLANNER = Planner(SLIDING, TODAY, slots=2)


def known(rows: float, windows: float = 10, heaviest: float = 0.1, visits: float = 10, **costs: float) -> CostModel:
    load = Load(records=50_000, rows=rows, windows=windows, visits=visits, heaviest=heaviest, longest=0.5)
    return CostModel(FIRST_STEPS, Costs(**{"window_job_us": 100_000.0, **costs}), load)


@settings(deadline=None)
@given(
    row_us=st.floats(0.01, 100),
    window_us=st.floats(1, 1_000),
    steps=st.lists(st.tuples(st.integers(1_000, 10**6), st.integers(1, 2_000)), min_size=8, max_size=30),
)
def test_what_rows_and_windows_take_is_found(row_us: float, window_us: float, steps: list[tuple[int, int]]) -> None:
    """As far as the two can be told apart: together they explain what was measured."""
    sums = LeastSquares()
    for rows, windows in steps * 12:
        sums = sums.with_step(rows, windows, round(row_us * rows + window_us * windows))
    row, window = sums.solved()
    assert row >= 0
    assert window >= 0
    asked = sum(row * rows + window * windows for rows, windows in steps)
    true = sum(row_us * rows + window_us * windows for rows, windows in steps)
    assert asked == pytest.approx(true, rel=0.05)


def test_costs_follow_steps() -> None:
    step = StepTiming(Load(10_000, 2_000, 40), (30_000, 20_000), 110_000, (900_000, 700_000), 1_000_000, 2_000, False)
    learned = CostModel()
    for _ in range(40):
        learned = learned.after(step)
    assert learned.costs.record_us == pytest.approx(5)
    assert learned.costs.pane_job_us == pytest.approx(80_000)
    assert learned.costs.window_job_us == pytest.approx(100_000, rel=0.01)
    alone_us = 2_000 * learned.costs.row_us + 40 * learned.costs.window_us
    assert alone_us * learned.costs.slower == pytest.approx(1_600_000, rel=0.05)
    assert learned.load.rows == pytest.approx(2_000)


def test_tasks_that_turn_out_slow_are_left_and_tried_again_later() -> None:
    load = Load(10_000, 200_000, 40, heaviest=0.1)
    here = StepTiming(load, (30_000, 20_000), 110_000, (400_000,), 400_000, 200_000, True)
    there = StepTiming(load, (30_000, 20_000), 110_000, (390_000, 390_000), 500_000, 200_000, False)
    learned = CostModel()
    for _ in range(5):
        learned = learned.after(here)
    assert PLANNER.plan(learned).inline_rows < 200_000  # a job is worth trying
    for _ in range(8):
        learned = learned.after(there)
    assert learned.costs.slower == pytest.approx(1.95, rel=0.05)
    assert PLANNER.plan(learned).inline_rows > 200_000
    for _ in range(100):
        learned = learned.after(here)
    assert PLANNER.plan(learned).inline_rows < 200_000


def test_what_is_learned_is_stored_as_it_is() -> None:
    learned = known(5_000).after(StepTiming(Load(9, 8, 7), (3, 4), 5, (6,), 7, 8, True))
    assert from_text(to_text(learned), CostModel) == learned
    assert json.loads(to_text(learned))["steps"] == FIRST_STEPS + 1


def test_nothing_changes_before_anything_is_known() -> None:
    assert PLANNER.plan(None) == TODAY
    assert PLANNER.plan(replace(known(5_000), steps=FIRST_STEPS - 1)) == TODAY
    assert replace(PLANNER, slots=1).plan(known(5_000)) == TODAY
    assert PLANNER.explain(None) == ["decided from the query's own steps, after 3 of them; until then as above"]


def test_slow_functions_get_tasks_earlier_and_fast_ones_later() -> None:
    slow, fast = PLANNER.plan(known(5_000, row_us=200)), PLANNER.plan(known(5_000, windows=0, row_us=0.05))
    assert slow.inline_rows == 2_000
    assert slow.cut_rows == CUT_ROWS[0]
    assert fast.inline_rows == INLINE_ROWS[1]
    assert fast.cut_rows == CUT_ROWS[1]


def test_one_key_has_no_use_for_ranges_of_keys() -> None:
    alone = PLANNER.plan(known(200_000, heaviest=1.0, row_us=6))
    assert alone.inline_rows == INLINE_ROWS[1]
    assert alone.cut_rows < 10 * 200_000


def test_a_job_whose_tasks_turn_out_slower_is_given_up_and_tried_again_later() -> None:
    """As of skylines, whose kernels use all cores for one task in the driver."""
    load = Load(10_000, 20_000, 40, heaviest=0.4)
    here = StepTiming(load, (30_000, 20_000), 110_000, (500_000,), 500_000, 20_000, True)
    there = StepTiming(load, (30_000, 20_000), 110_000, (520_000, 480_000), 620_000, 20_000, False)
    learned = CostModel()
    for _ in range(4):
        learned = learned.after(here)
    tried = []
    for _ in range(60):
        in_job = PLANNER.plan(learned).inline_rows < 20_000
        tried.append(in_job)
        learned = learned.after(there if in_job else here)
    assert tried[0]
    assert any(tried[20:])
    assert sum(tried) <= 15


def test_threads_of_the_driver_are_tried_before_a_job_is_called_faster() -> None:
    beside, load = replace(PLANNER, beside=True), Load(10_000, 200_000, 40, heaviest=0.1)
    there = StepTiming(load, (30_000, 20_000), 110_000, (400_000, 400_000), 500_000, 200_000, False)
    learned = CostModel().after(there).after(there).after(there)
    assert PLANNER.plan(learned).inline_rows < 200_000
    assert beside.plan(learned).inline_rows == INLINE_ROWS[1]
    # They take turns after all: a job is faster.
    in_turn = StepTiming(load, (30_000, 20_000), 110_000, (700_000, 700_000), 800_000, 200_000, True)
    assert beside.plan(learned.after(in_turn)).inline_rows < 200_000
    # Two at a time: what counts is how long both take.
    for _ in range(20):
        learned = learned.after(StepTiming(load, (30_000, 20_000), 110_000, (350_000, 350_000), 360_000, 200_000, True))
    assert 200_000 * learned.costs.row_us + 40 * learned.costs.window_us == pytest.approx(360_000, rel=0.1)


def test_the_driver_of_a_cluster_gets_what_it_got() -> None:
    for row_us in (0.01, 100):
        plan = replace(PLANNER, embedded=False).plan(known(5_000, row_us=row_us))
        assert plan.inline_rows == TODAY.inline_rows
        assert plan.cut_rows in CUT_ROWS


@settings(deadline=None)
@given(
    rows=st.floats(0, 1e8),
    windows=st.floats(0, 1e6),
    heaviest=st.floats(0.001, 1),
    row_us=st.floats(0, 1e4),
    job_us=st.floats(0, 1e7),
    slots=st.integers(2, 64),
    cuts=st.booleans(),
    decomposable=st.booleans(),
    slide=st.sampled_from([1, 5, 10, 15]),
)
def test_every_plan_can_be_had_and_told(
    rows: float,
    windows: float,
    heaviest: float,
    row_us: float,
    job_us: float,
    slots: int,
    cuts: bool,
    decomposable: bool,
    slide: int,
) -> None:
    planner = Planner(Work(Extent(10, slide), decomposable), TODAY, slots, cuts=cuts)
    learned = known(rows, windows, heaviest, row_us=row_us, window_job_us=job_us)
    plan = planner.plan(learned)
    assert plan == TODAY or INLINE_ROWS[0] <= plan.inline_rows <= INLINE_ROWS[1]
    assert plan == TODAY or CUT_ROWS[0] <= plan.cut_rows <= CUT_ROWS[1]
    ranked = planner.ranked(learned)
    assert [each.step_us for each in ranked] == sorted(each.step_us for each in ranked)
    assert all(each.tree.legal(planner.work) for each in ranked)
    chosen = planner.chosen(learned)
    assert cuts or not chosen.tree.stage_plan().shares_windows
    assert all(planner.explain(learned))


@pytest.mark.parametrize(
    ("learned", "tree", "says"),
    [
        (known(5_000), "WS", "which pays from"),
        (known(5_000, record_us=2), "PF(2,1) L2", "which pays from"),
        (known(3_000_000, row_us=2), "KF(2)", "its tasks save more"),
        (known(3_000_000, heaviest=1.0, row_us=2), "PF(2,2) L2", "most of them of one key: tasks share its windows"),
    ],
    ids=["one task", "driver", "keys", "windows"],
)
def test_the_tree_that_runs_is_told_with_the_reason(learned: CostModel, tree: str, says: str) -> None:
    first, does, runners_up, *_ = PLANNER.explain(learned)
    assert first.startswith(f"{tree}, ")
    assert says in first
    assert does.startswith(f"{tree}: ")
    assert runners_up.startswith("runners-up: ")
    assert not re.search(rf"{re.escape(tree)} \d", runners_up)


EMBEDDED = replace(PLANNER, beside=True)


@pytest.mark.parametrize(
    ("planner", "learned", "tree", "why"),
    [
        (
            PLANNER,
            replace(known(5_000, record_us=40), load=Load(50_000, 5_000, 10, 10, 0.1, longest=1.0)),
            "PF(2,2)",
            "records are sent to other tasks only where pattern= asks for it",
        ),
        (PLANNER, known(1_900, row_us=900), "KF(2)", "the driver answers steps with up to 2,000 rows, and no others"),
        (EMBEDDED, known(90_000, row_us=9), "KF(2)", "a job is tried once the driver's threads have been"),
        (
            PLANNER,
            known(3_000_000, row_us=2, slower=3),
            "WS",
            "the driver answers steps with up to 1,000,000 rows, and no others",
        ),
        (
            PLANNER,
            known(40_000, 2_000, heaviest=1.0, visits=1, window_us=2_000),
            "WF(2)",
            "tasks share one key's windows from 50,000 rows on, each counted once for each window",
        ),
        (
            PLANNER,
            known(900_000, 2_000, heaviest=0.9, window_us=2_000),
            "PF(2,2) L2",
            "tasks share one key's windows if it has two tasks' share of the rows, not 90%",
        ),
        (
            replace(PLANNER, slots=8),
            known(300_000, 1, 1.0, row_us=5),
            "PF(8,8) L2",
            "a step has no two windows to share",
        ),
        (
            PLANNER,
            known(1_200_000, heaviest=1.0, row_us=2.4, slower=1.95, window_job_us=20_000),
            "WS",
            "one key has more than 3,332,986 rows, each counted once for each window: tasks share them",
        ),
        (replace(PLANNER, slots=1), known(200_000), "WS", "with one slot nothing is planned"),
    ],
)
def test_a_faster_tree_that_does_not_run_is_told_with_the_reason(
    planner: Planner, learned: CostModel, tree: str, why: str
) -> None:
    told = [line for line in planner.explain(learned) if line.startswith("not ") and tree in line.split(", though")[0]]
    assert [line.split(", though predicted to be faster: ")[1] for line in told] == [why]


def test_functions_that_need_whole_windows_have_no_panes() -> None:
    planner = replace(PLANNER, work=replace(SLIDING, decomposable=False))
    assert {str(tree) for tree in planner.candidates()} == {"WS", "KF(2)", "KF(2) L1", "WF(2)"}
    assert str(planner.chosen(known(3_000_000, heaviest=1.0)).tree) == "WF(2)"


def test_a_query_that_has_closed_no_window_is_planned() -> None:
    learned = CostModel()
    for _ in range(FIRST_STEPS):
        seen = StepMeasurement(0, None, None, rows_read=10, rows_owned=10, visits=0)
        learned = learned.after(step_timing(StagePlan(), seen))
    assert CUT_ROWS[0] <= PLANNER.plan(learned).cut_rows <= CUT_ROWS[1]
