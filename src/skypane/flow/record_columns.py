"""Record columns: what every query needs of its records: a time, plain keys, a plain partition."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from skypane.model.errors import SchemaError
from skypane.queries.base import find_column


def check_record_columns(schema: pa.Schema, time: str, keys: Sequence[str], partition: str | None) -> None:
    """Raise :class:`SchemaError` naming the column if one is missing or has a type that cannot serve."""
    kind = find_column(schema, time, "Time column").type
    if not pa.types.is_timestamp(kind):
        raise SchemaError(
            f"Time column {time!r} has type {kind}; it must be a timestamp. "
            f"Convert it first, e.g. with F.to_timestamp({time!r}) or F.timestamp_millis({time!r})."
        )
    for key in keys:
        kind = find_column(schema, key, "Key").type
        if pa.types.is_nested(kind):
            raise SchemaError(f"Key {key!r} has type {kind}; a key must be a plain column. Use its fields as keys.")
    if partition is not None:
        kind = find_column(schema, partition, "Partition column").type
        if pa.types.is_nested(kind):
            raise SchemaError(
                f"Partition column {partition!r} has type {kind}; it must be a plain column. Use one of its fields."
            )
