"""Values of skypane and of Spark, brought into one form and compared."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa


def plain_rows(table: pa.Table) -> list[dict[str, Any]]:
    """Rows as Python has them; times as numbers, since Python's end with the year 9999."""
    columns = {}
    for name in table.column_names:
        column = table.column(name)
        if pa.types.is_struct(column.type):  # the window
            column = pa.chunked_array([chunk.field("start") for chunk in column.chunks], column.type.field(0).type)
        if pa.types.is_date(column.type):
            column = column.cast(pa.int32())
        elif pa.types.is_temporal(column.type):
            column = column.cast(pa.int64())
        columns[name] = column
    return list(pa.table(columns).to_pylist())


def equal(got: Any, wanted: Any, *, exact: bool) -> bool:
    if isinstance(got, list) and isinstance(wanted, list):
        return len(got) == len(wanted) and all(equal(*pair, exact=exact) for pair in zip(got, wanted, strict=True))
    if isinstance(got, float) and isinstance(wanted, float):
        if math.isnan(wanted) or math.isinf(wanted) or exact:
            return got == wanted or (math.isnan(got) and math.isnan(wanted))
        return math.isclose(got, wanted, rel_tol=1e-9, abs_tol=1e-9)
    return type(got) is type(wanted) and bool(got == wanted)
