"""Count: how many values are not null."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from skypane.model.groups import Groups
from skypane.queries.accumulators.base import Accumulator, InputRow, Inputs, Parts, present_values
from skypane.queries.accumulators.columns import add_up, groups_of_present


class Count(Accumulator):
    """How many values are not null."""

    def check(self, kind: pa.DataType, name: str) -> None:
        """Anything can be counted."""

    def lift(self, inputs: Inputs, groups: Groups) -> Parts:
        """Count the values that are there."""
        return {"n": pa.array(groups_of_present(inputs.values, groups).sizes)}

    def condensed(self, kind: pa.DataType) -> Mapping[str, str] | None:
        """Of plain values, which Spark can tell apart."""
        return None if pa.types.is_nested(kind) else {"n": "count({x})"}

    def combine(self, parts: Mapping[str, pa.ChunkedArray], groups: Groups) -> Parts:
        """Add the counts."""
        return {"n": pa.array(add_up(parts["n"], groups))}

    def lower(self, parts: Mapping[str, pa.ChunkedArray]) -> pa.ChunkedArray:
        """The count."""
        return parts["n"]

    def reference(self, rows: Sequence[InputRow]) -> Any:
        """Their number."""
        return len(present_values(rows))
