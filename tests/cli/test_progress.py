"""What is said about a running query: before there is anything to count, and when something is not as it should be."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import pytest
from rich.console import Console

from skypane.cli.progress import ProgressPanel
from skypane.lateness.policy import Judgement
from skypane.model.ledger import Ledger
from skypane.spark.elastic_metrics import ElasticMetrics
from skypane.spark.metrics import Metrics, StepMetrics
from skypane.spark.metrics_text import sparkline


@dataclass
class Beginning:
    """A query that has not taken a step yet."""

    is_working: bool
    is_active: bool = True
    steps: int = 0

    def metrics(self) -> Metrics:
        return Metrics(Ledger(), Judgement(), 0, self.steps, None)


@pytest.mark.parametrize(("working", "words"), [(True, "first step: Spark starts"), (False, "waiting for the first")])
def test_before_the_first_step_no_rate_is_shown(working: bool, words: str) -> None:
    query: Any = Beginning(working)
    panel = ProgressPanel(query, "title", live_times=False)
    with (console := Console(width=120)).capture() as shown:
        console.print(panel)
    for text in (panel.line(), shown.get()):
        assert words in text
        assert "records/s" not in text


def test_a_query_that_was_stopped_before_its_first_step_waits_no_more() -> None:
    query: Any = Beginning(is_working=False, is_active=False)
    assert ProgressPanel(query, "title", live_times=False).line().endswith("ended before its first step")


def test_a_restart_that_finds_nothing_new_says_what_was_done_before() -> None:
    query: Any = Beginning(is_working=False, is_active=False, steps=13)
    assert "its first step; 13 steps were committed before" in ProgressPanel(query, "title", live_times=False).line()


@dataclass
class Waiting:
    """A query whose answers wait for long, and that holds some records."""

    is_working: bool = True

    def metrics(self) -> Metrics:
        known: dict[str, Any] = {f.name: None if "None" in str(f.type) else 0 for f in fields(StepMetrics)}
        last = StepMetrics(**{**known, "last_windows": (), "slack_warning": "answers wait 9 s for late records"})
        return Metrics(Ledger(10, 2, {}, held=3), Judgement(), 0, 1, last, (last,))


def test_held_records_and_a_long_slack_are_shown() -> None:
    query: Any = Waiting()
    with (console := Console(width=120)).capture() as shown:
        console.print(ProgressPanel(query, "title", live_times=False))
    assert "10 accepted, 2 late, 0 quarantined, 3 held" in shown.get()
    assert "answers wait 9 s for late records" in shown.get()


@dataclass
class FarAhead:
    """A live query at its end: its last record would leave in a year that Python does not know."""

    is_working: bool = True

    def metrics(self) -> Metrics:
        known: dict[str, Any] = {f.name: None if "None" in str(f.type) else 0 for f in fields(StepMetrics)}
        last = StepMetrics(**{**known, "last_windows": (), "watermark_us": 2**59, "window_latency_ms": 5.0})
        return Metrics(Ledger(10), Judgement(), 122, 1, last, (last,))


def test_a_live_query_tells_changes_and_may_end_in_any_year() -> None:
    query: Any = FarAhead()
    panel = ProgressPanel(query, "title", live_times=False, answers_label="changes emitted")
    with (console := Console(width=120)).capture() as shown:
        console.print(panel)
    assert "122 changes emitted" in panel.line()
    assert "changes  122 emitted " in shown.get()
    assert "10:45:03.42" in shown.get()
    assert "windows" not in shown.get()


@dataclass
class Growing:
    """A query whose degrees follow its load."""

    is_working: bool = True

    def metrics(self) -> Metrics:
        known: dict[str, Any] = {f.name: None if "None" in str(f.type) else 0 for f in fields(StepMetrics)}
        elastic = ElasticMetrics(8, 4, 2, 1.25, 0.5, 1500.0, 3, None, None, None, (), (), "raise max_degree")
        steps = tuple(
            StepMetrics(**{**known, "last_windows": (), "pane_degree": n, "window_degree": 1, "elastic": elastic})
            for n in (1, 2, 4, 8)
        )
        last = replace(steps[-1], executors=8)
        return Metrics(Ledger(10), Judgement(), 0, 4, last, (*steps[:-1], last))


def test_degrees_that_follow_the_load_are_drawn() -> None:
    query: Any = Growing()
    with (console := Console(width=120)).capture() as shown:
        console.print(ProgressPanel(query, "title", live_times=False))
    assert "▂▃▅█ 8 pane, 1 window, 8 executors, utilization 1.25 and 0.50" in shown.get()
    assert "1.5 s of work wait" in shown.get()
    assert "raise max_degree" in shown.get()


def test_a_sparkline_of_nothing_and_of_zeros() -> None:
    assert sparkline([]) == ""
    assert sparkline([0, 0]) == "▁▁"
