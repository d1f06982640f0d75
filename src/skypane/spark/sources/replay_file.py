"""ReplayFile: a Parquet or CSV file whose rows can be read by their place in order of arrival."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from skypane.model.errors import OptionError, SchemaError
from skypane.model.groups import Int64Array

_BATCH_ROWS = 65_536


class ReplayFile:
    """One file, ordered by its column ``arrival``; rows that arrive together stay in the order of the file.

    A Parquet file that is in order already, as ``skypane generate`` writes it, is read by row groups. Any
    other file is loaded and sorted once in each process that reads it.
    """

    def __init__(self, path: str, arrival: str) -> None:
        self.path = Path(path)
        self._arrival = arrival
        if self.path.suffix not in (".parquet", ".csv"):
            raise OptionError(f"option path={path!r}: must end in .parquet or .csv")
        if not self.path.is_file():
            raise OptionError(f"option path={path!r}: there is no such file")
        names = self._stored_schema.names
        if arrival not in names:
            raise SchemaError(
                f"column {arrival!r} is not in {path!r}, which has {', '.join(names)}; "
                "set the option arrival to the column to replay by"
            )
        if not pa.types.is_timestamp(self._stored_schema.field(arrival).type):
            raise SchemaError(f"column {arrival!r} of {path!r} must be a timestamp to replay by it")

    @cached_property
    def _stored_schema(self) -> pa.Schema:
        return pa.parquet.read_schema(self.path) if self.path.suffix == ".parquet" else self._csv.schema

    @cached_property
    def _csv(self) -> pa.Table:
        return pa.csv.read_csv(self.path)

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns as Spark can take them: timestamps in microseconds, without a zone they are UTC."""
        return pa.schema([pa.field(field.name, _spark_type(field.type)) for field in self._stored_schema])

    @cached_property
    def _file_order_us(self) -> Int64Array:
        """Arrival times in the order of the file."""
        if self.path.suffix == ".parquet":
            column = pa.parquet.read_table(self.path, columns=[self._arrival]).column(0)
        else:
            column = self._csv.column(self._arrival)
        if column.null_count:
            raise SchemaError(
                f"column {self._arrival!r} of {str(self.path)!r} has {column.null_count} nulls; remove these rows"
            )
        in_us = pc.cast(column, _spark_type(column.type), safe=False)
        times_us: Int64Array = pc.cast(in_us, pa.int64()).to_numpy()
        return times_us

    @cached_property
    def arrival_us(self) -> Int64Array:
        """Arrival times, ascending."""
        return np.sort(self._file_order_us)

    @cached_property
    def in_order(self) -> bool:
        """Whether the file is in order of arrival already."""
        return bool(np.all(self._file_order_us[1:] >= self._file_order_us[:-1]))

    @cached_property
    def fingerprint(self) -> str:
        """Changes when the file's content is another one, as far as arrival times and columns show it."""
        checksum = zlib.crc32(self.arrival_us.tobytes(), zlib.crc32(str(self.schema).encode()))
        return f"{checksum:08x}"

    @cached_property
    def _sorted(self) -> pa.Table:
        table = self._csv if self.path.suffix == ".csv" else pa.parquet.read_table(self.path)
        order = np.argsort(self._file_order_us, kind="stable")
        return table.take(pa.array(order)) if not self.in_order else table

    def read(self, first: int, last: int) -> Iterator[pa.RecordBatch]:
        """Rows ``first`` to ``last`` in order of arrival."""
        tables = (
            self._row_groups(first, last)
            if self.path.suffix == ".parquet" and self.in_order
            else iter([self._sorted.slice(first, last - first)])
        )
        for table in tables:
            for batch in self._as_spark(table).to_batches(max_chunksize=_BATCH_ROWS):
                if batch.num_rows:
                    yield batch

    def _row_groups(self, first: int, last: int) -> Iterator[pa.Table]:
        with pa.parquet.ParquetFile(self.path) as file:
            start = 0
            for group in range(file.num_row_groups):
                stop = start + file.metadata.row_group(group).num_rows
                if start < last and stop > first:
                    wanted = slice(max(first, start) - start, min(last, stop) - start)
                    yield file.read_row_group(group).slice(wanted.start, wanted.stop - wanted.start)
                start = stop

    def _as_spark(self, table: pa.Table) -> pa.Table:
        columns = [
            pc.cast(column, field.type, safe=False) if column.type != field.type else column
            for column, field in zip(table.columns, self.schema, strict=True)
        ]
        return pa.Table.from_arrays(columns, schema=self.schema)


def _spark_type(kind: pa.DataType) -> pa.DataType:
    """The nearest type that Spark knows."""
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", tz="UTC")
    if pa.types.is_dictionary(kind):
        return _spark_type(kind.value_type)
    if pa.types.is_large_string(kind):
        return pa.string()
    if pa.types.is_unsigned_integer(kind) or pa.types.is_null(kind):
        return pa.string() if pa.types.is_null(kind) else pa.int64()
    return kind


@lru_cache(maxsize=4)
def replay_file(path: str, arrival: str) -> ReplayFile:
    """The file; kept, so that the tasks of a long-lived worker load it once."""
    return ReplayFile(path, arrival)
