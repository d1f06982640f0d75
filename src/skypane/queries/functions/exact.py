"""Exact: plain values as an Arrow array, or an error where something would be lost; Arrow itself makes 1.5 a 1."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

UNFIT = (pa.ArrowException, TypeError, ValueError, OverflowError)
"""What is raised for values that do not fit."""


def exact_array(values: Any, kind: pa.DataType) -> pa.Array | pa.ChunkedArray:
    """Values of the type; raises one of ``UNFIT`` rather than cut fractions off."""
    from_pandas = hasattr(values, "to_numpy")
    try:
        array = pa.array(values, kind, from_pandas=from_pandas)
    except UNFIT:
        if not pa.types.is_temporal(kind):
            raise
        return pa.array(values, from_pandas=True).cast(kind)  # times of NumPy and pandas: UTC, of any unit, or not one
    if not _has_integers(kind):
        return array
    try:
        as_they_are = pa.array(values, from_pandas=from_pandas)
    except UNFIT:  # they fit only since the type was told
        return array
    _check_whole(as_they_are, kind)
    return array


def _has_integers(kind: pa.DataType) -> bool:
    if not pa.types.is_nested(kind):
        return bool(pa.types.is_integer(kind))
    return any(_has_integers(kind.field(index).type) for index in range(kind.num_fields))


def _check_whole(values: pa.Array | pa.ChunkedArray, kind: pa.DataType) -> None:
    """Raise if there are fractions where the type has integers, at any depth."""
    if pa.types.is_integer(kind) and (pa.types.is_floating(values.type) or pa.types.is_decimal(values.type)):
        values.cast(kind)
    elif pa.types.is_list(kind) and pa.types.is_list(values.type):
        _check_whole(values.flatten(), kind.value_type)
    elif pa.types.is_struct(kind) and pa.types.is_struct(values.type):
        found = dict(zip(values.type.names, values.flatten(), strict=True))
        for name in {*kind.names} & {*found}:
            _check_whole(found[name], kind.field(name).type)
