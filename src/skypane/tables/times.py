"""Times: a column of timestamps as whole microseconds since the epoch."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from skypane.model.groups import Int64Array


def times_us(column: pa.ChunkedArray) -> Int64Array:
    """Microseconds since the epoch of a timestamp column without nulls."""
    kind = column.type
    if kind.unit != "us":
        column = column.cast(pa.timestamp("us", kind.tz), safe=False)
    return np.asarray(column.cast(pa.int64()).to_numpy(), dtype=np.int64)
