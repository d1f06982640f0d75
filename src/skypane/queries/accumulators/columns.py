"""Columns of values in groups: those that are there, their order, their sums and extremes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from skypane.model.groups import Groups, Int64Array
from skypane.queries.preferences import comparable
from skypane.tables.grouping import one_zero

_WHOLE = (pa.types.is_integer, pa.types.is_date32, pa.types.is_timestamp, pa.types.is_duration)


def present(values: pa.ChunkedArray, groups: Groups) -> tuple[Any, Groups]:
    """The values that are not null, and the groups they are in."""
    return values.drop_null().to_numpy(), groups_of_present(values, groups)


def groups_of_present(values: pa.ChunkedArray, groups: Groups) -> Groups:
    """The groups of the values that are not null."""
    if not values.null_count:
        return groups
    return groups.after_keeping(np.flatnonzero(values.is_valid().to_numpy()).astype(np.int64))


def keep_present(
    deciding: pa.ChunkedArray, columns: Sequence[pa.ChunkedArray], groups: Groups
) -> tuple[list[pa.ChunkedArray], Groups]:
    """The rows of some columns where the deciding one is not null."""
    if not deciding.null_count:
        return list(columns), groups
    kept = deciding.is_valid()
    return [column.filter(kept) for column in columns], groups_of_present(deciding, groups)


def add_up(values: pa.ChunkedArray, groups: Groups) -> Int64Array:
    """The sum of each group's integers."""
    ends = np.concatenate(([0], np.cumsum(values.to_numpy(), dtype=np.int64)))
    sums: Int64Array = np.diff(ends[groups.offsets])
    return sums


def extreme(values: pa.ChunkedArray, groups: Groups, function: str) -> pa.Array:
    """The ``min`` or ``max`` of each group, of any type but floats; null for groups without values."""
    kind = values.type
    if not any(is_kind(kind) for is_kind in _WHOLE):
        return hash_reduce(values, groups, function)
    # Rows are in the order of their groups, which Arrow does not know.
    numbers, filled = present(_whole(values), groups)
    full = filled.sizes > 0
    found = np.zeros(len(groups), dtype=numbers.dtype)
    if full.any():
        found[full] = (np.minimum if function == "min" else np.maximum).reduceat(numbers, filled.offsets[:-1][full])
    return pa.array(found, mask=~full).cast(kind)


def hash_reduce(values: pa.ChunkedArray, groups: Groups, function: str) -> pa.Array:
    """Reduce each group with Arrow's own aggregates; null for groups without values."""
    table = pa.table({"group": groups.row_ids(), "value": values})
    found = table.group_by("group", use_threads=False).aggregate([("value", function)])
    where = np.full(len(groups), -1, dtype=np.int64)
    where[found.column("group").to_numpy()] = np.arange(found.num_rows)
    indices = pa.array(where, mask=where < 0)
    reduced = found.column(f"value_{function}").combine_chunks()
    return reduced.take(indices)


def ordinals(values: pa.ChunkedArray) -> npt.NDArray[Any]:
    """Numbers in the order of the values, none of which is null: equal where they are, NaN after all others."""
    if any(is_kind(values.type) for is_kind in _WHOLE):
        return np.asarray(_whole(values).cast(pa.int64(), safe=False).to_numpy())
    return comparable(one_zero(values))


def _whole(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Integers as they are; dates, times and durations as the integers that they are stored as."""
    if pa.types.is_integer(values.type):
        return values
    return values.cast(pa.int32() if pa.types.is_date32(values.type) else pa.int64())


def exact_sum(values: Sequence[float]) -> float:
    """The correctly rounded sum, or what plain addition gives where infinities or NaN are involved."""
    return math.fsum(values) if all(math.isfinite(v) for v in values) else sum(values)


def order_key(value: Any) -> tuple[bool, Any]:
    """By what Python sorts values as SQL does: NaN is the largest (for references)."""
    is_nan = value != value  # noqa: PLR0124
    return is_nan, 0 if is_nan else value
