"""What live queries take, and what they refuse, before anything starts."""

from __future__ import annotations

from typing import Any

import pytest

import skypane as sp
from skypane.api.continuous_query import ContinuousQuery
from skypane.api.options.run_options import RunOptions
from skypane.api.stream import Stream
from skypane.flow.windows.emit.updates import Updates
from skypane.lateness.policy import slack_warning
from skypane.model.errors import OptionError
from skypane.model.live import LiveSpec
from skypane.model.windows import FARTHEST_US
from skypane.spark.explain import explain

STREAM = Stream(None, "ts", ("city",))  # type: ignore[arg-type]  # no records are looked at
LIVE = STREAM.live("10 seconds")
SKYLINE = LIVE.skyline(minimize="price")
WINDOWS = STREAM.window("1 s").skyline(minimize="p")


def planned(query: ContinuousQuery, **run: Any) -> Any:
    return query.plan(RunOptions(sp.ConsoleSink(), **run), slots=2)[0]


def test_updates_are_what_is_sent_unless_something_else_is_said() -> None:
    assert planned(SKYLINE).emit == Updates()
    assert planned(SKYLINE.emit("intervals")).emit.name == "intervals"
    assert planned(STREAM.window("1 second").skyline(minimize="price")).emit.name == "full"
    without = planned(SKYLINE.emit("updates", expiries=False))
    assert without.emit == sp.extend.Updates(expiries=False)
    assert without.describe() != planned(SKYLINE).describe(), "other rows are sent: another query"


@pytest.mark.parametrize(
    ("life", "pane_us"), [("10 seconds", 100_000), ("1 day", 1_000_000), ("20 ms", 1_000), ("1 microsecond", 1_000)]
)
def test_panes_are_coarse_however_fine_times_are(life: str, pane_us: int) -> None:
    assert LiveSpec.parse(life).pane_us == pane_us


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (SKYLINE.emit("full"), "emit..full.* is about windows, and live.* Use .emit..updates.* or .emit..intervals"),
        (SKYLINE.emit("changes"), "emit..changes.* is about windows"),
        (SKYLINE.lateness(allowed="1 second"), "what live.* final. Wait longer"),
        (SKYLINE.parallel(tuning=sp.Tuning(sliding="critical")), "sliding='critical' .* Leave it out"),
        (
            SKYLINE.parallel(tuning=sp.Tuning(processing="in_order")),
            "processing='in_order' compares ways to fill windows",
        ),
        (LIVE.top_delta(5, minimize="price"), "with top_delta, a record that stays also changes its kmax"),
        (LIVE.aggregate(n="count"), "the answers of aggregates? are not records"),
        (WINDOWS.emit("updates"), "windows are answered when they end. Use"),
        (WINDOWS.emit("updates", expiries=False), "windows are answered when they end. Use"),
        (WINDOWS.emit("intervals"), "emit..intervals.* is about every instant"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_reason(query: ContinuousQuery, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        planned(query)


def test_only_updates_can_leave_out_expiries() -> None:
    for query, emission in ((SKYLINE, "intervals"), (WINDOWS, "full"), (WINDOWS, "changes")):
        with pytest.raises(OptionError, match=f"expiries=False is for .emit..updates.*, not for .emit..{emission}"):
            query.emit(emission, expiries=False)


def test_there_is_no_slide_and_no_life_of_zero() -> None:
    with pytest.raises(OptionError, match="there is no slide"):
        STREAM.live("10 seconds", slide="1 second")
    with pytest.raises(OptionError, match="live='0 s' must be longer than zero"):
        STREAM.live("0 s")


def test_the_longest_life_can_be_waited_for() -> None:
    """Bounds are ten lives; they fit where times are compared."""
    with pytest.raises(OptionError, match="shorter than 18,000 years"):
        STREAM.live("7000000 days")
    longest = STREAM.live("6500000 days").skyline(minimize="price").lateness(sp.Harm(0.1))
    guard = longest.plan(RunOptions(sp.ConsoleSink()), slots=1)[1].punctuator.guard
    assert guard.max_future_us is not None
    assert guard.max_future_us + FARTHEST_US < 2**63


def test_a_long_wait_is_told_in_lives() -> None:
    assert "more than 3 lives: bound it" in str(slack_warning(sp.KSlack(), LiveSpec.parse("1 second"), 4_000_000))


def test_expiries_are_sent_or_not() -> None:
    with pytest.raises(OptionError, match="expiries='no' must be true or false"):
        sp.extend.Updates(expiries="no")  # type: ignore[arg-type]


def explained(query: ContinuousQuery, **run: Any) -> str:
    return explain(*query.plan(RunOptions(sp.ConsoleSink(), **run), slots=2))


def test_a_live_query_is_explained_without_windows() -> None:
    text = explained(LIVE.skyline(minimize="price"))
    assert "live          every instant, from the records of the last 10 s" in text
    assert "without records the clock lets records expire" in text
    assert "tasks share the join of its rows (rr)" in text
    assert "windows" not in text
    unkeyed = Stream(None, "ts", ()).live("1 second").skyline(minimize="price")  # type: ignore[arg-type]
    assert "none (one answer)" in explained(unkeyed, available_now=True)
    assert "every record leaves when it expires" in explained(unkeyed, available_now=True, flush=True)


def test_windows_of_records_are_neither_closed_by_the_clock_nor_in_order() -> None:
    query = STREAM.window_rows(10).skyline(minimize="price")
    assert "without records open windows are emitted as they are" in explained(query)
    assert "open windows stay open" in explained(query, available_now=True, checkpoint="somewhere")
    with pytest.raises(OptionError, match="processing='in_order' compares ways to fill windows of time"):
        planned(query.parallel(tuning=sp.Tuning(processing="in_order")))
