"""A tree of patterns as an option: by object or by text, alone, and lowered to what the stages have."""

from __future__ import annotations

from typing import Any

import pytest

import skypane as sp
from skypane.api.options.parallel_options import ParallelOptions
from skypane.api.options.run_options import RunOptions
from skypane.api.stream import describe_stream
from skypane.flow.plan import ALL_ROWS, StagePlan
from skypane.model.errors import OptionError
from skypane.tuning.patterns.parse import parse_pattern
from skypane.tuning.patterns.tree_plan import TreePlan


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("WS", TreePlan(1, window_tasks=1, inline_rows=ALL_ROWS)),
        ("KF(4)", TreePlan(4, key_tasks=4, window_tasks=1)),
        ("KF(4) L1", TreePlan(4, key_tasks=4, window_tasks=1, inline_rows=ALL_ROWS)),
        ("WF(4)", TreePlan(4, window_tasks=4, partitioning="window")),
        ("PF(2,3)", TreePlan(2, splitting="pane_rr", window_tasks=3)),
        ("PF(2,1)", TreePlan(2, splitting="pane_rr", window_tasks=1)),
        ("PF(2,1) L1", TreePlan(2, splitting="pane_rr", window_tasks=1, inline_rows=ALL_ROWS)),
        ("PF(2,1) L2", TreePlan(2, window_tasks=1, inline_rows=ALL_ROWS)),
        ("PF(1,3)", TreePlan(1, window_tasks=3)),
        ("WMR(2,3) L1", TreePlan(2, splitting="tuple_rr", window_tasks=3)),
        ("WF(PF(2,3) L2, 10) L1", TreePlan(20, window_tasks=30, partitioning="window")),
        (
            "KF(WF(WMR(2,1), 3), 4)",
            TreePlan(24, splitting="tuple_rr", key_tasks=4, window_tasks=3, partitioning="window"),
        ),
    ],
)
def test_what_stages_do_for_a_tree(text: str, expected: TreePlan) -> None:
    tree = parse_pattern(text)
    assert tree.stage_plan() == expected
    plan = ParallelOptions(pattern=text).plan()
    assert plan == ParallelOptions(pattern=tree).plan()
    assert (plan.tree, plan.base, plan.splitting) == (tree, expected.stages(), expected.splitting)


def test_the_windows_of_a_key_may_be_shared_otherwise() -> None:
    plan = ParallelOptions(pattern=sp.WinFarm(3), tuning=sp.Tuning(partitioning="pane")).plan()
    assert plan.base == StagePlan(3, key_tasks=1, window_tasks=3, partitioning="pane")


def test_a_bound_for_answers_goes_without_a_trigger() -> None:
    asked = describe_stream(time="ts").window("1 s").skyline(minimize="a").parallel(max_latency="200 ms")
    _, options = asked.plan(RunOptions(sp.DiscardSink()), slots=2)
    assert options.parallel.max_latency_us == 200_000
    with pytest.raises(OptionError, match=r"max_latency= decides .* trigger='1 second'"):
        asked.plan(RunOptions(sp.DiscardSink(), trigger="1 second"), slots=2)


def test_without_a_tree_the_options_say_what_is_done() -> None:
    plan = ParallelOptions(degree=3, tuning=sp.Tuning(inline_rows=7)).plan()
    assert plan.tree is None
    assert plan.base == StagePlan(key_tasks=3, cut_rows=2_000_000, join_rows=2_000_000, inline_rows=7)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"degree": 3}, r"pattern=KF\(2\) decides .* leave out degree=3, or the pattern"),
        (
            {"tuning": sp.Tuning(splitting="adaptive", inline_rows=0)},
            "leave out splitting='adaptive', inline_rows=0, or",
        ),
        ({"elastic": sp.Elastic(max_degree=4)}, "leave out elastic=True, or the pattern"),
        ({"tuning": sp.Tuning(partitioning="pane")}, r"with pattern=KF\(2\) tasks do not share windows"),
        ({"pattern": "KF(20000)"}, "tasks of the pane stage=20000 must be a whole number from 1 to 10000"),
        ({"pattern": "KF(two)"}, "is no tree of patterns"),
        ({"pattern": 3}, "pattern=3 must be a tree such as"),
    ],
)
def test_what_does_not_go_with_a_tree_is_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(OptionError, match=says):
        ParallelOptions(**{"pattern": sp.KeyFarm(2), **options})
