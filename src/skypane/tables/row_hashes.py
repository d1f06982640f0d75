"""Row hashes: a number for every row that depends on its values only, to cut ties the same way in any order."""

from __future__ import annotations

from hashlib import blake2b
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from skypane.model.groups import Int64Array

Words: TypeAlias = npt.NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_NULL = np.uint64(0xD1B54A32D192ED03)


def row_hashes(table: pa.Table) -> Int64Array:
    """Equal rows have equal hashes; other rows almost surely have others."""
    hashes = np.zeros(table.num_rows, dtype=np.uint64)
    for column in table.columns:
        hashes = _mixed(hashes * _GOLDEN + _mixed(_words(column)))
    return hashes.view(np.int64)


def _mixed(words: Words) -> Words:
    """The finalizer of SplitMix64: every bit depends on every bit."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Words = words ^ (words >> np.uint64(31))
    return mixed


def _words(column: pa.ChunkedArray) -> Words:
    """One word per value: its own bits, or a digest of its text."""
    kind = column.type
    if (
        pa.types.is_integer(kind)
        or pa.types.is_boolean(kind)
        or (pa.types.is_temporal(kind) and not pa.types.is_interval(kind))
    ):
        plain = column.cast(pa.int64(), safe=False) if not _is_short(kind) else column.cast(pa.int32()).cast(pa.int64())
        bits = pc.fill_null(plain, 0).to_numpy().astype(np.int64).view(np.uint64)
    elif pa.types.is_floating(kind):
        bits = pc.fill_null(column.cast(pa.float64()), 0.0).to_numpy().astype(np.float64).view(np.uint64)
    else:
        return _digests(column)
    words: Words = np.where(column.is_null().to_numpy(), _NULL, bits)
    return words


def _is_short(kind: pa.DataType) -> bool:
    """Arrow casts these to numbers of their own width only."""
    return bool(pa.types.is_date32(kind) or pa.types.is_time32(kind))


def _digests(column: pa.ChunkedArray) -> Words:
    seen: dict[str, int] = {}
    words = np.empty(len(column), dtype=np.uint64)
    for row, value in enumerate(column.to_pylist()):
        text = repr(value)
        if text not in seen:
            seen[text] = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")
        words[row] = seen[text]
    return words
