"""A tree of patterns as an option: by object or by text, alone, and lowered to what the stages have."""

from __future__ import annotations

from typing import Any

import pytest

import skypane as sp
from skypane.api.parallelism import Parallelism
from skypane.api.run_options import RunOptions
from skypane.model.errors import OptionError
from skypane.patterns.lowered import ALL_ROWS, Lowered
from skypane.patterns.parse import parse_pattern


@pytest.mark.parametrize(
    ("text", "lowered"),
    [
        ("WS", Lowered(1, window_tasks=1, inline_rows=ALL_ROWS)),
        ("KF(4)", Lowered(4, key_tasks=4, window_tasks=1)),
        ("KF(4) L1", Lowered(4, key_tasks=4, window_tasks=1, inline_rows=ALL_ROWS)),
        ("WF(4)", Lowered(4, window_tasks=4, partitioning="window")),
        ("PF(2,3)", Lowered(2, "pane_rr", window_tasks=3)),
        ("PF(2,1)", Lowered(2, "pane_rr", window_tasks=1)),
        ("PF(2,1) L1", Lowered(2, "pane_rr", window_tasks=1, inline_rows=ALL_ROWS)),
        ("PF(2,1) L2", Lowered(2, window_tasks=1, inline_rows=ALL_ROWS)),
        ("PF(1,3)", Lowered(1, window_tasks=3)),
        ("WMR(2,3) L1", Lowered(2, "tuple_rr", window_tasks=3)),
        ("WF(PF(2,3) L2, 10) L1", Lowered(20, window_tasks=30, partitioning="window")),
        ("KF(WF(WMR(2,1), 3), 4)", Lowered(24, "tuple_rr", key_tasks=4, window_tasks=3, partitioning="window")),
    ],
)
def test_what_stages_do_for_a_tree(text: str, lowered: Lowered) -> None:
    tree = parse_pattern(text)
    assert tree.lowered() == lowered
    settings = Parallelism(pattern=text).settings(slots=2)
    assert settings == Parallelism(pattern=tree).settings(slots=2)
    assert (settings.tree, settings.plan) == (tree, lowered)
    assert settings.degrees == lowered.degrees


def test_the_windows_of_a_key_may_be_shared_otherwise() -> None:
    settings = Parallelism(pattern=sp.WinFarm(3), partitioning="pane").settings(slots=2)
    assert settings.plan == Lowered(3, window_tasks=3, partitioning="pane")


def test_a_bound_for_answers_goes_without_a_trigger() -> None:
    asked = sp.stream(None, time="ts").window("1 s").skyline(minimize="a").parallel(max_latency="200 ms")  # type: ignore[arg-type]
    _, options = asked.plan(RunOptions(sp.DiscardSink()), slots=2)
    assert options.settings.max_latency_us == 200_000
    with pytest.raises(OptionError, match="max_latency= decides when to take a step: leave out trigger='1 second'"):
        asked.plan(RunOptions(sp.DiscardSink(), trigger="1 second"), slots=2)


def test_without_a_tree_the_options_say_what_is_done() -> None:
    settings = Parallelism(degree=3, inline_rows=7).settings(slots=2)
    assert settings.plan is None
    assert settings.lowered(3) == Lowered(key_tasks=3, cut_rows=2_000_000, inline_rows=7)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"degree": 3}, r"pattern=KF\(2\) says who does which work: leave out degree=3, or the pattern"),
        ({"splitting": "adaptive", "inline_rows": 0}, "leave out splitting='adaptive', inline_rows=0, or"),
        ({"elastic": sp.Elastic(max_degree=4)}, "leave out elastic=True, or the pattern"),
        ({"partitioning": "pane"}, r"with pattern=KF\(2\) no tasks share windows"),
        ({"pattern": "KF(20000)"}, "tasks of the pane stage=20000 must be a whole number from 1 to 10000"),
        ({"pattern": "KF(two)"}, "is no tree of patterns"),
        ({"pattern": 3}, "pattern=3 must be a tree such as"),
    ],
)
def test_what_does_not_go_with_a_tree_is_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(OptionError, match=says):
        Parallelism(**{"pattern": sp.KeyFarm(2), **options})
