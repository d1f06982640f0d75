"""Writers: how workers put result, late and quarantined rows where the sink will find them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from skypane.model.errors import CheckpointError
from skypane.spark.store.disk import disk
from skypane.spark.store.files import checksum, map_table, unique_name

_PARQUET = ".parquet"


class Written(NamedTuple):
    """A file of output rows, still invisible to readers; ``path`` is empty where rows were only counted."""

    path: str
    rows: int
    bytes: int = 0
    crc32: int = 0

    @classmethod
    def at(cls, path: str, rows: int) -> Written:
        """The file that was just written there."""
        return cls(path, rows, *checksum(Path(path)))

    def check(self) -> None:
        """Refuse a file that is no longer there, or no longer what was written."""
        path = Path(self.path)
        remedy = "Restore it from a backup, or start over with a new checkpoint folder and new sinks."
        if not disk().exists(path):
            raise CheckpointError(f"The file {path}, which has rows that no sink has shown yet, is missing. {remedy}")
        if checksum(path) != (self.bytes, self.crc32):
            raise CheckpointError(f"The file {path} is damaged: its checksum does not match. {remedy}")

    def table(self) -> pa.Table:
        """The rows, by the format that the name has."""
        if self.path.endswith(_PARQUET):
            with disk().reader(Path(self.path)) as file:
                return pq.ParquetFile(file).read()
        return map_table(self.path)


class RowWriter(ABC):
    """Travels to the workers; must be small and picklable by Spark's own serializer."""

    @abstractmethod
    def write(self, tables: Sequence[pa.Table]) -> Written | None:
        """Write some tables of one schema, or nothing if they have no rows."""


@dataclass(frozen=True)
class ArrowWriter(RowWriter):
    """Arrow IPC files in the step's scratch folder, for sinks that the driver feeds."""

    folder: str

    def write(self, tables: Sequence[pa.Table]) -> Written | None:
        """Write one file."""
        rows = sum(table.num_rows for table in tables)
        if not rows:
            return None
        path = f"{self.folder}/{unique_name('rows', '.arrow')}"
        with disk().writer(Path(path)) as file, pa.ipc.new_file(file, tables[0].schema) as writer:
            for table in tables:
                writer.write_table(table)
        return Written.at(path, rows)


@dataclass(frozen=True)
class ParquetWriter(RowWriter):
    """Parquet files in the sink's own hidden staging folder, to be moved into place."""

    folder: str
    spark_schema: str
    """The schema in Spark's own notation, so that Spark reads back its own types (intervals, for one)."""

    def write(self, tables: Sequence[pa.Table]) -> Written | None:
        """Write one file."""
        rows = sum(table.num_rows for table in tables)
        return self.write_always(tables) if rows else None

    def write_always(self, tables: Sequence[pa.Table]) -> Written:
        """One file, even if it has no rows: it still says what the columns are."""
        path = f"{self.folder}/{unique_name('rows', _PARQUET)}"
        rows = 0
        with (
            disk().writer(Path(path)) as file,
            pq.ParquetWriter(
                file,
                tables[0].schema,
                compression="zstd",
                store_schema=False,
                use_dictionary=[name for field in tables[0].schema for name in _repeating(field.name, field.type)],
            ) as writer,
        ):
            for table in tables:
                writer.write_table(table)
                rows += table.num_rows
            # Not as metadata of the Arrow schema, which is left out: Arrow's own notation would be of no use to Spark.
            writer.add_key_value_metadata({"org.apache.spark.sql.parquet.row.metadata": self.spark_schema})
        return Written.at(path, rows)


def _repeating(name: str, kind: pa.DataType) -> Iterator[str]:
    """The columns of a file that are worth a dictionary: all but numbers, which seldom repeat.

    Zstandard alone leaves fewer bytes of them, in half the time.
    """
    if pa.types.is_struct(kind):
        for field in kind:
            yield from _repeating(f"{name}.{field.name}", field.type)
    elif pa.types.is_map(kind):
        yield from _repeating(f"{name}.key_value.key", kind.key_type)
        yield from _repeating(f"{name}.key_value.value", kind.item_type)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        yield from _repeating(f"{name}.list.element", kind.value_type)
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        yield name


@dataclass(frozen=True)
class CountingWriter(RowWriter):
    """Counts rows and drops them where they are."""

    def write(self, tables: Sequence[pa.Table]) -> Written | None:
        """Write no file."""
        rows = sum(table.num_rows for table in tables)
        return Written("", rows) if rows else None
