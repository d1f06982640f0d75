"""Distinct: about how many different values a group has, by HyperLogLog sketches of Apache DataSketches."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import datasketches as ds
import numpy as np
import pyarrow as pa

from skypane.model.groups import Groups, Int64Array
from skypane.queries.accumulators.base import Accumulator, InputRow, Inputs, Parts, check_ordered, present_values
from skypane.queries.accumulators.columns import keep_present
from skypane.queries.accumulators.lists import runs_of_equals
from skypane.tables.grouping import one_zero
from skypane.tables.row_hashes import row_hashes

MIN_LG_K, MAX_LG_K = 4, 21
"""What the sketches can have: logarithms of how many counters."""


class ApproxDistinct(Accumulator):
    """As Spark's ``approx_count_distinct``: both zeros are one value, and so is every NaN.

    A sketch remembers the values themselves while they are few, then counters of one byte each. Merged, its counters
    are the same in whatever order; so is the estimate, since it is always taken from them.
    """

    compares = True

    def __init__(self, function: str, lg_k: int) -> None:
        super().__init__(function)
        self._lg_k = lg_k

    @staticmethod
    def lg_k_for(relative_error: float) -> int:
        """How many counters Spark takes for a relative standard deviation, as a logarithm."""
        return math.ceil(2 * math.log2(1.106 / relative_error))

    def check(self, kind: pa.DataType, name: str) -> None:
        """Whatever Arrow can tell apart."""
        check_ordered(kind, f"{name}={self.function}(...)")

    def lift(self, inputs: Inputs, groups: Groups) -> Parts:
        """A sketch of each group's values; null where there are none."""
        (values,), groups = keep_present(inputs.values, [inputs.values], groups)
        hashes = _hashes(values)
        runs = runs_of_equals(groups, hashes)
        once = runs.first(groups)
        bounds = once.groups.offsets.tolist()
        codes = hashes[once.rows].tolist()
        sketches = [self._sketch(codes[low:high]) if high > low else None for low, high in pairwise(bounds)]
        return {"hll": pa.array(sketches, pa.binary())}

    def combine(self, parts: Mapping[str, pa.ChunkedArray], groups: Groups) -> Parts:
        """The union of each group's sketches."""
        (sketches,), groups = keep_present(parts["hll"], [parts["hll"]], groups)
        stored, bounds = sketches.to_pylist(), groups.offsets.tolist()
        found = [self._union(stored[low:high]) for low, high in pairwise(bounds)]
        return {"hll": pa.array(found, pa.binary())}

    def lower(self, parts: Mapping[str, pa.ChunkedArray]) -> pa.ChunkedArray:
        """The estimates, as whole numbers."""
        return pa.chunked_array([pa.array([self._estimate(stored) for stored in parts["hll"].to_pylist()], pa.int64())])

    def reference(self, rows: Sequence[InputRow]) -> Any:
        """The estimate of one sketch of all values: a sketch has no slower and more obvious form."""
        values = present_values(rows)
        if not values:
            return 0
        return self._estimate(self._sketch(_hashes(pa.chunked_array([pa.array(values)])).tolist()))

    def _sketch(self, hashes: Sequence[int]) -> bytes:
        sketch = ds.hll_sketch(self._lg_k, ds.tgt_hll_type.HLL_8)
        for one in hashes:
            sketch.update(one)
        return bytes(sketch.serialize_compact())

    def _union(self, stored: Sequence[bytes]) -> bytes | None:
        if len(stored) < 2:
            return stored[0] if stored else None
        union = ds.hll_union(self._lg_k)
        for one in stored:
            union.update(ds.hll_sketch.deserialize(one))
        return bytes(union.get_result(ds.tgt_hll_type.HLL_8).serialize_compact())

    def _estimate(self, stored: bytes | None) -> int:
        """From the counters alone. A sketch that was never merged would use its history, which depends on the order."""
        if stored is None:
            return 0
        sketch, union = ds.hll_sketch.deserialize(stored), ds.hll_union(self._lg_k)
        union.update(sketch)
        union.update(sketch)
        estimate: float = union.get_estimate()
        return round(estimate)


def _hashes(values: pa.ChunkedArray) -> Int64Array:
    """A number for every value; texts are hashed once for each different one."""
    encoded = one_zero(values).combine_chunks().dictionary_encode()
    codes = np.asarray(encoded.indices.to_numpy(zero_copy_only=False), dtype=np.int64)
    different = row_hashes(pa.table({"value": encoded.dictionary}))
    return different[codes] if len(codes) else np.zeros(0, dtype=np.int64)
