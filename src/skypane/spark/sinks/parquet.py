"""ParquetSink: exactly-once Parquet files, written by the workers themselves and moved into place."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from skypane.model.columns import WINDOW
from skypane.model.errors import StorageError
from skypane.spark.schemas import spark_schema
from skypane.spark.sinks.base import Continuation, Sink, StepRows
from skypane.spark.sinks.folder import Published, SinkFolder
from skypane.spark.sinks.parquet_index import ParquetIndex, Starts
from skypane.spark.sinks.upsert import replaced_by
from skypane.spark.store.disk import disk, ensure_folder, matching
from skypane.spark.store.failpoints import reach
from skypane.spark.store.folders import local_path, usable
from skypane.spark.store.writers import ParquetWriter, RowWriter, Written

_STAGING = "_staging"
_SCHEMA = "schema.parquet"
_NAMES = re.compile(r"step-(\d{10,})-\d{4,}\.parquet")


class ParquetSink(Sink):
    """A folder of Parquet files, one or a few per step, that ``spark.read.parquet(path)`` reads at any time.

    Files of a step have fixed names and are moved into place whole, so that a step that comes again changes nothing.
    With ``allowed_lateness`` a revision replaces the answer of its key and window: the file that has it is written
    again without it, after the new one is in place. The folder belongs to one query, and is refused to all others.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = local_path(path, "ParquetSink(path)")
        self._option = f"ParquetSink(path={str(self.path)!r})"
        self._folder = SinkFolder(self.path, self._option, _NAMES)
        self._index = ParquetIndex()
        self._spark_schema = ""
        self._keys: Sequence[str] = ()
        self._revised = False

    def place(self) -> Path:
        """The folder of the files."""
        return self.path

    def open(self, spark: SparkSession, schema: pa.Schema, continuation: Continuation | None = None) -> None:
        """Create the folder, with an empty file that says what the columns are."""
        del spark
        continuation = continuation or Continuation()
        files = self._folder.open(continuation)
        try:
            with usable(self.path, self._option):
                self._spark_schema = spark_schema(schema).json()
                self._keys = tuple(continuation.keys)
                self._clear_staging({Path(file.path).name for file in continuation.pending})
                empty = self._stage(schema.empty_table())
                disk().rename(empty, self.path / _SCHEMA)
                self._revised = continuation.revised
                self._index = ParquetIndex([self._with_starts(file) for file in files] if self._revised else files)
        except BaseException:
            self.close()
            raise

    def writer(self, scratch: Path) -> RowWriter:
        """Workers write Parquet straight into the staging folder."""
        del scratch
        self._folder.check_there()
        return ParquetWriter(str(self.path / _STAGING), self._spark_schema)

    def publish(self, step: int, rows: StepRows) -> None:
        """Move the step's files into place, but for those that are there since before a crash."""
        self._folder.check_there()
        written = [file for file in rows.written if file.path]
        if not written:
            return
        names = [f"step-{step:010d}-{index:04d}.parquet" for index in range(len(written))]
        there = {file.name for file in self._index.of_step(step)}
        for name, file in zip(names, written, strict=True):
            if name not in there:
                reach("results.staged")
                disk().rename(self._staged(file, rows), self.path / name)
        disk().sync(self.path)
        files = [Published(step, name) for name in names]
        if self._revised:
            files = [self._with_starts(file) for file in files]
        self._folder.added(files)
        self._index.replace(step, files)
        if self._revised:
            self._replace(step, names)

    def close(self) -> None:
        """Let another query have the folder, as far as it may."""
        self._folder.close()

    def describe(self) -> str:
        """One line for ``explain()``."""
        return f"Parquet files in {self.path}"

    def _replace(self, step: int, names: Sequence[str]) -> None:
        """Take the answers out of earlier files that this step has revised."""
        replaced = replaced_by(self._keys, pa.concat_tables([_read(self.path / name) for name in names]))
        if replaced is None:
            return
        for file in list(self._index.overlapping(Starts(*replaced.starts), step)):
            path = self.path / file.name
            rest = replaced.remove_from(_read(path))
            if rest is None:
                continue
            reach("results.staged")
            if rest.num_rows:
                staged = self._stage(rest)
                disk().sync(staged)
                disk().rename(staged, path)
            else:
                self._remove([file])
                self._index.discard(file)
        disk().sync(self.path)

    def _remove(self, files: Sequence[Published]) -> None:
        self._folder.removes(files)
        for file in files:
            disk().remove(self.path / file.name)

    def _stage(self, table: pa.Table) -> Path:
        return Path(ParquetWriter(str(self.path / _STAGING), self._spark_schema).write_always([table]).path)

    def _staged(self, file: Written, rows: StepRows) -> Path:
        """Where the file is in our own staging folder: our workers wrote it there, unless another sink's did."""
        own = self.path / _STAGING / Path(file.path).name
        if not disk().exists(own):
            own = self._stage(rows.read(file))
            disk().sync(own)
        elif rows.stored:
            file._replace(path=str(own)).check()
        return own

    def _clear_staging(self, pending: Collection[str]) -> None:
        """Remove what crashed attempts left behind, but for rows that come next."""
        staging = self.path / _STAGING
        ensure_folder(staging)
        for path in matching(staging, "rows-*.parquet"):
            if path.name not in pending:
                disk().remove(path)

    def _with_starts(self, file: Published) -> Published:
        """The file with its windows noted: looked up if need be, once."""
        if Starts.parse(file.note) is not None:
            return file
        starts = pc.struct_field(_read(self.path / file.name, [WINDOW]).column(WINDOW), "start")
        bounds = pc.min_max(starts.cast(pa.timestamp("us")).cast(pa.int64())).as_py()
        return file._replace(note=Starts(bounds["min"], bounds["max"]).note())


def _read(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    try:
        with disk().reader(path) as file:
            return pq.ParquetFile(file).read(columns)
    except (OSError, pa.ArrowException) as error:
        raise StorageError(
            f"The file {path} cannot be read ({error}), but late records revise answers in it. Restore it from a "
            "backup, or give the sink a new folder."
        ) from error
