"""Key groups of rows, as Spark would compute them: to find them here is cheaper than to have one sent with each row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skypane.kernels.hashes import Hashes, hash_numbers, hash_texts, seeds
from skypane.model.columns import KEY_GROUPS
from skypane.model.groups import BoolArray

_NARROW = (pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.date32())
_OFFSETS = {pa.string(): np.int32, pa.binary(): np.int32, pa.large_string(): np.int64, pa.large_binary(): np.int64}


def can_group(kind: pa.DataType) -> bool:
    """Whether keys of this type are hashed here; others, which are rare, Spark has to hash."""
    return kind in _NARROW or kind in _OFFSETS or kind == pa.int64() or pa.types.is_timestamp(kind)


def key_groups(rows: pa.Table, keys: Sequence[str]) -> pa.Array:
    """The key group of each row."""
    hashes = seeds(rows.num_rows)
    for key in keys:
        _go_on(rows.column(key), hashes)
    return pa.array((hashes & np.uint64(KEY_GROUPS - 1)).astype(np.int32))


def _go_on(column: pa.ChunkedArray, hashes: Hashes) -> None:
    """Hash one more column, piece by piece: together its texts may be more than Arrow has in one."""
    first = 0
    for piece in column.chunks:
        own = hashes[first : first + len(piece)]
        first += len(piece)
        known: BoolArray = np.ones(len(piece), dtype=np.bool_)
        if piece.null_count:
            known = piece.is_valid().to_numpy(zero_copy_only=False)
        if piece.type in _OFFSETS:
            _hash_texts(piece, known, own)
        else:
            hash_numbers(_numbers(piece), known, own, wide=piece.type not in _NARROW)


def _hash_texts(texts: pa.Array, known: BoolArray, hashes: Hashes) -> None:
    _, borders, data = texts.buffers()
    if not len(texts):
        return
    offsets = np.frombuffer(borders, _OFFSETS[texts.type])[texts.offset : texts.offset + len(texts) + 1]
    # Without a single letter there may be no buffer.
    letters = np.zeros(0, dtype=np.uint8) if data is None or not data.size else np.frombuffer(data, np.uint8)
    hash_texts(letters, offsets, known, hashes)


def _numbers(piece: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Times as microseconds, days as days; what is null is any number."""
    if pa.types.is_timestamp(piece.type):
        piece = piece.view(pa.int64())
    elif pa.types.is_date32(piece.type):
        piece = piece.view(pa.int32())
    filled = pc.fill_null(piece.cast(pa.int64()), 0)
    return np.asarray(filled.to_numpy(zero_copy_only=False), dtype=np.int64)
