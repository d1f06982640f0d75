"""Accumulators: one aggregate function each, as parts that merge in any order to the same result.

``lift`` and ``combine`` return one value per *group* for every part; the parts of a group are one row of a partial.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skypane import kernels
from skypane.model.errors import SchemaError
from skypane.model.groups import BoolArray, Float64Array, Groups, Int64Array
from skypane.queries import decimals

Parts = dict[str, pa.Array]
_WIDE = pa.decimal128(38, 0)
"""Running sums of integers: they cannot wrap around."""


class Accumulator(ABC):
    """How one aggregate function is computed from pieces, with SQL's treatment of nulls."""

    function: ClassVar[str]
    compares: ClassVar[bool] = False
    """Whether it compares values with each other."""

    def check(self, kind: pa.DataType, name: str) -> None:
        """Raise :class:`SchemaError` if values of this type cannot be aggregated."""
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
            raise SchemaError(f"{name}={self.function}(...) needs numbers, not {kind}. Cast the argument to a number.")

    @abstractmethod
    def lift(self, values: pa.ChunkedArray, groups: Groups) -> Parts:
        """The parts of each group's values."""

    @abstractmethod
    def combine(self, parts: Mapping[str, pa.ChunkedArray], groups: Groups) -> Parts:
        """Merge the parts of each group."""

    @abstractmethod
    def lower(self, parts: Mapping[str, pa.ChunkedArray]) -> pa.ChunkedArray:
        """The aggregate of each group."""

    @abstractmethod
    def reference(self, values: Sequence[Any]) -> Any:
        """The aggregate of some non-null values, the slow obvious way."""


class Count(Accumulator):
    """How many values are not null."""

    function = "count"

    def check(self, kind: pa.DataType, name: str) -> None:
        """Anything can be counted."""

    def lift(self, values: pa.ChunkedArray, groups: Groups) -> Parts:
        """Count the values that are there."""
        return {"n": pa.array(_groups_of_present(values, groups).sizes)}

    def combine(self, parts: Mapping[str, pa.ChunkedArray], groups: Groups) -> Parts:
        """Add the counts."""
        return {"n": pa.array(_add(parts["n"], groups))}

    def lower(self, parts: Mapping[str, pa.ChunkedArray]) -> pa.ChunkedArray:
        """The count."""
        return parts["n"]

    def reference(self, values: Sequence[Any]) -> Any:
        """Their number."""
        return len(values)


class Extreme(Accumulator):
    """The smallest or largest value, of any ordered type; like Spark, NaN is larger than any number.

    Of the two zeros, -0.0 is the smaller: Spark takes the one that comes first, and so depends on the order of records.
    """

    compares = True

    def __init__(self, function: str) -> None:
        self.function = function  # type: ignore[misc]

    def check(self, kind: pa.DataType, name: str) -> None:
        """Whatever Arrow can order."""
        if pa.types.is_nested(kind) or pa.types.is_null(kind):
            raise SchemaError(f"{name}={self.function}(...) cannot order values of type {kind}.")

    def lift(self, values: pa.ChunkedArray, groups: Groups) -> Parts:
        """The extreme of each group, null where it has no values."""
        if pa.types.is_floating(values.type):
            return {"x": self._of_floats(values, groups)}
        if pa.types.is_duration(values.type):  # which Arrow cannot reduce
            return {"x": _hash_reduce(values.cast(pa.int64()), groups, self.function).cast(values.type)}
        return {"x": _hash_reduce(values, groups, self.function)}

    def combine(self, parts: Mapping[str, pa.ChunkedArray], groups: Groups) -> Parts:
        """The extreme of the extremes."""
        return self.lift(parts["x"], groups)

    def lower(self, parts: Mapping[str, pa.ChunkedArray]) -> pa.ChunkedArray:
        """The extreme."""
        return parts["x"]

    def reference(self, values: Sequence[Any]) -> Any:
        """Python's own min and max, with NaN as the largest."""
        if not values:
            return None
        chosen = min if self.function == "min" else max
        if not isinstance(values[0], float):
            return chosen(values)
        return chosen(values, key=lambda v: (v != v, 0 if v != v else v, math.copysign(1, v)))  # noqa: PLR0124

    def _of_floats(self, values: pa.ChunkedArray, groups: Groups) -> pa.Array:
        numbers, present = _present(values, groups)
        full = present.sizes > 0
        found = np.zeros(len(groups), dtype=np.float64)
        if full.any():
            starts = present.offsets[:-1][full]
            # fmin ignores NaN unless there is nothing else, maximum lets it win: NaN is the largest value.
            reduced = (np.fmin if self.function == "min" else np.maximum).reduceat(numbers, starts)
            reduced[np.isnan(reduced)] = np.nan  # one of its many bit patterns
            found[full] = self._one_zero(reduced, numbers, starts)
        return pa.array(found, mask=~full).cast(values.type)

    def _one_zero(self, reduced: Float64Array, numbers: Float64Array, starts: Int64Array) -> Float64Array:
        """The same zero whatever the order, where a group's extreme is zero."""
        zero: BoolArray = reduced == 0
        if not zero.any():
            return reduced
        wanted = np.signbit(numbers) if self.function == "min" else ~np.signbit(numbers)
        has_wanted = np.logical_or.reduceat(wanted & (numbers == 0), starts)
        negative = has_wanted if self.function == "min" else ~has_wanted
        return np.where(zero, np.where(negative, -0.0, 0.0), reduced)


