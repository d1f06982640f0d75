"""Reports of tasks merge into that of their stage: no field is forgotten, and how they are grouped does not matter.

The samples below set every field to something else than its default, which :func:`test_samples_set_every_field` checks:
a new field needs a value there, and then fails until ``merge`` and ``with_rows`` know it.
"""

from __future__ import annotations

from dataclasses import MISSING, Field, fields, replace
from typing import Any

import pytest

from skypane.flow.reports import LAST_WINDOWS, MAX_PANES, PaneReport, StateRows, TaskLoad, WindowReport, newest_panes
from skypane.lateness.delay_histogram import DelayHistogram
from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.partitions import PartitionSeen
from skypane.lateness.past_guard import FirstTimes, TimeRange
from skypane.lateness.policy import Judgement
from skypane.model.ledger import Ledger

GUARD = FutureGuard(1, support=2)


def panes_of(n: int) -> PaneReport[str]:
    return PaneReport(
        partials=(f"partial {n}",),
        suspects=(f"suspect {n}",),
        late=(f"late {n}",),
        quarantined=(f"quarantined {n}",),
        duplicates=(f"duplicate {n}",),
        ids=(f"ids {n}",),
        ledger=Ledger(n, 2 * n, {"null time": n}),
        suspected=n,
        newest_us=tuple(range(100 * n, 100 * n - 16, -1)),
        trusted_us=100 * n,
        missed=n,
        max_delay_us=10 - n,
        overdue=DelayHistogram(float(n), {n % 2: 1.0}),
        first_times=FirstTimes(TimeRange(n, -n, n), TimeRange(1, 10 - n, 10 + n)),
        partitions={"one": PartitionSeen(n, n), f"own {n}": PartitionSeen(n, 1)},
        records_by_pane={0: n, n: 1},
        condensed=n,
        rows_by_group={5: n, n + 10: 1},
        tasks=(TaskLoad(n, n),),
        took_us=n,
    )


def state_of(n: int) -> StateRows[str]:
    return StateRows(
        panes=(f"panes {n}",),
        buffer=(f"buffer {n}",),
        sealed=(f"sealed {n}",),
        revisions=(f"revisions {n}",),
        held=(f"held {n}",),
        counters=(f"counters {n}",),
        ids=(f"ids {n}",),
    )


def windows_of(n: int) -> WindowReport[str, str]:
    return WindowReport(
        state=state_of(n),
        answers=(f"answer {n}",),
        late=(f"late {n}",),
        failed=(f"failed {n}",),
        failures=n,
        judged=Judgement(2 * n, n),
        lessons=Judgement(n, n),
        windows=n,
        revised=n,
        open_panes=n,
        last_windows=tuple((end, n) for end in range(n, n + LAST_WINDOWS)),
        rows_read=3 * n,
        rows_owned=2 * n,
        joiners=n + 1,
        busy_us=(n,),
        visits=n + 2,
        in_driver=False,
        took_us=n,
    )


def default_of(field: Field[Any]) -> object:
    return field.default if field.default_factory is MISSING else field.default_factory()


def unset(report: PaneReport[str] | WindowReport[str, str] | StateRows[str]) -> list[str]:
    """The fields that have their defaults."""
    return [field.name for field in fields(report) if getattr(report, field.name) == default_of(field)]


@pytest.mark.parametrize("sample", [panes_of(2), windows_of(2), state_of(2)], ids=lambda sample: type(sample).__name__)
def test_samples_set_every_field(sample: PaneReport[str] | WindowReport[str, str] | StateRows[str]) -> None:
    assert unset(sample) == []


