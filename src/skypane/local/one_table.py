"""One table, once: the partial of each group of rows, and its answer; for Spark's tasks and for tables at hand."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from skypane.model.errors import DataError, OptionError, SchemaError
from skypane.queries.base import Query, find_column
from skypane.queries.reduce import combine, lift
from skypane.tables.grouping import Order, key_codes, sort_by
from skypane.tables.take import take_rows

_LIFT_ROWS = 1 << 18
_LIFT_BYTES = 1 << 28


def check_once(schema: pa.Schema, keys: tuple[str, ...], invalid: str) -> None:
    """The options that all such questions have."""
    if invalid not in {"error", "drop"}:
        raise OptionError(
            f"invalid={invalid!r} must be 'error' (stop at a null or NaN) or 'drop' (leave such rows out)."
        )
    for key in keys:
        if pa.types.is_nested(find_column(schema, key, "Grouping column").type):
            raise SchemaError(f"Grouping column {key!r} must be a plain column. Use its fields.")


def partial_of(query: Query, keys: tuple[str, ...], batches: Iterable[pa.RecordBatch], invalid: str) -> pa.Table:
    """One partial per key of all rows, held in bounded memory; ``invalid="trusted"`` for rows that were checked."""
    partials: list[pa.Table] = []
    pending: list[pa.RecordBatch] = []
    for batch in batches:
        pending.append(batch)
        if sum(b.num_rows for b in pending) >= _LIFT_ROWS or sum(b.nbytes for b in pending) >= _LIFT_BYTES:
            partials.append(_lifted(query, keys, pa.Table.from_batches(pending), invalid))
            pending = []
    if pending:
        partials.append(_lifted(query, keys, pa.Table.from_batches(pending), invalid))
    if not partials:
        return pa.table({})  # A partition without rows.
    if len(partials) == 1:
        return partials[0]
    table = pa.concat_tables(partials)
    return combine(query, table, _by_key(table, keys), keys).table


def answer_of(query: Query, keys: tuple[str, ...], partial: pa.Table) -> pa.Table:
    """The answer of each key, internal columns included."""
    if not partial.num_rows:
        return partial
    order = _by_key(partial, keys)
    return query.lower(take_rows(partial, order.rows), order.groups).table


def _lifted(query: Query, keys: tuple[str, ...], rows: pa.Table, invalid: str) -> pa.Table:
    problems = [] if invalid == "trusted" else [problem for problem in query.invalid(rows) if problem.mask.any()]
    if problems and invalid == "error":
        mask, reason = problems[0]
        raise DataError(f"{int(mask.sum())} rows: {reason}. Filter them out first, or pass invalid='drop'.")
    if problems:
        rows = rows.filter(pa.array(~np.logical_or.reduce([problem.mask for problem in problems])))
    return lift(query, rows, _by_key(rows, keys), keys).table


def _by_key(table: pa.Table, keys: tuple[str, ...]) -> Order:
    codes = key_codes(table, keys)
    return sort_by(codes, np.zeros_like(codes))
