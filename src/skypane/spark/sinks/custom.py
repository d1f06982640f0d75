"""CallableSink and FormatSink: your own function, or any Spark batch format, as a sink."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from skypane.model.errors import OptionError
from skypane.spark.sinks.base import Continuation, Sink, StepRows
from skypane.spark.sinks.folder import Published, SinkFolder

_FILE_FORMATS = {"parquet", "orc", "json", "csv", "avro", "text", "xml"}
_FLAT_FORMATS = {"csv", "text"}
_TEXT_FORMATS = {"csv", "json", "xml"}
_EXACT_TIMES = {
    # Spark's own default for text drops microseconds.
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
_STEPS = re.compile(r"batch_id=(\d+)")


class CallableSink(Sink):
    """Calls ``function(DataFrame, step)`` for every step.

    After a crash the last call may come again with the same id and the same rows: make it idempotent by the id.
    """

    def __init__(self, function: Callable[[DataFrame, int], object]) -> None:
        self._function = function

    def publish(self, step: int, rows: StepRows) -> None:
        """Call it; steps without rows are passed over."""
        if rows.rows:
            self._function(rows.dataframe(), step)

    def describe(self) -> str:
        """The function's name, for ``explain()``."""
        return f"calls {getattr(self._function, '__qualname__', repr(self._function))}"


class FormatSink(Sink):
    """Any Spark batch format: ``FormatSink("json", path="out")``, ``FormatSink("jdbc", url=..., dbtable=...)``.

    File formats write each step into its own ``batch_id=N`` folder, which a repeated step overwrites: exactly once.
    Delta gets the step as its idempotent transaction version: exactly once. Other formats are appended to: at least
    once. A local folder of a file format belongs to one query, and is refused to all others.
    """

    def __init__(self, format: str, **options: Any) -> None:  # noqa: A002 - Spark's own word
        self._format = format
        exact = _EXACT_TIMES if format in _TEXT_FORMATS else {}
        self._options = {**exact, **{name: str(value) for name, value in options.items()}}
        if format in _FILE_FORMATS and "path" not in options:
            raise OptionError(f"FormatSink({format!r}) needs path=..., the folder to write to.")
        self._path = _local(self._options.get("path", "")) if format in _FILE_FORMATS else None
        self._folder: SinkFolder | None = None
        self._continuation = Continuation()

    def place(self) -> Path | str | None:
        """The folder, if it is one that can be seen from here."""
        return self._path

    def open(self, spark: SparkSession, schema: pa.Schema, continuation: Continuation | None = None) -> None:
        """Text formats have no place for a window: say so now, not with the first result."""
        self._check_columns(schema)
        self._continuation = continuation or Continuation()
        place, path = self._path, self._options.get("path", "")
        if place is not None and (path.startswith("file:") or _is_local(spark)):
            folder = SinkFolder(place, f"FormatSink({self._format!r}, path={path!r})", _STEPS)
            folder.open(self._continuation)
            self._folder = folder

    def publish(self, step: int, rows: StepRows) -> None:
        """Write the step's rows with Spark's own writer."""
        options = dict(self._options)
        writer = rows.dataframe().write.format(self._format)
        if self._format in _FILE_FORMATS:
            # Written even when empty: an earlier attempt at this step may have left rows.
            name = f"batch_id={step}"
            path = f"{options.pop('path').rstrip('/')}/{name}"
            writer.options(**options).mode("overwrite").save(path)
            if self._folder is not None:
                self._folder.added([Published(step, name)])
            return
        if self._format == "delta":
            options |= {"txnAppId": self._transactions(), "txnVersion": str(step)}
        if rows.rows:
            writer.options(**options).mode("append").save()

    def close(self) -> None:
        """Let another query have the folder, as far as it may."""
        if self._folder is not None:
            self._folder.close()
            self._folder = None

    def _transactions(self) -> str:
        """Under which name Delta counts the steps: it passes over a step that it has seen under the same name."""
        return f"skypane-{self._continuation.query_id}-{self._continuation.output}"

    def _check_columns(self, schema: pa.Schema) -> None:
        if self._format not in _FLAT_FORMATS:
            return
        for field in schema:
            if pa.types.is_nested(field.type):
                raise OptionError(
                    f"{self._format} cannot store the column {field.name!r} of type {field.type}. Use json, orc "
                    "or parquet, or give a function of (DataFrame, step) that writes window.start and window.end."
                )

    def describe(self) -> str:
        """Format and path, for ``explain()``."""
        return f"Spark format {self._format} {self._options.get('path', '')}".rstrip()


class DiscardSink(Sink):
    """Counts rows and drops them in the workers: for measuring."""

    def __init__(self) -> None:
        self.rows = 0
        self._last = (0, 0)
        self._continuation: Continuation | None = None

    def open(self, spark: SparkSession, schema: pa.Schema, continuation: Continuation | None = None) -> None:
        """Another query is counted from nothing."""
        del spark, schema
        before, self._continuation = self._continuation, continuation or Continuation()
        if before is None or not self._continuation.owns(before.owner):
            self.rows, self._last = 0, (0, 0)

    def writer(self, scratch: Any) -> Any:
        """Write nothing: rows stay on the workers."""
        from skypane.spark.store.writers import CountingWriter  # noqa: PLC0415

        del scratch
        return CountingWriter()

    def publish(self, step: int, rows: StepRows) -> None:
        """Add up; a step that comes again is counted once."""
        last_step, last_rows = self._last
        self.rows += rows.rows - (last_rows if step == last_step else 0)
        self._last = (step, rows.rows)

    def describe(self) -> str:
        """One line for ``explain()``."""
        return "discarded"


class SinkNotChosen(DiscardSink):
    """A placeholder for ``explain()`` before ``start()``, when no sink is chosen yet."""

    def describe(self) -> str:
        """One line for ``explain()``: the sink is chosen by ``start()``."""
        return "to the sink that start() is given"


def _local(path: str) -> Path | None:
    """The local folder that Spark understands by a path, which has no escapes for Spark; ``None`` if it is not one."""
    match = re.fullmatch(r"(?:file:(?://(?=/))?)?(/.*|[^:]+)", path)
    return Path(match[1]).absolute() if match else None


def _is_local(spark: SparkSession) -> bool:
    """Whether a path without a scheme is one of this computer for Spark."""
    conf = spark._jsparkSession.sessionState().newHadoopConf()  # noqa: SLF001 - there is no other way
    return str(conf.get("fs.defaultFS")).startswith("file:")


def as_sink(value: object, option: str) -> Sink:
    """A sink from what a user gave: a sink, or a function of (DataFrame, step)."""
    if isinstance(value, Sink):
        return value
    if callable(value) and not isinstance(value, type):
        _check_takes_two(value, option)
        return CallableSink(value)
    folder = isinstance(value, str | os.PathLike)
    hint = f" For a folder of Parquet files write {option}=sp.ParquetSink({str(value)!r})." if folder else ""
    raise OptionError(
        f"{option}={value!r} is not a sink.{hint} Give sp.ParquetSink(path), sp.MemorySink(name), sp.ConsoleSink(), "
        "sp.FormatSink(format, ...), or a function of (DataFrame, step)."
    )


def _check_takes_two(function: Callable[..., object], option: str) -> None:
    try:
        signature = inspect.signature(function)
    except ValueError:  # built in, without one
        return
    try:
        signature.bind(None, 0)
    except TypeError as error:
        raise OptionError(
            f"{option}={function!r} is called with two arguments, (DataFrame, step), and does not take them: {error}."
        ) from error
