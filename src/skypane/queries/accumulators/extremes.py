"""Extremes: the smallest and the largest value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from skypane.model.groups import BoolArray, Float64Array, Groups, Int64Array
from skypane.queries.accumulators.base import (
    Accumulator,
    InputRow,
    Inputs,
    Parts,
    check_ordered,
    is_whole,
    present_values,
)
from skypane.queries.accumulators.columns import extreme, present


class Extreme(Accumulator):
    """The smallest or largest value, of any ordered type; like Spark, NaN is larger than any number.

    Of the two zeros, -0.0 is the smaller: Spark takes the one that comes first, and so depends on the order of records.
    """

    compares = True

    def check(self, kind: pa.DataType, name: str) -> None:
        """Whatever Arrow can order."""
        check_ordered(kind, f"{name}={self.function}(...)")

    def lift(self, inputs: Inputs, groups: Groups) -> Parts:
        """The extreme of each group, null where it has no values."""
        values = inputs.values
        if pa.types.is_floating(values.type):
            return {"x": self._of_floats(values, groups)}
        return {"x": extreme(values, groups, self.function)}

    def condensed(self, kind: pa.DataType) -> Mapping[str, str] | None:
        """Of whole numbers, dates and times: about floats' zeros and NaN Spark thinks otherwise."""
        return {"x": f"{self.function}({{x}})"} if is_whole(kind) else None

    def combine(self, parts: Mapping[str, pa.ChunkedArray], groups: Groups) -> Parts:
        """The extreme of the extremes."""
        return self.lift(Inputs(parts["x"]), groups)

    def lower(self, parts: Mapping[str, pa.ChunkedArray]) -> pa.ChunkedArray:
        """The extreme."""
        return parts["x"]

    def reference(self, rows: Sequence[InputRow]) -> Any:
        """Python's own min and max, with NaN as the largest."""
        values = present_values(rows)
        if not values:
            return None
        chosen = min if self.function == "min" else max
        if not isinstance(values[0], float):
            return chosen(values)
        return chosen(values, key=lambda v: (v != v, 0 if v != v else v, math.copysign(1, v)))  # noqa: PLR0124

    def _of_floats(self, values: pa.ChunkedArray, groups: Groups) -> pa.Array:
        numbers, filled = present(values, groups)
        full = filled.sizes > 0
        found = np.zeros(len(groups), dtype=np.float64)
        if full.any():
            starts = filled.offsets[:-1][full]
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
