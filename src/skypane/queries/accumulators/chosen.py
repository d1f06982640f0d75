"""Chosen: the value of one record of each group - the first, the last, or the one where something else is extreme."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from skypane.model.groups import Groups, Int64Array
from skypane.queries.accumulators.base import Accumulator, InputRow, Inputs, Parts
from skypane.queries.accumulators.columns import keep_present, order_key, ordinals


class Chosen(Accumulator):
    """The value where ``by`` is smallest or largest, as ``min_by`` and ``max_by``; of equals, by the record id.

    So the answer does not depend on the order of arrival. A record whose ``by`` is null is left out; a value that is
    null is a value like others, unless nulls are to be ignored.
    """

    needs_id = True

    def __init__(
        self, function: str, *, largest: bool = False, needs_time: bool = False, ignore_nulls: bool = False
    ) -> None:
        super().__init__(function)
        self.needs_time = needs_time
        self._largest = largest
        self._ignore_nulls = ignore_nulls

    def check(self, kind: pa.DataType, name: str) -> None:
        """Any value can be chosen."""

    def lift(self, inputs: Inputs, groups: Groups) -> Parts:
        """The value of the chosen record, with what it was chosen by; nulls where there is none."""
        columns = [inputs.values, inputs.by, inputs.ids]
        if self._ignore_nulls:
            columns, groups = keep_present(columns[0], columns, groups)
        columns, groups = keep_present(columns[1], columns, groups)
        values, by, ids = columns
        full = groups.sizes > 0
        rows = np.zeros(len(groups), dtype=np.int64)
        rows[full] = self._choose(ordinals(by), ids.to_numpy(), Groups.from_sizes(groups.sizes[full]))
        taken = pa.array(rows, mask=~full)
        return {"v": values.take(taken), "by": by.take(taken), "id": ids.take(taken)}

    def combine(self, parts: Mapping[str, pa.ChunkedArray], groups: Groups) -> Parts:
        """Choose among the chosen: a group that had none has no id."""
        columns, groups = keep_present(parts["id"], [parts["v"], parts["by"], parts["id"]], groups)
        return self.lift(Inputs(*columns), groups)

    def lower(self, parts: Mapping[str, pa.ChunkedArray]) -> pa.ChunkedArray:
        """The value."""
        return parts["v"]

    def reference(self, rows: Sequence[InputRow]) -> Any:
        """Sort by what is chosen by, then id."""
        asked = [row for row in rows if row.by is not None and not (self._ignore_nulls and row.value is None)]
        ranked = sorted(asked, key=lambda row: (*order_key(row.by), row.id), reverse=self._largest)
        return ranked[0].value if ranked else None

    def _choose(self, by: npt.NDArray[Any], ids: Int64Array, groups: Groups) -> Int64Array:
        """The row of each group, none of which is empty."""
        rows = np.arange(groups.rows, dtype=np.int64)
        for numbers in (by, ids):
            own = numbers[rows]
            starts = groups.offsets[:-1]
            best = np.repeat((np.maximum if self._largest else _least).reduceat(own, starts), groups.sizes)
            kept = np.flatnonzero((own == best) | ((own != own) & (best != best)))  # noqa: PLR0124 - NaN
            rows, groups = rows[kept], groups.after_keeping(kept)
        return rows[groups.offsets[:-1]]


_least = np.fmin
"""NaN only where there is nothing else: it is larger than any number."""
