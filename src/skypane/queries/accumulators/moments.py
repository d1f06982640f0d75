"""Moments: variance and standard deviation, of a sample or of a population."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from skypane import kernels
from skypane.model.groups import Float64Array, Groups, Int64Array
from skypane.queries.accumulators.base import Accumulator, InputRow, Inputs, Parts, present_values
from skypane.queries.accumulators.columns import exact_sum, present


class Variance(Accumulator):
    """The variance or its root, as a double, null where Spark's own is: of a sample, for fewer than two values.

    Mean and squared distances from it are kept, never sums of squares: nothing cancels out where values are large
    and close together.
    """

    def __init__(self, function: str, *, root: bool = False, sample: bool = True) -> None:
        super().__init__(function)
        self._root = root
        self._fewest = 2 if sample else 1

    def lift(self, inputs: Inputs, groups: Groups) -> Parts:
        """Count, mean and the sum of squared distances from it."""
        numbers, filled = present(inputs.values.cast(pa.float64(), safe=False), groups)
        return _moments(*kernels.segment_moments(numbers, filled.offsets))

    def combine(self, parts: Mapping[str, pa.ChunkedArray], groups: Groups) -> Parts:
        """Merge moments pairwise (Chan et al.)."""
        n, mean, m2 = (np.asarray(parts[name].to_numpy()) for name in ("n", "mean", "m2"))
        return _moments(*kernels.combine_moments(n, mean, m2, groups.offsets))

    def lower(self, parts: Mapping[str, pa.ChunkedArray]) -> pa.ChunkedArray:
        """Divide by n, or n - 1 for a sample."""
        n = np.asarray(parts["n"].to_numpy())
        variance = np.asarray(parts["m2"].to_numpy()) / np.maximum(n - self._fewest + 1, 1)
        return pa.chunked_array([pa.array(np.sqrt(variance) if self._root else variance, mask=n < self._fewest)])

    def reference(self, rows: Sequence[InputRow]) -> Any:
        """Two passes."""
        numbers = [float(value) for value in present_values(rows)]
        if len(numbers) < self._fewest:
            return None
        mean = exact_sum(numbers) / len(numbers)
        variance = exact_sum([(v - mean) ** 2 for v in numbers]) / (len(numbers) - self._fewest + 1)
        return variance**0.5 if self._root else variance


def _moments(n: Int64Array, mean: Float64Array, m2: Float64Array) -> Parts:
    return {"n": pa.array(n), "mean": pa.array(mean), "m2": pa.array(m2)}
