"""Plain PySpark for windows of so many records by key: the two obvious programs, with the last records as state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

Values = np.ndarray[Any, Any]
Plain = Callable[[Values], list[tuple[float, ...]]]
"""The answer rows of the values of one window."""


class Peer:
    """A window of ``size`` records every ``slide``; answers are key, the first rank, and the named columns."""

    def __init__(self, size: int, slide: int, names: list[str], plain: Plain, columns: tuple[str, ...]) -> None:
        self._size, self._slide, self._names, self._plain = size, slide, names, plain
        self._columns = columns
        self._answer = "key int, first long, " + ", ".join(f"{name} double" for name in columns)

    def with_state(self, df: DataFrame, folder: Path) -> Any:
        """``applyInPandasWithState``: Spark keeps the bytes of a key's last records."""

        def windows(key: tuple[int], frames: Iterator[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
            new = pd.concat(list(frames)).sort_values("ts")
            first, kept = state.get if state.exists else (0, b"")
            values = self._after(kept, new[self._names].to_numpy())
            rows, first, values = self._fire(key[0], first, values)
            state.update((first, values.tobytes()))  # Spark 4.3 cannot keep arrays here
            yield pd.DataFrame(rows, columns=["key", "first", *self._columns])

        answers = df.groupBy("key").applyInPandasWithState(
            windows, self._answer, "first long, kept binary", "append", "NoTimeout"
        )
        writer = answers.writeStream.format("parquet").option("path", str(folder / "answers"))
        return writer.option("checkpointLocation", str(folder / "log")).trigger(availableNow=True).start()

    def in_batches(self, df: DataFrame, folder: Path) -> Any:
        """``applyInArrow`` in every batch: the last records of all keys are a table that is read and written anew."""
        schema = f"{self._answer}, kept_first long, kept binary"

        def windows(table: pa.Table) -> pa.Table:
            said = table.sort_by("ts")
            old = table.filter(pa.compute.is_valid(table["kept"])).to_pylist()
            new = np.column_stack([said[name].to_numpy() for name in self._names])
            first, kept = (old[0]["kept_first"], old[0]["kept"]) if old else (0, b"")
            values = self._after(kept, new[: len(new) - len(old)])  # Arrow sorts rows without a time last
            key = table["key"][0].as_py()
            rows, first, values = self._fire(key, first, values)
            found = [dict(zip(("key", "first", *self._columns), row, strict=True)) for row in rows]
            numbers = [(name, pa.float64()) for name in self._columns]
            state = [("kept_first", pa.int64()), ("kept", pa.binary())]
            arrow = pa.schema([("key", pa.int32()), ("first", pa.int64()), *numbers, *state])
            return pa.Table.from_pylist([*found, {"key": key, "kept_first": first, "kept": values.tobytes()}], arrow)

        def step(new: DataFrame, number: int) -> None:
            spark, before = new.sparkSession, folder / "state" / str(number - 1)
            if before.exists():
                new = new.unionByName(spark.read.parquet(str(before)), allowMissingColumns=True)
            else:
                new = new.withColumns({"kept_first": F.lit(None).cast("long"), "kept": F.lit(None).cast("binary")})
            found = new.groupBy("key").applyInArrow(windows, schema).persist()
            found.where("kept is not null").select("key", "kept_first", "kept").write.parquet(
                str(folder / "state" / str(number)), mode="overwrite"
            )
            found.where("kept is null").drop("kept_first", "kept").write.parquet(str(folder / "answers"), mode="append")
            found.unpersist()

        writer = df.writeStream.foreachBatch(step).option("checkpointLocation", str(folder / "log"))
        return writer.trigger(availableNow=True).start()

    def _after(self, kept: bytes, new: Values) -> Values:
        return np.concatenate([np.frombuffer(kept).reshape(-1, len(self._names)), new])

    def _fire(self, key: int, first: int, values: Values) -> tuple[list[tuple[Any, ...]], int, Values]:
        rows: list[tuple[Any, ...]] = []
        while len(values) >= self._size:
            rows += [(key, first, *row) for row in self._plain(values[: self._size])]
            first, values = first + self._slide, values[self._slide :]
        return rows, first, np.ascontiguousarray(values)
