"""Batches: a table as record batches that are small enough to hand over to another process."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

BATCH_BYTES = 1 << 26
"""Spark keeps a batch in memory several times over, and can count no more than 2 GiB of one column."""


def small_batches(table: pa.Table) -> Iterator[pa.RecordBatch]:
    """All rows in order; a batch that is too large has one row."""
    for batch in table.to_batches():
        yield from _halved(batch)


def _halved(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    if batch.nbytes <= BATCH_BYTES or batch.num_rows <= 1:
        yield batch
        return
    half = batch.num_rows // 2
    yield from _halved(batch.slice(0, half))
    yield from _halved(batch.slice(half))
