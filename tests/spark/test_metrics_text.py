"""``print(query.metrics())``: what a query did so far, in a few lines."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from skypane.lateness.policy import Judgement
from skypane.model.ledger import Ledger
from skypane.spark.elastic_metrics import ElasticMetrics
from skypane.spark.metrics import Metrics, StepMetrics


def a_step(**known: Any) -> StepMetrics:
    unknown: dict[str, Any] = {f.name: None if "None" in str(f.type) else 0 for f in fields(StepMetrics)}
    return StepMetrics(**{**unknown, "last_windows": (), **known})


def so_far(*steps: StepMetrics, **more: Any) -> Metrics:
    ledger = Ledger(792_307, 1_154, {"null time": 3}, held=2)
    return Metrics(ledger, Judgement(1_154, 105), 190, 32, steps[-1] if steps else None, steps, **more)


BUSY = a_step(
    records=20_000,
    pane_tasks=2,
    pane_utilization=0.43,
    window_utilization=0.98,
    idle_share=0.56,
    splitting_factor=2.0,
    imbalance=1.2,
    selected_per_pane=445.0,
    pane_ms=212.0,
    window_ms=149.6,
    sink_ms=2.0,
    commit_ms=2.4,
    total_ms=366.0,
    window_latency_ms=1_400.0,
    watermark_us=1_767_225_708_760_000,
    slack_us=396_123,
    open_panes=7,
    state_rows=2_957,
    state_bytes=345_678,
    committed_at=10.0,
)

SAID = """\
steps         32, the last took 366 ms: panes 212 ms, windows 150 ms, sink 2 ms, commit 2 ms
records       793,466 so far: 792,307 accepted, 1,154 late (105 harmful), 3 quarantined, 2 held
quarantined   3 null time
records/s     20,000
answers       190, 1.4 s after their first record
watermark     2026-01-01 00:01:48.760, slack 396 ms
open panes    7   (2,957 rows, 0.3 MB of state)
stages        pane 43% busy, window 98% busy, slots 56% idle
panes         2.0 shards per pane, imbalance 1.2, 445 rows each"""


def test_some_lines_instead_of_a_long_one() -> None:
    assert str(so_far(BUSY, replace(BUSY, committed_at=11.0))) == SAID


def test_repr_has_all_fields_as_before() -> None:
    assert repr(so_far(BUSY)).startswith("Metrics(ledger=Ledger(accepted=792307, late=1154")


def test_before_the_first_step_of_a_run() -> None:
    lines = str(so_far()).splitlines()
    assert lines[0] == "steps         32, none of them in this run"
    assert [line.split()[0] for line in lines] == ["steps", "records", "quarantined", "answers"]
    assert str(Metrics(Ledger(), Judgement(), 0, 0, None)) == (
        "steps         none yet\nrecords       0 so far: 0 accepted, 0 late, 0 quarantined\nanswers       0"
    )


def test_degrees_failures_and_warnings_are_told() -> None:
    elastic = ElasticMetrics(8, 4, 2, 1.25, 0.5, 1500.0, 3, None, None, None, (), (), "raise max_degree")
    step = replace(BUSY, pane_degree=2, window_degree=1, elastic=elastic, slack_warning="answers wait 9 s")
    text = str(so_far(step, failed=4))
    assert "degrees       █ 2 pane, 1 window, utilization 1.25 and 0.50, 1.5 s of work wait\n" in text
    assert "warning       raise max_degree\n" in text
    assert "warning       answers wait 9 s" in text
    assert "failed        4 windows set aside, since a function failed" in text


def test_records_that_spark_added_up_are_told() -> None:
    text = str(so_far(BUSY, replace(BUSY, condensed=15_000)))
    assert text.endswith("added up      38% of the last records by Spark, of which Python gets the sums")
    assert "added up" not in str(so_far(BUSY))


def test_at_the_end_nothing_waits() -> None:
    elastic = ElasticMetrics(2, 2, 2, 1.25, 0.5, 2500.0, 3, None, None, None, (), (), None)
    step = replace(BUSY, pane_degree=2, window_degree=1, elastic=elastic)
    assert "2.5 s of work wait" in str(so_far(step))
    assert "wait" not in str(so_far(step, replace(step, kind="flush")))
