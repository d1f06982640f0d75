"""Values: what Python has as what Arrow has, where nothing is lost; by itself Arrow cuts off fractions and fields."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime, time
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_LISTS: Final = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
_LARGEST_FLOAT: Final = float(np.finfo(np.float32).max)
_SHOWN: Final = 80


def as_array(values: Any, kind: pa.DataType, *, from_pandas: bool = False) -> pa.Array | pa.ChunkedArray:
    """Values as an array of the type; a ``ValueError``, or whatever Arrow raises, if they are none of it."""
    if _may_lose(kind) and getattr(values, "dtype", None) in (None, np.dtype(object)):
        for value in values:
            _check(value, kind)
    if pa.types.is_temporal(kind) and any(isinstance(value, np.datetime64 | np.timedelta64) for value in values):
        return cast(pa.array(values), kind)  # NumPy's own times have units of their own
    return pa.array(values, kind, from_pandas=from_pandas)


def cast(values: pa.Array | pa.ChunkedArray, kind: pa.DataType) -> pa.Array | pa.ChunkedArray:
    """The same of values that Arrow has already."""
    if values.type == kind:
        return values
    if values.null_count == len(values):  # of whatever type: pandas has floats where there is nothing
        return pa.nulls(len(values), kind)
    _check_fields(values.type, kind)
    found = values.cast(kind)
    pieces = ((column.chunks if isinstance(column, pa.ChunkedArray) else [column]) for column in (values, found))
    for own, cast_one in zip(*pieces, strict=True):
        _check_leaves(own, cast_one)
    return found


def _check_fields(own: pa.DataType, kind: pa.DataType) -> None:
    """Arrow leaves out fields that a struct is not to have."""
    if pa.types.is_struct(own) and pa.types.is_struct(kind):
        for field in own:
            if kind.get_field_index(field.name) < 0:
                raise ValueError(f"it has no field {field.name!r}")
            _check_fields(field.type, kind.field(field.name).type)
    elif own.num_fields == kind.num_fields and not pa.types.is_struct(own):
        for index in range(own.num_fields):
            _check_fields(own.field(index).type, kind.field(index).type)


def _check_leaves(values: pa.Array, found: pa.Array) -> None:
    """Arrow rounds times to days and numbers to decimals or truths, and makes infinities of what a float cannot be."""
    own, kind = values.type, found.type
    if pa.types.is_struct(own) and pa.types.is_struct(kind):
        for field in own:
            _check_leaves(values.field(field.name), found.field(field.name))
    elif pa.types.is_map(own) and pa.types.is_map(kind):
        _check_leaves(values.keys, found.keys)
        _check_leaves(values.items, found.items)
    elif any(is_kind(own) for is_kind in _LISTS):
        _check_leaves(values.flatten(), found.flatten())
    elif pa.types.is_float32(kind) and pa.types.is_float64(own):
        if not pc.is_finite(values).equals(pc.is_finite(found)):
            raise ValueError("some are too large")
    elif _rounds(own, kind) and not found.cast(own).equals(values):
        raise ValueError("there is more in the values than that")


def _rounds(own: pa.DataType, kind: pa.DataType) -> bool:
    if pa.types.is_timestamp(own):
        return bool(pa.types.is_date(kind))
    is_number = pa.types.is_floating(own) or pa.types.is_integer(own)
    return bool(is_number and (pa.types.is_boolean(kind) or (pa.types.is_decimal(kind) and pa.types.is_floating(own))))


def shows_type(kind: pa.DataType) -> bool:
    """Whether a type that was found in values is one to hold others: not if it is of nothing, or of no fields."""
    if pa.types.is_null(kind) or (pa.types.is_struct(kind) and not kind.num_fields):
        return False
    return all(shows_type(kind.field(index).type) for index in range(kind.num_fields))


def _may_lose(kind: pa.DataType) -> bool:
    is_number = pa.types.is_integer(kind) or pa.types.is_float32(kind)
    return bool(is_number or pa.types.is_temporal(kind) or pa.types.is_nested(kind))


def _check(value: Any, kind: pa.DataType) -> None:
    """Refuse what Arrow would take, but not all of it."""
    if value is None:
        return
    if pa.types.is_nested(kind):
        _check_nested(value, kind)
    elif isinstance(value, float | np.floating | Decimal):
        _check_number(value, kind)
    elif isinstance(value, datetime):
        _check_time(value, kind)


def _check_number(value: Any, kind: pa.DataType) -> None:
    if math.isnan(value):
        return
    if pa.types.is_float32(kind):
        if _LARGEST_FLOAT < abs(value) < math.inf:
            raise ValueError(f"{value} is too large")
    elif (pa.types.is_integer(kind) or pa.types.is_temporal(kind)) and int(value) != value:
        raise ValueError(f"{value} is no whole number")


def _check_time(value: datetime, kind: pa.DataType) -> None:
    if value != value:  # noqa: PLR0124 - pandas has a time that is none
        return
    if pa.types.is_date(kind) and value.time() != time():
        raise ValueError(f"{value} has a time of day")
    if pa.types.is_timestamp(kind) and kind.unit != "ns" and getattr(value, "nanosecond", 0):
        raise ValueError(f"{value} has nanoseconds")


def _check_nested(value: Any, kind: pa.DataType) -> None:
    if pa.types.is_struct(kind):
        _check_struct(value, kind)
    elif pa.types.is_map(kind):
        for name, item in value.items() if isinstance(value, Mapping) else value:
            _check(name, kind.key_type)
            _check(item, kind.item_type)
    elif any(is_kind(kind) for is_kind in _LISTS):
        _check_list(value, kind.value_type)


def _check_struct(value: Any, kind: pa.StructType) -> None:
    if isinstance(value, Mapping):
        names = [field.name for field in kind]
        for name, item in value.items():
            if name not in names:
                raise ValueError(f"it has no field {name!r}")
            _check(item, kind.field(name).type)
    elif isinstance(value, tuple) and len(value) == kind.num_fields:
        for item, field in zip(value, kind, strict=True):
            _check(item, field.type)


def _check_list(value: Any, kind: pa.DataType) -> None:
    if isinstance(value, str | bytes):
        raise ValueError(f"{value[:_SHOWN]!r} is a text, not a list")
    if not _may_lose(kind):
        return
    numbers = isinstance(value, np.ndarray) and value.dtype != object
    if numbers and not pa.types.is_float32(kind) and (value.dtype.kind != "f" or not (value % 1 != 0).any()):
        return
    for item in value:
        _check(item, kind)
