"""ParquetSink: exactly-once Parquet files, written by the workers themselves and moved into place."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from skypane.model.columns import REVISION, WINDOW
from skypane.model.errors import OptionError
from skypane.spark.schemas import spark_schema
from skypane.spark.sinks.base import Sink, StepRows
from skypane.spark.sinks.upsert import replaced_by
from skypane.spark.store.checkpoint import local_path
from skypane.spark.store.failpoints import reach
from skypane.spark.store.files import sync
from skypane.spark.store.writers import ParquetWriter, RowWriter

_STAGING = "_staging"


class ParquetSink(Sink):
    """A folder of Parquet files, one or a few per step, that ``spark.read.parquet(path)`` reads at any time.

    Files of a step have fixed names and are moved into place whole, so that a repeated step replaces its own files.
    With ``allowed_lateness`` a revision replaces the answer of its key and window: the file that has it is written
    again without it, after the new one is in place.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = local_path(path, "ParquetSink(path)")
        self._spark_schema = ""
        self._keys: Sequence[str] = ()
        self._starts: dict[str, tuple[int, int]] = {}
        """The first and the last window start in each file, once looked up."""

    def identify(self, keys: Sequence[str]) -> None:
        """Revisions replace the answers of the same key and window."""
        self._keys = tuple(keys)

    def continue_from(self, step: int) -> None:
        """Refuse a folder with files of later steps: some of them would be replaced, others would stay."""
        newest = max((_step_of(path) for path in self.path.glob("step-*-*.parquet")), default=0)
        if newest > step + 1:
            raise OptionError(
                f"ParquetSink(path={str(self.path)!r}) has files up to step {newest}, but the checkpoint is at step "
                f"{step}: they come from another checkpoint. Give a new folder, or move the old files away."
            )

    def open(self, spark: SparkSession, schema: pa.Schema) -> None:
        """Create the folder, with an empty file that says what the columns are."""
        del spark
        if self.path.exists() and not self.path.is_dir():
            raise OptionError(f"ParquetSink(path={str(self.path)!r}) is a file; give a folder.")
        staging = self.path / _STAGING
        shutil.rmtree(staging, ignore_errors=True)
        staging.mkdir(parents=True)
        self._spark_schema = spark_schema(schema).json()
        empty = ParquetWriter(str(staging), self._spark_schema).write_always([schema.empty_table()])
        Path(empty.path).replace(self.path / "schema.parquet")

    def writer(self, scratch: Path) -> RowWriter:
        """Workers write Parquet straight into the staging folder."""
        del scratch
        return ParquetWriter(str(self.path / _STAGING), self._spark_schema)

    def publish(self, step: int, rows: StepRows) -> None:
        """Move the step's files into place and remove what an earlier attempt had more."""
        names = [f"step-{step:010d}-{index:04d}.parquet" for index in range(len(rows.written))]
        stale = {path.name for path in self.path.glob(f"step-{step:010d}-*.parquet")} - set(names)
        for name in stale:
            (self.path / name).unlink(missing_ok=True)
        for name, file in zip(names, rows.written, strict=True):
            reach("results.staged")
            sync(Path(file.path))
            Path(file.path).replace(self.path / name)
        if names or stale:
            sync(self.path)
        if names and REVISION in rows.schema.names:
            self._replace(step, names)

    def _replace(self, step: int, names: Sequence[str]) -> None:
        """Take the answers out of earlier files that this step has revised."""
        replaced = replaced_by(self._keys, pa.concat_tables([_read(self.path / name) for name in names]))
        if replaced is None:
            return
        first, last = replaced.starts
        for path in sorted(self.path.glob("step-*-*.parquet")):
            if _step_of(path) >= step:
                break
            low, high = self._starts_in(path)
            if low > last or high < first:
                continue
            rest = replaced.remove_from(_read(path))
            if rest is None:
                continue
            reach("results.staged")
            if rest.num_rows:
                staged = ParquetWriter(str(self.path / _STAGING), self._spark_schema).write_always([rest])
                sync(Path(staged.path))
                Path(staged.path).replace(path)
            else:
                path.unlink()
        sync(self.path)

    def _starts_in(self, path: Path) -> tuple[int, int]:
        if path.name not in self._starts:
            starts = pc.struct_field(pq.ParquetFile(path).read([WINDOW]).column(WINDOW), "start")
            bounds = pc.min_max(starts.cast(pa.timestamp("us")).cast(pa.int64())).as_py()
            self._starts[path.name] = (bounds["min"], bounds["max"])
        return self._starts[path.name]

    def describe(self) -> str:
        """The folder."""
        return f"Parquet files in {self.path}"


def _step_of(path: Path) -> int:
    return int(path.name.split("-")[1])


def _read(path: Path) -> pa.Table:
    return pq.ParquetFile(path).read()
