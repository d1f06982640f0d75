"""Batches for another process are cut by bytes, not by rows."""

from __future__ import annotations

import pyarrow as pa
import pytest

from skypane.tables import batches
from skypane.tables.batches import small_batches


def test_batches_are_cut_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "BATCH_BYTES", 100)
    table = pa.table({"text": ["a" * size for size in (10, 20, 30, 400, 10, 1)]})
    cut = list(small_batches(pa.concat_tables([table, table.slice(0, 0), table])))
    assert pa.Table.from_batches(cut).column("text").to_pylist() == 2 * table.column("text").to_pylist()
    assert all(batch.nbytes <= 100 or batch.num_rows == 1 for batch in cut)
    assert max(batch.num_rows for batch in cut) > 1


def test_no_rows_are_no_batches() -> None:
    assert list(small_batches(pa.table({"text": pa.array([], pa.string())}).slice(0))) == []