def test_reports_of_the_pane_stage_merge() -> None:
    one, two, three = map(panes_of, (1, 2, 3))
    merged = PaneReport.merge([one, two, three], GUARD)
    assert PaneReport.merge([PaneReport.merge([one, two], GUARD), three], GUARD) == merged
    assert PaneReport.merge([one], GUARD) == one
    empty: PaneReport[str] = PaneReport()
    assert PaneReport.merge([empty, two, empty], GUARD) == two
    assert PaneReport.merge([], GUARD) == empty
    assert unset(merged) == []
    assert merged.partials == ("partial 1", "partial 2", "partial 3")
    assert merged.tasks == (TaskLoad(1, 1), TaskLoad(2, 2), TaskLoad(3, 3))
    assert (merged.ledger, merged.suspected, merged.missed) == (Ledger(6, 12, {"null time": 6}), 6, 6)
    assert (merged.delivered, merged.condensed) == (30, 6)
    assert (merged.newest_us[0], merged.trusted_us, merged.max_delay_us, merged.took_us) == (300, 300, 9, 3)
    assert merged.overdue == DelayHistogram(6.0, {0: 1.0, 1: 2.0})
    assert merged.first_times == FirstTimes(TimeRange(6, -3, 3), TimeRange(3, 7, 13))
    assert merged.partitions["one"] == PartitionSeen(3, 6)
    assert merged.records_by_pane == {0: 6, 1: 1, 2: 1, 3: 1}
    assert merged.rows_by_group == {5: 6, 11: 1, 12: 1, 13: 1}


def test_reports_of_the_window_stage_merge() -> None:
    one, two, three = map(windows_of, (1, 2, 3))
    merged = WindowReport.merge([one, two, three])
    assert WindowReport.merge([WindowReport.merge([one, two]), three]) == merged
    assert WindowReport.merge([one]) == one
    empty: WindowReport[str, str] = WindowReport()
    assert WindowReport.merge([empty, two, empty]) == two
    assert WindowReport.merge([]) == empty
    assert unset(merged) == []
    assert merged.answers == ("answer 1", "answer 2", "answer 3")
    assert (merged.failed, merged.failures) == (("failed 1", "failed 2", "failed 3"), 6)
    assert (merged.judged, merged.lessons) == (Judgement(12, 6), Judgement(6, 6))
    assert (merged.windows, merged.revised, merged.open_panes, merged.took_us) == (6, 6, 6, 3)
    assert merged.last_windows == ((3, 6), (4, 6), (5, 6), (6, 6), (7, 6), (8, 6), (9, 5), (10, 3))
    assert (merged.rows_read, merged.rows_owned, merged.replication) == (18, 12, 1.5)
    assert (merged.joiners, merged.visits, merged.busy_us) == (4, 5, (1, 2, 3))
    assert not WindowReport.merge([one, replace(two, in_driver=True)]).in_driver


def test_what_tasks_keep_merges() -> None:
    merged = StateRows.merge([state_of(1), state_of(2)])
    assert StateRows.merge([state_of(1)]) == state_of(1)
    assert merged.panes == ("panes 1", "panes 2")
    assert merged.counters == ("counters 1", "counters 2")
    assert {*merged.parts} == {part for field in fields(merged) for part in getattr(merged, field.name)}
    assert merged.to_answer == (*merged.panes, *merged.buffer, *merged.counters)


def test_rows_of_a_pane_report_change_their_type() -> None:
    """Every field that refers to rows is replaced, every other one stays."""
    rows = {"partials": (1,), "suspects": (2,), "late": (3,), "quarantined": (4,), "duplicates": (5,), "ids": (6,)}
    report: PaneReport[int] = panes_of(2).with_rows(**rows)
    assert report == replace(panes_of(2), **rows)  # type: ignore[arg-type]  # what with_rows is there for


def test_rows_of_a_window_report_change_their_type() -> None:
    state: StateRows[bytes] = StateRows(panes=(b"panes",))
    rows = {"answers": (1,), "late": (2,), "failed": (3,)}
    report: WindowReport[int, bytes] = windows_of(2).with_rows(state=state, **rows)
    assert report == replace(windows_of(2), state=state, **rows)  # type: ignore[arg-type]  # what with_rows is there for


def test_a_batch_of_many_panes_reports_the_newest() -> None:
    reported = newest_panes({pane: pane for pane in range(MAX_PANES + 2)})
    assert (len(reported), min(reported), max(reported)) == (MAX_PANES, 2, MAX_PANES + 1)
