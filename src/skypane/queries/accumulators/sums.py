"""Sums and means, exact as far as their types are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skypane import kernels
from skypane.model.groups import Groups
from skypane.queries import decimals
from skypane.queries.accumulators.base import Accumulator, InputRow, Inputs, Parts, present_values
from skypane.queries.accumulators.columns import exact_sum, hash_reduce, present
from skypane.queries.accumulators.counts import Count

_WIDE = pa.decimal128(38, 0)
"""Running sums of integers: they cannot wrap around."""
_HALF = pa.scalar(Decimal(2**32), pa.decimal128(10, 0))
_NARROW = (pa.int8(), pa.int16(), pa.int32())
"""Sums of so few records as a batch has are no more than a bigint can hold."""


class Sum(Accumulator):
    """The sum: exact for integers and decimals, double-double for floats so that the order of adding does not show.

    Its type is that of Spark's ``sum``: a bigint for integers, ten more digits (at most 38) for decimals, a double for
    floats. A sum that its type cannot hold is null, as Spark's ``try_sum`` has it.
    """

    def lift(self, inputs: Inputs, groups: Groups) -> Parts:
        """Sum each group."""
        values = inputs.values
        if pa.types.is_integer(values.type):
            return {"s": hash_reduce(values.cast(pa.decimal128(20, 0)).cast(_WIDE), groups, "sum")}
        if pa.types.is_decimal(values.type):
            running = decimals.running_type(values.type)
            return {"s": hash_reduce(values.cast(decimals.adding_type(values.type)), groups, "sum").cast(running)}
        numbers, filled = present(values, groups)
        high, low = kernels.segment_sum(numbers, filled.offsets)
        empty = filled.sizes == 0
        return {"hi": pa.array(high, mask=empty), "lo": pa.array(low, mask=empty)}

    def condensed(self, kind: pa.DataType) -> Mapping[str, str] | None:
        """Of whole numbers, wide ones in two halves, so that nothing wraps around; floats are not added exactly."""
        if kind in _NARROW:
            return {"s": "sum(CAST({x} AS BIGINT))"}
        return {"high": "sum(shiftright({x}, 32))", "low": "sum({x} & 4294967295L)"} if kind == pa.int64() else None

    def condensed_parts(self, columns: Mapping[str, pa.ChunkedArray]) -> Parts:
        """The halves put together."""
        halves = {name: column.combine_chunks().cast(pa.decimal128(19, 0)) for name, column in columns.items()}
        if "s" in halves:
            return {"s": halves["s"].cast(_WIDE)}
        return {"s": pc.add(pc.multiply(halves["high"], _HALF), halves["low"]).cast(_WIDE)}

    def combine(self, parts: Mapping[str, pa.ChunkedArray], groups: Groups) -> Parts:
        """Sum the sums."""
        if "s" in parts:
            return {"s": hash_reduce(parts["s"], groups, "sum").cast(parts["s"].type)}
        high, filled = present(parts["hi"], groups)
        low, _ = present(parts["lo"], groups)
        hi, lo = kernels.segment_sum_pairs(high, low, filled.offsets)
        empty = filled.sizes == 0
        return {"hi": pa.array(hi, mask=empty), "lo": pa.array(lo, mask=empty)}

    def lower(self, parts: Mapping[str, pa.ChunkedArray]) -> pa.ChunkedArray:
        """The sum, rounded once."""
        if "hi" in parts:
            return parts["hi"]
        return _to_int64_or_null(parts["s"]) if parts["s"].type == _WIDE else decimals.total(parts["s"])

    def reference(self, rows: Sequence[InputRow]) -> Any:
        """Add them up exactly."""
        values = present_values(rows)
        if not values:
            return None
        if isinstance(values[0], float):
            return exact_sum(values)
        if isinstance(values[0], Decimal):
            return decimals.exact_total(values)
        total = sum(values)
        return total if -(2**63) <= total < 2**63 else None


class Mean(Accumulator):
    """The arithmetic mean: of decimals a decimal with four more digits, as Spark's ``avg``; else a double."""

    def lift(self, inputs: Inputs, groups: Groups) -> Parts:
        """Sum and count."""
        values = inputs.values
        numbers = values if pa.types.is_decimal(values.type) else values.cast(pa.float64(), safe=False)
        return {**_SUM.lift(Inputs(numbers), groups), **_COUNT.lift(inputs, groups)}

    def condensed(self, kind: pa.DataType) -> Mapping[str, str] | None:
        """Of whole numbers that are doubles, too."""
        return {"s": "sum(CAST({x} AS BIGINT))", "n": "count({x})"} if kind in _NARROW else None

    def condensed_parts(self, columns: Mapping[str, pa.ChunkedArray]) -> Parts:
        """The sum as two doubles."""
        whole = np.asarray(pc.fill_null(columns["s"], 0).to_numpy())
        high, empty = whole.astype(np.float64), columns["s"].is_null().to_numpy()
        low = (whole - high.astype(np.int64)).astype(np.float64)
        sums = {"hi": pa.array(high, mask=empty), "lo": pa.array(low, mask=empty)}
        return {**sums, "n": columns["n"].combine_chunks()}

    def combine(self, parts: Mapping[str, pa.ChunkedArray], groups: Groups) -> Parts:
        """Add sums and counts."""
        return {**_SUM.combine(parts, groups), **_COUNT.combine(parts, groups)}

    def lower(self, parts: Mapping[str, pa.ChunkedArray]) -> pa.ChunkedArray:
        """Divide; null where there was nothing."""
        if "s" in parts:
            return decimals.mean(parts["s"], parts["n"])
        return pc.divide(parts["hi"], parts["n"].cast(pa.float64(), safe=False))

    def reference(self, rows: Sequence[InputRow]) -> Any:
        """Exact sum by count."""
        values = present_values(rows)
        if not values:
            return None
        if isinstance(values[0], Decimal):
            scale = -int(values[0].as_tuple().exponent)
            return decimals.mean_of(decimals.exact_total(values), scale, len(values))
        return exact_sum([float(v) for v in values]) / len(values)


def _to_int64_or_null(total: pa.ChunkedArray) -> pa.ChunkedArray:
    limits = [pa.scalar(bound, pa.int64()).cast(pa.decimal128(20, 0)).cast(_WIDE) for bound in (-(2**63), 2**63 - 1)]
    fits = pc.and_(pc.greater_equal(total, limits[0]), pc.less_equal(total, limits[1]))
    return pc.if_else(fits, total, pa.scalar(None, total.type)).cast(pa.int64())


_COUNT = Count("count")
_SUM = Sum("sum")
