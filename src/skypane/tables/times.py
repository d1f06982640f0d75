"""Times: a column of timestamps as whole microseconds since the epoch."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skypane.model.groups import BoolArray, Int64Array
from skypane.model.windows import FARTHEST_US


def times_us(column: pa.ChunkedArray) -> Int64Array:
    """Microseconds since the epoch of a timestamp column without nulls."""
    kind = column.type
    if kind.unit != "us":
        column = column.cast(pa.timestamp("us", kind.tz), safe=False)
    return np.asarray(column.cast(pa.int64()).to_numpy(), dtype=np.int64)


def out_of_range(column: pa.ChunkedArray) -> BoolArray | None:
    """Which times of a timestamp column are too far away to have windows; ``None`` if none is."""
    bounds = pc.min_max(column.cast(pa.int64()))
    least, most = bounds["min"].as_py(), bounds["max"].as_py()
    if least is None or (least >= -FARTHEST_US and most <= FARTHEST_US):
        return None
    since_epoch = times_us(pc.fill_null(column, pa.scalar(0, column.type)))
    found: BoolArray = (since_epoch < -FARTHEST_US) | (since_epoch > FARTHEST_US)
    return found


def before_us(column: pa.ChunkedArray, time_us: int) -> BoolArray:
    """Which times of a timestamp column are older; a null is not."""
    nulls = column.null_count > 0
    since_epoch = times_us(pc.fill_null(column, pa.scalar(0, column.type)) if nulls else column)
    older: BoolArray = since_epoch < time_us
    return older & pc.is_valid(column).to_numpy() if nulls else older
