"""Canonical columns: equal values are equal bytes, in a few types, whatever session or version stored them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skypane.tables.grouping import one_zero

_TEXTS = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_fixed_size_binary,
)
_SHORT = (pa.types.is_date32, pa.types.is_time32)
_NUMBERS = (
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_timestamp,
    pa.types.is_date64,
    pa.types.is_time64,
    pa.types.is_duration,
    pa.types.is_null,
)
_KINDS = (*_TEXTS, *_SHORT, *_NUMBERS, pa.types.is_floating, pa.types.is_decimal128)


def can_compare(kind: pa.DataType) -> bool:
    """Whether values of the type have a canonical form."""
    if pa.types.is_dictionary(kind):
        return can_compare(kind.value_type)
    return any(is_kind(kind) for is_kind in _KINDS)


def canonical(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Whole numbers, decimals or bytes: -0.0 is 0.0, every NaN is one, a time is its number in any zone."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return canonical(column.cast(kind.value_type))
    if pa.types.is_fixed_size_binary(kind):
        return column.cast(pa.binary()).cast(pa.large_binary())
    if any(is_kind(kind) for is_kind in _TEXTS):
        return column.cast(pa.large_binary())
    if pa.types.is_decimal128(kind):
        return column.cast(pa.decimal128(38, kind.scale))
    if pa.types.is_floating(kind):
        return _bits(one_zero(column.cast(pa.float64())))
    if any(is_kind(kind) for is_kind in _SHORT):
        column = column.cast(pa.int32())
    return column.cast(pa.int64(), safe=False)


def _bits(column: pa.ChunkedArray) -> pa.ChunkedArray:
    numbers = pc.fill_null(column, 0.0).to_numpy().astype(np.float64).view(np.int64)
    missing = column.is_null().to_numpy()
    return pa.chunked_array([pa.array(numbers, mask=missing)])