class Sum(Accumulator):
    """The sum: exact for integers and decimals, double-double for floats so that the order of adding does not show.

    Its type is that of Spark's ``sum``: a bigint for integers, ten more digits (at most 38) for decimals, a double for
    floats. A sum that its type cannot hold is null, as Spark's ``try_sum`` has it.
    """

    function = "sum"

    def lift(self, values: pa.ChunkedArray, groups: Groups) -> Parts:
        """Sum each group."""
        if pa.types.is_integer(values.type):
            return {"s": _hash_reduce(values.cast(pa.decimal128(20, 0)).cast(_WIDE), groups, "sum")}
        if pa.types.is_decimal(values.type):
            running = decimals.running_type(values.type)
            return {"s": _hash_reduce(values.cast(decimals.adding_type(values.type)), groups, "sum").cast(running)}
        numbers, present = _present(values, groups)
        high, low = kernels.segment_sum(numbers, present.offsets)
        empty = present.sizes == 0
        return {"hi": pa.array(high, mask=empty), "lo": pa.array(low, mask=empty)}

    def combine(self, parts: Mapping[str, pa.ChunkedArray], groups: Groups) -> Parts:
        """Sum the sums."""
        if "s" in parts:
            return {"s": _hash_reduce(parts["s"], groups, "sum").cast(parts["s"].type)}
        high, present = _present(parts["hi"], groups)
        low, _ = _present(parts["lo"], groups)
        hi, lo = kernels.segment_sum_pairs(high, low, present.offsets)
        empty = present.sizes == 0
        return {"hi": pa.array(hi, mask=empty), "lo": pa.array(lo, mask=empty)}

    def lower(self, parts: Mapping[str, pa.ChunkedArray]) -> pa.ChunkedArray:
        """The sum, rounded once."""
        if "hi" in parts:
            return parts["hi"]
        return _to_int64_or_null(parts["s"]) if parts["s"].type == _WIDE else decimals.total(parts["s"])

    def reference(self, values: Sequence[Any]) -> Any:
        """Add them up exactly."""
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

    function = "mean"

    def lift(self, values: pa.ChunkedArray, groups: Groups) -> Parts:
        """Sum and count."""
        numbers = values if pa.types.is_decimal(values.type) else values.cast(pa.float64(), safe=False)
        return {**_SUM.lift(numbers, groups), **_COUNT.lift(values, groups)}

    def combine(self, parts: Mapping[str, pa.ChunkedArray], groups: Groups) -> Parts:
        """Add sums and counts."""
        return {**_SUM.combine(parts, groups), **_COUNT.combine(parts, groups)}

    def lower(self, parts: Mapping[str, pa.ChunkedArray]) -> pa.ChunkedArray:
        """Divide; null where there was nothing."""
        if "s" in parts:
            return decimals.mean(parts["s"], parts["n"])
        return pc.divide(parts["hi"], parts["n"].cast(pa.float64(), safe=False))

    def reference(self, values: Sequence[Any]) -> Any:
        """Exact sum by count."""
        if not values:
            return None
        if isinstance(values[0], Decimal):
            scale = -int(values[0].as_tuple().exponent)
            return decimals.mean_of(decimals.exact_total(values), scale, len(values))
        return exact_sum([float(v) for v in values]) / len(values)


