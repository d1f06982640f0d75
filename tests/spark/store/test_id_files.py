"""Ids in files: split by their hashes, merged, forgotten; a lookup finds what it would find in one table."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from skypane.flow.definition import Definition
from skypane.flow.distinct.distinct import Distinct
from skypane.flow.distinct.id_rows import known_ids, remembered_from_us
from skypane.flow.distinct.known_ids import KnownIds
from skypane.model.columns import DISTINCT, TIME_US
from skypane.model.windows import WindowSpec
from skypane.queries.aggregates import Aggregates
from skypane.spark.store import id_files, logs
from skypane.spark.store.id_files import IdFiles, remember_ids

DEFINITION = Definition(
    Aggregates.of({"n": "count"}), WindowSpec(1_000, 1_000), "ts", distinct=Distinct(("id",), 3_000)
)


def test_lookups_find_what_was_not_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(id_files, "_FILE_IDS", 60)
    monkeypatch.setattr(logs, "_MERGE_AT", 2)
    assert DEFINITION.distinct is not None
    rng, whole = np.random.default_rng(7), []
    parts: logs.Parts = ()
    for step in range(12):
        times = step * 1_000 + rng.integers(0, 1_000, 50)
        hashes = rng.integers(-(2**63), 2**63 - 1, 50)
        rows = pa.table({"id": hashes, DISTINCT: hashes})
        ids, after_us = known_ids(DEFINITION.distinct, rows, times), step * 1_000
        parts = remember_ids(tmp_path, step, DEFINITION, parts, [ids.slice(0, 20), None, ids.slice(20)], after_us)
        whole.append(ids)
        # Files with forgotten ids only are gone; how many others there are is bounded.
        assert sum(part.file.rows for part in parts) <= 50 * 9
        files = pickle.loads(pickle.dumps(IdFiles(str(tmp_path), parts)))
        from_us = remembered_from_us(DEFINITION, after_us)
        asked = np.sort(pa.concat_tables(whole).column(DISTINCT).to_numpy()[:: rng.integers(1, 40)])
        for some in (asked, asked[3:5]):
            found, wanted = KnownIds(files, from_us).matching(some), KnownIds.of(whole, from_us).matching(some)
            assert texts(found) == texts(wanted)
    assert any(part.level > 1 for part in parts)
    assert len({part.groups for part in parts}) > 1


def texts(tables: list[pa.Table]) -> list[tuple[int, int]]:
    return sorted((row[DISTINCT], row[TIME_US]) for table in tables for row in table.to_pylist())


def test_groups_are_the_hashes_in_order() -> None:
    assert [id_files.group_of(each) for each in (-(2**63), -1, 0, 2**63 - 1)] == [0, 127, 128, 255]
