"""Tables of each library that skypane answers in process, and their rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa

MAKERS: dict[str, Callable[[pa.Table], Any]] = {
    "arrow": lambda table: table,
    "pandas": lambda table: table.to_pandas(),
    "polars": pl.from_arrow,
}

TYPES: dict[str, type] = {"arrow": pa.Table, "pandas": pd.DataFrame, "polars": pl.DataFrame}


def rows_of(frame: Any) -> list[tuple[Any, ...]]:
    if isinstance(frame, pd.DataFrame):
        frame = pa.Table.from_pandas(frame, preserve_index=False)
    if isinstance(frame, pl.DataFrame):
        frame = frame.to_arrow()
    return [tuple(row.values()) for row in frame.to_pylist()]