class Variance(Accumulator):
    """The sample variance or its root, as a double; null for fewer than two values, as Spark's ``try`` forms give."""

    def __init__(self, function: str) -> None:
        self.function = function  # type: ignore[misc]

    def lift(self, values: pa.ChunkedArray, groups: Groups) -> Parts:
        """Count, mean and the sum of squared distances from it."""
        numbers, present = _present(values.cast(pa.float64(), safe=False), groups)
        return _moments(*kernels.segment_moments(numbers, present.offsets))

    def combine(self, parts: Mapping[str, pa.ChunkedArray], groups: Groups) -> Parts:
        """Merge moments pairwise (Chan et al.)."""
        n, mean, m2 = (np.asarray(parts[name].to_numpy()) for name in ("n", "mean", "m2"))
        return _moments(*kernels.combine_moments(n, mean, m2, groups.offsets))

    def lower(self, parts: Mapping[str, pa.ChunkedArray]) -> pa.ChunkedArray:
        """Divide by n - 1."""
        n = np.asarray(parts["n"].to_numpy())
        variance = np.asarray(parts["m2"].to_numpy()) / np.maximum(n - 1, 1)
        found = variance if self.function == "variance" else np.sqrt(variance)
        return pa.chunked_array([pa.array(found, mask=n < 2)])

    def reference(self, values: Sequence[Any]) -> Any:
        """Two passes."""
        if len(values) < 2:
            return None
        numbers = [float(v) for v in values]
        mean = exact_sum(numbers) / len(numbers)
        variance = exact_sum([(v - mean) ** 2 for v in numbers]) / (len(numbers) - 1)
        return variance if self.function == "variance" else variance**0.5


def exact_sum(values: Sequence[float]) -> float:
    """The correctly rounded sum, or what plain addition gives where infinities or NaN are involved."""
    return math.fsum(values) if all(math.isfinite(v) for v in values) else sum(values)


def _present(values: pa.ChunkedArray, groups: Groups) -> tuple[Any, Groups]:
    """The values that are not null, and the groups they are in."""
    return values.drop_null().to_numpy(), _groups_of_present(values, groups)


def _groups_of_present(values: pa.ChunkedArray, groups: Groups) -> Groups:
    if not values.null_count:
        return groups
    return groups.after_keeping(np.flatnonzero(values.is_valid().to_numpy()).astype(np.int64))


def _add(values: pa.ChunkedArray, groups: Groups) -> Int64Array:
    totals = np.zeros(len(groups) + 0, dtype=np.int64)
    np.add.at(totals, groups.row_ids(), values.to_numpy())
    return totals


def _hash_reduce(values: pa.ChunkedArray, groups: Groups, function: str) -> pa.Array:
    """Reduce each group with Arrow's own aggregates; null for groups without values."""
    table = pa.table({"group": groups.row_ids(), "value": values})
    found = table.group_by("group", use_threads=False).aggregate([("value", function)])
    where = np.full(len(groups), -1, dtype=np.int64)
    where[found.column("group").to_numpy()] = np.arange(found.num_rows)
    indices = pa.array(where, mask=where < 0)
    reduced = found.column(f"value_{function}").combine_chunks()
    return reduced.take(indices)


def _to_int64_or_null(total: pa.ChunkedArray) -> pa.ChunkedArray:
    limits = [pa.scalar(bound, pa.int64()).cast(pa.decimal128(20, 0)).cast(_WIDE) for bound in (-(2**63), 2**63 - 1)]
    fits = pc.and_(pc.greater_equal(total, limits[0]), pc.less_equal(total, limits[1]))
    return pc.if_else(fits, total, pa.scalar(None, total.type)).cast(pa.int64())


def _moments(n: Int64Array, mean: Float64Array, m2: Float64Array) -> Parts:
    return {"n": pa.array(n), "mean": pa.array(mean), "m2": pa.array(m2)}


_COUNT = Count()
_SUM = Sum()

ACCUMULATORS: dict[str, Accumulator] = {
    "count": _COUNT,
    "sum": _SUM,
    "min": Extreme("min"),
    "max": Extreme("max"),
    "mean": Mean(),
    "avg": Mean(),
    "variance": Variance("variance"),
    "stddev": Variance("stddev"),
}
"""Every aggregate function, by the name used in ``.aggregate(p="mean(price)")``."""
