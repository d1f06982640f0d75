"""The past in files: what several sessions have left of it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.flow.reports import StateRows
from skypane.flow.shares import ALL_GROUPS
from skypane.flow.windows.emit.updates import Updates
from skypane.model.columns import GROUP, PANE
from skypane.model.live import LiveSpec
from skypane.model.panes import PaneRange
from skypane.queries.preferences import Preferences
from skypane.queries.skyline import Skyline
from skypane.spark.store.past import load_past, store_sealed, tidy_past

ZONES = ("UTC", "Asia/Tokyo")


def sealed(zone: str, pane: int) -> pa.Table:
    time = pa.array([pane * 1_000], pa.timestamp("us", zone))
    return pa.table({"ts": time, "a": [1.0], PANE: [pane], GROUP: pa.array([0], pa.int32())})


def test_sessions_may_have_shown_times_in_other_zones(tmp_path: Path) -> None:
    """Read for a late record, and merged into one file."""
    parts = [part for i in range(20) for part in store_sealed(tmp_path, f"{i}", ALL_GROUPS, [sealed(ZONES[i % 2], i)])]
    definition = Definition(
        Skyline(Preferences.of("a", ())), LiveSpec(1_000, 1_000), "ts", emit=Updates(), harm_horizon_us=10**9
    )
    for kept in (
        StateRows(sealed=tuple(parts)),
        tidy_past(tmp_path, 21, definition, StateRows(sealed=tuple(parts)), 20_000),
    ):
        found = load_past(tmp_path, kept, ALL_GROUPS, PaneRange(3, 7)).panes
        assert found is not None
        assert found.column(PANE).to_pylist() == [3, 4, 5, 6]
        assert found.column("ts").cast(pa.int64()).to_pylist() == [3_000, 4_000, 5_000, 6_000]
