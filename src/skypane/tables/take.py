"""Take: rows of a table by their numbers, however many bytes they have.

Arrow's own ``take`` puts a column into one piece first and gives one piece back, and its texts, lists and binaries
count the bytes of a piece with 32 bits: at 2 GiB it fails. Here columns may be larger. What is taken comes in as many
pieces as it needs, and what it is taken from is never put together.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skypane.model.groups import Int64Array

PIECE_BYTES = 1 << 30
"""The most that Arrow is given in one piece: half of what it can count."""

_TEXTS = (pa.types.is_string, pa.types.is_binary, pa.types.is_large_string, pa.types.is_large_binary)


def take_rows(table: pa.Table, rows: Int64Array) -> pa.Table:
    """The rows with these numbers, in this order; a number may come several times."""
    if table.nbytes * len(rows) < PIECE_BYTES:
        return table.take(pa.array(rows))
    counted = [column for column in table.columns if _is_counted(column.type)]
    if all(_is_small(column, len(rows)) for column in counted):
        return table.take(pa.array(rows))
    sizes = sum((_row_bytes(column) for column in counted), np.zeros(table.num_rows, dtype=np.int64))
    borders = _borders(sizes)
    parts = [_gathered(table, borders, rows[low:high]) for low, high in _runs(_borders(sizes[rows]))]
    return pa.concat_tables(parts) if parts else table.slice(0, 0)


def _is_counted(kind: pa.DataType) -> bool:
    """Whether a column of this type counts bytes or items."""
    return not (pa.types.is_primitive(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind))


def _is_small(column: pa.ChunkedArray, rows: int) -> bool:
    """Whether all that is there fits into one piece, and so many of its rows do, whichever they are."""
    there = column.nbytes
    return there < PIECE_BYTES and (
        there * rows < PIECE_BYTES or int(_row_bytes(column).max(initial=0)) * rows < PIECE_BYTES
    )


def _row_bytes(column: pa.ChunkedArray) -> Int64Array:
    """The bytes, or at least the items, that each row has in buffers that count."""
    return np.concatenate([np.zeros(0, dtype=np.int64), *(_array_bytes(chunk) for chunk in column.chunks)])


def _array_bytes(array: pa.Array) -> Int64Array:
    kind = array.type
    if pa.types.is_struct(kind):
        return sum((_array_bytes(field) for field in array.flatten()), np.zeros(len(array), dtype=np.int64))
    if pa.types.is_map(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind):
        # The values of all lists, also of those before and behind a slice: offsets count from there.
        values = array.items if pa.types.is_map(kind) else array.values
        each = 1 + _array_bytes(values) + (_array_bytes(array.keys) if pa.types.is_map(kind) else 0)
        sizes: Int64Array = np.diff(np.concatenate(([0], np.cumsum(each)))[array.offsets.to_numpy()])
        return sizes
    if any(is_kind(kind) for is_kind in _TEXTS):
        lengths = pc.fill_null(pc.binary_length(array), 0)
        return np.asarray(lengths.to_numpy(zero_copy_only=False), dtype=np.int64)
    return np.zeros(len(array), dtype=np.int64)


def _borders(sizes: Int64Array) -> Int64Array:
    """Where to cut rows of these sizes so that no part is too large; a part has one row, at least."""
    ends, borders = np.cumsum(sizes), [0]
    while borders[-1] < len(sizes):
        done = int(ends[borders[-1] - 1]) if borders[-1] else 0
        borders.append(max(int(np.searchsorted(ends, done + PIECE_BYTES, side="right")), borders[-1] + 1))
    return np.array(borders, dtype=np.int64)


def _runs(borders: Int64Array) -> list[tuple[int, int]]:
    return list(zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True))


def _gathered(table: pa.Table, borders: Int64Array, rows: Int64Array) -> pa.Table:
    """The rows, which are small enough for one piece, from each part of the table between two borders."""
    part = np.searchsorted(borders, rows, side="right") - 1
    found = []
    for number in np.unique(part).tolist():
        low, high = int(borders[number]), int(borders[number + 1])
        found.append(table.slice(low, high - low).take(pa.array(rows[part == number] - low)))
    if len(found) == 1:
        return found[0]
    came = np.argsort(part, kind="stable")
    back = np.empty(len(rows), dtype=np.int64)
    back[came] = np.arange(len(rows))
    return pa.concat_tables(found).take(pa.array(back))
