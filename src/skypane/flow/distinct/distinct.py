"""Distinct: what makes two records duplicates - equal ids, and times that are no further apart than a span."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from skypane.model.errors import SchemaError
from skypane.queries.base import find_column
from skypane.tables.canonical import can_compare


@dataclass(frozen=True)
class Distinct:
    """``sp.stream(..., distinct_by=columns, within=...)``: of records with one id, one is accepted within the span.

    A record that lacks a value of its id has none, and is no duplicate of any other.
    """

    columns: tuple[str, ...]
    within_us: int

    def check(self, schema: pa.Schema) -> None:
        """Raise :class:`SchemaError` naming the column if ids cannot be compared."""
        for name in self.columns:
            kind = find_column(schema, name, "Id column").type
            if not can_compare(kind):
                raise SchemaError(
                    f"Id column {name!r} has type {kind}; distinct_by takes plain columns. Use its fields, or a hash."
                )

    def describe(self) -> Mapping[str, object]:
        """The part of the fingerprint that a checkpoint keeps."""
        return {"by": list(self.columns), "within_us": self.within_us}
