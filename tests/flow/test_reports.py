"""Reports of tasks merge into that of their stage: no field is forgotten, and how they are grouped does not matter."""

from __future__ import annotations

from dataclasses import MISSING, fields

from skypane.flow.reports import LAST_WINDOWS, MOST_PANES, Kept, PaneReport, WindowReport, newest_panes
from skypane.lateness.delay_histogram import DelayHistogram
from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.partitions import PartitionSeen
from skypane.lateness.policy import Judgement
from skypane.model.ledger import Ledger
from skypane.scheduling.batch_plan import TaskLoad

GUARD = FutureGuard(1, support=2)


def panes_of(n: int) -> PaneReport[str]:
    return PaneReport(
        partials=(f"partial {n}",),
        suspects=(f"suspect {n}",),
        late=(f"late {n}",),
        quarantined=(f"quarantined {n}",),
        ledger=Ledger(n, 2 * n, {"null time": n}),
        suspected=n,
        newest_us=tuple(range(100 * n, 100 * n - 16, -1)),
        trusted_us=100 * n,
        missed=n,
        max_delay_us=10 - n,
        overdue=DelayHistogram(float(n), {n % 2: 1.0}),
        partitions={"one": PartitionSeen(n, n), f"own {n}": PartitionSeen(n, 1)},
        records_by_pane={0: n, n: 1},
        condensed=n,
        rows_by_group={5: n, n + 10: 1},
        tasks=(TaskLoad(n, n),),
        took_us=n,
    )


def windows_of(n: int) -> WindowReport[str, str]:
    return WindowReport(
        kept=Kept(*((f"{what} {n}",) for what in ("panes", "buffer", "sealed", "revisions", "held"))),
        answers=(f"answer {n}",),
        late=(f"late {n}",),
        judged=Judgement(2 * n, n),
        lessons=Judgement(n, n),
        windows=n,
        revised=n,
        open_panes=n,
        last_windows=tuple((end, n) for end in range(n, n + LAST_WINDOWS)),
        busy_us=(n,),
        in_driver=n < 3,
        took_us=n,
    )


def test_reports_of_the_pane_stage_merge() -> None:
    one, two, three = map(panes_of, (1, 2, 3))
    merged = PaneReport.merge([one, two, three], GUARD)
    assert PaneReport.merge([PaneReport.merge([one, two], GUARD), three], GUARD) == merged
    assert PaneReport.merge([one], GUARD) == one
    empty: PaneReport[str] = PaneReport()
    assert PaneReport.merge([empty, two, empty], GUARD) == two
    assert [f.name for f in fields(merged) if f.default is not MISSING and getattr(merged, f.name) == f.default] == []
    assert merged.partials == ("partial 1", "partial 2", "partial 3")
    assert (merged.ledger, merged.suspected, merged.missed) == (Ledger(6, 12, {"null time": 6}), 6, 6)
    assert (merged.delivered, merged.condensed) == (30, 6)
    assert (merged.newest_us[0], merged.trusted_us, merged.max_delay_us, merged.took_us) == (300, 300, 9, 3)
    assert merged.overdue == DelayHistogram(6.0, {0: 1.0, 1: 2.0})
    assert merged.partitions["one"] == PartitionSeen(3, 6)
    assert merged.records_by_pane == {0: 6, 1: 1, 2: 1, 3: 1}
    assert merged.rows_by_group == {5: 6, 11: 1, 12: 1, 13: 1}


def test_reports_of_the_window_stage_merge() -> None:
    one, two, three = map(windows_of, (1, 2, 3))
    merged = WindowReport.merge([one, two, three])
    assert WindowReport.merge([WindowReport.merge([one, two]), three]) == merged
    assert WindowReport.merge([one]) == one
    assert merged.kept.parts[:4] == ("panes 1", "panes 2", "panes 3", "buffer 1")
    assert merged.kept.to_answer == merged.kept.parts[:6]
    assert (len(merged.kept.parts), merged.answers) == (15, ("answer 1", "answer 2", "answer 3"))
    assert (merged.judged, merged.lessons) == (Judgement(12, 6), Judgement(6, 6))
    assert (merged.windows, merged.revised, merged.open_panes, merged.took_us) == (6, 6, 6, 3)
    assert merged.last_windows == ((3, 6), (4, 6), (5, 6), (6, 6), (7, 6), (8, 6), (9, 5), (10, 3))
    assert (merged.busy_us, merged.in_driver) == ((1, 2, 3), False)


def test_a_batch_of_many_panes_reports_the_newest() -> None:
    reported = newest_panes({pane: pane for pane in range(MOST_PANES + 2)})
    assert (len(reported), min(reported), max(reported)) == (MOST_PANES, 2, MOST_PANES + 1)
