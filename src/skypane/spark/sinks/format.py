"""FormatSink: any Spark batch format as a sink."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import SparkSession

from skypane.model.errors import OptionError
from skypane.spark.format_name import format_name
from skypane.spark.schemas import spark_schema
from skypane.spark.sinks.base import Continuation, Sink, StepRows
from skypane.spark.sinks.folder import Published, SinkFolder
from skypane.spark.sinks.selected_columns import SelectedColumns
from skypane.spark.sinks.spark_path import SparkPath
from skypane.spark.sinks.storable import Target, check_storable

_FILE_FORMATS: Final = {"parquet", "orc", "json", "csv", "avro", "text", "xml"}
_TEXT_FORMATS: Final = {"csv", "json", "xml"}
_EXACT_TIMES: Final = {
    # Spark's own default for text drops microseconds.
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
_STEPS: Final = re.compile(r"batch_id=(\d+)")
_AT_LEAST_ONCE: Final = "at least once: after a crash the rows of the last step may be there twice"

_log = logging.getLogger("skypane")


class FormatSink(Sink):
    """Any Spark batch format: ``FormatSink("json", path="out")``, or, with the columns that a table has::

        FormatSink("jdbc", columns=["city", "window.start AS window_start", "price"], url=..., dbtable=...)

    columns: what to store of a row, as SQL expressions; without it, all columns as they are. A table of a database has
        no type for a window, nor has CSV: choose its ``start`` and ``end``. Kafka takes a column ``value``:
        ``columns=["to_json(struct(*)) AS value"]``. What a format cannot store is refused before the query starts.
    options: those of Spark's writer of the format.

    File formats write each step into its own ``batch_id=N`` folder, which a repeated step overwrites: exactly once.
    Delta gets the step as its idempotent transaction version: exactly once. Other formats are appended to: at least
    once. A local folder of a file format belongs to one query, and is refused to all others.
    """

    def __init__(self, format: str, *, columns: str | Sequence[str] | None = None, **options: Any) -> None:  # noqa: A002 - Spark's own word
        if not isinstance(format, str) or not format.strip():
            raise OptionError(f"FormatSink({format!r}): give the name of a format that Spark can write, e.g. 'json'.")
        name, (path, others) = format_name(format), _without_path(options)
        self._option = f"FormatSink({format!r}" + (")" if path is None else f", path={path!r})")
        self._is_file, self._is_delta = name in _FILE_FORMATS, name == "delta"
        if self._is_file and path is None:
            raise OptionError(f"{self._option} needs path=..., the folder to write to.")
        understood = path is not None and (self._is_file or self._is_delta)
        self._path = SparkPath.of(str(path), "FormatSink(path)") if understood else None
        self._written_to = path
        """What Spark's writer gets."""
        defaults = _EXACT_TIMES if name in _TEXT_FORMATS else {}
        self._target = Target(self._option, format.strip(), _merged(defaults, others))
        self._columns = SelectedColumns.of(columns, self._option)
        self._folder: SinkFolder | None = None
        self._continuation = Continuation()

    def place(self) -> Path | str | None:
        """The folder, if it is one that can be seen from here."""
        return self._path.folder if self._path is not None and self._is_file else None

    def check(self, spark: SparkSession, schema: pa.Schema) -> None:
        """Refuse a format that Spark does not have, and rows that it cannot store."""
        check_storable(spark, self._target, self._columns.check(spark, spark_schema(schema)))

    def open(self, spark: SparkSession, schema: pa.Schema, continuation: Continuation | None = None) -> None:
        """Make the folder the query's own; say of a format that can only append what that means."""
        del schema
        self._continuation = continuation or Continuation()
        if self._path is not None:
            self._written_to = self._path.for_spark(spark)
        if self._path is not None and self._is_file and (place := self._path.here(spark)) is not None:
            folder = SinkFolder(place, self._option, _STEPS)
            folder.open(self._continuation)
            self._folder = folder
        if not self._is_file and not self._is_delta:
            _log.warning("%s stores rows %s.", self._option, _AT_LEAST_ONCE)

    def publish(self, step: int, rows: StepRows) -> None:
        """Write the step's rows with Spark's own writer; steps without rows are passed over."""
        if not rows.rows:
            return
        options = dict(self._target.options)
        writer = self._columns.select(rows.dataframe()).write.format(self._target.format)
        if self._is_file:
            name = f"batch_id={step}"
            self._check_folder()
            writer.options(**options).mode("overwrite").save(f"{str(self._written_to).rstrip('/')}/{name}")
            self._check_folder()
            if self._folder is not None:
                self._folder.added([Published(step, name)])
            return
        if self._is_delta:
            options |= {"txnAppId": self._transactions(), "txnVersion": str(step)}
        writer.options(**options).mode("append").save(self._written_to)

    def close(self) -> None:
        """Let another query have the folder, as far as it may."""
        if self._folder is not None:
            self._folder.close()
            self._folder = None

    def describe(self) -> str:
        """Format, path and what is not guaranteed, for ``explain()``."""
        what = f"Spark format {self._target.name} {self._path or self._written_to or ''}".rstrip()
        return what if self._is_file or self._is_delta else f"{what}, {_AT_LEAST_ONCE}"

    def _check_folder(self) -> None:
        """Spark would create a folder that another program has removed, and rows of earlier steps would be missing."""
        if self._folder is not None:
            self._folder.check_there()

    def _transactions(self) -> str:
        """Under which name Delta counts the steps: it passes over a step that it has seen under the same name."""
        return f"skypane-{self._continuation.query_id}-{self._continuation.output}"


def _merged(defaults: Mapping[str, str], given: Mapping[str, Any]) -> dict[str, str]:
    """The options as text, in place of defaults of the same name; Spark ignores the case of names."""
    taken = {name.lower() for name in given}
    kept = {name: value for name, value in defaults.items() if name.lower() not in taken}
    return {**kept, **{name: str(value) for name, value in given.items()}}


def _without_path(options: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """The path, however its name is written, and the other options."""
    others = {name: value for name, value in options.items() if name.lower() != "path"}
    paths = [str(value) for name, value in options.items() if name.lower() == "path"]
    return (paths[-1] if paths else None), others
