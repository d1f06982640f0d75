"""Settled files: written once, read until no window needs them, and taken together before there are too many."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import skypane as sp
from skypane.flow.definition import Definition
from skypane.flow.program import Program
from skypane.flow.shares import ALL_GROUPS
from skypane.flow.windows.emit.changes import Changes
from skypane.model.panes import PaneRange
from skypane.model.windows import WindowSpec
from skypane.queries.aggregates import Aggregates
from skypane.spark.store import sealed
from skypane.spark.store.files import FileRef
from skypane.spark.store.manifest import StoredPart
from skypane.spark.store.sealed import sealed_parts, still_needed
from tests.support.records import SCHEMA
from tests.support.spark.streams import read_batches, write_batches

SECOND_US = 1_000_000
WINDOW = WindowSpec(4 * SECOND_US, SECOND_US)
COUNTS = Definition(Aggregates.of({"rows": "count"}), WINDOW, "ts", keys=("zone",))


def part(first: int, end: int) -> StoredPart:
    return StoredPart(ALL_GROUPS, FileRef(f"{first}-{end}", 1, 1, 0), numbers=PaneRange(first, end))


def test_files_of_sealed_panes_stay() -> None:
    parts = [part(0, 2), part(1, 4), part(3, 6)]
    assert sealed_parts(Program.of(COUNTS), parts, 5 * SECOND_US) == (parts[0], parts[1])
    assert sealed_parts(Program.of(COUNTS), parts, None) == ()
    late = Definition(COUNTS.query, WINDOW, "ts", allowed_lateness_us=SECOND_US)
    assert sealed_parts(Program.of(late), parts, 5 * SECOND_US) == ()


def test_they_go_when_no_window_looks_at_them() -> None:
    parts = [part(0, 2), part(1, 4)]
    span = WINDOW.span(0, 6 * SECOND_US)
    assert still_needed(COUNTS, parts, span) == (parts[1],)
    changes = Definition(COUNTS.query, WINDOW, "ts", emit=Changes())
    assert still_needed(changes, [part(0, 2), part(0, 3)], span) == (part(0, 3),)


def test_too_many_are_taken_together() -> None:
    parts = [part(0, 1)] * sealed.MAX_FILES
    assert len(sealed_parts(Program.of(COUNTS), parts, SECOND_US)) == sealed.MAX_FILES
    assert sealed_parts(Program.of(COUNTS), [*parts, part(0, 1)], SECOND_US) == ()


@pytest.mark.parametrize("most", [64, 3])
def test_a_run_leaves_old_files_and_answers_exactly(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """A record of each of three keys every half second: every window of four seconds has eight of each."""
    monkeypatch.setattr(sealed, "MAX_FILES", most)
    rows = [
        {"n": 3 * tick + zone, "ts": tick * SECOND_US // 2, "city": "ulm", "zone": zone, "a": 1.0, "b": 1}
        for tick in range(40)
        for zone in range(3)
    ]
    batches = [pa.Table.from_pylist(rows[start : start + 12], SCHEMA) for start in range(0, len(rows), 12)]
    write_batches(tmp_path / "in", batches)
    df, checkpoint = read_batches(spark, tmp_path / "in"), tmp_path / "checkpoint"
    asked = sp.stream(df, time="ts", key="zone").window("4 seconds", slide="1 second").aggregate(rows="count")
    query = asked.lateness(sp.FixedDelay("0 seconds")).start(
        checkpoint=checkpoint, sink=sp.ParquetSink(tmp_path / "out"), available_now=True, flush=False
    )
    query.await_termination()
    newest = json.loads(max((checkpoint / "manifests").glob("*.json")).read_text())
    steps = {part["file"]["name"][:10] for part in newest["body"]["questions"][""]["rows"]["panes"]}
    assert len(steps) > 1 or most < 64
    found = spark.read.parquet(str(tmp_path / "out")).collect()
    whole = [row for row in found if row.window.start.timestamp() >= 0]
    assert {row.rows for row in whole} == {8}
    assert len(whole) == 3 * 16
    assert len({(row.zone, row.window.start) for row in found}) == len(found) == 3 * 19
