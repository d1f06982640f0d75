"""Percentiles: of each group, from a sample of its records that does not depend on their order.

The sample is the records with the smallest ids: ids are hashes, so these are as good as drawn by lot, yet the sample of
a union is that of the samples. Why no other sketch: docs/decisions/0010-sketches.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from skypane.model.errors import SchemaError
from skypane.model.groups import Groups
from skypane.queries.accumulators.base import Accumulator, InputRow, Inputs, Parts, is_number
from skypane.queries.accumulators.columns import keep_present, order_key, ordinals
from skypane.queries.accumulators.lists import in_order, listed, runs_of_equals, unlisted

_VALUES, _IDS, _COUNTS = "v", "id", "n"
_ORDERED = (pa.types.is_date32, pa.types.is_timestamp, pa.types.is_duration)


class Percentiles(Accumulator):
    """Values of the group, as Spark's ``approx_percentile``: exact for up to so many records, ``size`` of them.

    Of more, the rank of the answer has a standard error of at most 1 / (2 sqrt(size)). Records that are equal in every
    column have one id: they are in the sample once, with their number.
    """

    compares = True
    needs_id = True

    def __init__(self, function: str, shares: Sequence[float], size: int, *, several: bool) -> None:
        super().__init__(function)
        self._shares = tuple(shares)
        self._size = size
        self._several = several

    def check(self, kind: pa.DataType, name: str) -> None:
        """Numbers, dates, times and intervals, as Spark has it."""
        if not (is_number(kind) or any(is_kind(kind) for is_kind in _ORDERED)):
            raise SchemaError(
                f"{name}={self.function}(...) needs numbers, dates, timestamps or day-time intervals, not {kind}."
            )

    def lift(self, inputs: Inputs, groups: Groups) -> Parts:
        """The records with the smallest ids."""
        (values, ids), groups = keep_present(inputs.values, [inputs.values, inputs.ids], groups)
        ones = pa.chunked_array([pa.array(np.ones(groups.rows, dtype=np.int64))])
        return self._sample({_VALUES: values, _IDS: ids, _COUNTS: ones}, groups)

    def combine(self, parts: Mapping[str, pa.ChunkedArray], groups: Groups) -> Parts:
        """The smallest of the smallest: whoever is among them is so in each part, with all its copies."""
        return self._sample(*unlisted(parts, groups))

    def lower(self, parts: Mapping[str, pa.ChunkedArray]) -> pa.ChunkedArray:
        """The smallest value with at least that share of the sample at or below it."""
        columns, groups = unlisted(parts, Groups.from_sizes(np.ones(len(parts[_IDS]), dtype=np.int64)))
        values, ranked = columns[_VALUES], in_order(groups, ordinals(columns[_VALUES])).rows
        reached = np.concatenate(([0], np.cumsum(columns[_COUNTS].to_numpy()[ranked])))
        below, total = reached[groups.offsets[:-1]], np.diff(reached[groups.offsets])
        ranks = np.maximum(np.ceil(np.multiply.outer(total, self._shares)), 1).astype(np.int64)
        empty = np.repeat(groups.sizes == 0, len(self._shares))
        places = np.searchsorted(reached[1:], (below[:, None] + ranks).ravel())
        rows = np.where(empty, 0, np.append(ranked, 0)[np.where(empty, 0, places)])
        found = values.take(pa.array(rows, mask=empty))
        if not self._several:
            return found
        offsets = pa.array(np.arange(len(groups) + 1) * len(self._shares), pa.int32())
        lists = pa.ListArray.from_arrays(offsets, found.combine_chunks(), mask=pa.array(groups.sizes == 0))
        return pa.chunked_array([lists])

    def reference(self, rows: Sequence[InputRow]) -> Any:
        """Sort everything that is in the sample."""
        present = [row for row in rows if row.value is not None]
        sampled = set(sorted({row.id for row in present})[: self._size])
        values = sorted((row.value for row in present if row.id in sampled), key=order_key)
        if not values:
            return None
        found = [values[max(math.ceil(share * len(values)), 1) - 1] for share in self._shares]
        return found if self._several else found[0]

    def _sample(self, columns: Mapping[str, pa.ChunkedArray], groups: Groups) -> Parts:
        runs = runs_of_equals(groups, columns[_IDS].to_numpy())
        counts = columns[_COUNTS].to_numpy().copy()
        if len(runs.begins):
            counts[runs.order[runs.begins]] = np.add.reduceat(counts[runs.order], runs.begins)
        counted = {**columns, _COUNTS: pa.chunked_array([pa.array(counts)])}
        return listed(counted, runs.first(groups).up_to(self._size))
