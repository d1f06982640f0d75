"""CallableSink and FormatSink: your own function, or any Spark batch format, as a sink."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from skypane.model.errors import OptionError
from skypane.spark.sinks.base import Sink, StepRows

_FILE_FORMATS = {"parquet", "orc", "json", "csv", "avro", "text", "xml"}
_FLAT_FORMATS = {"csv", "text"}
_TEXT_FORMATS = {"csv", "json", "xml"}
_EXACT_TIMES = {
    # Spark's own default for text drops microseconds.
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


class CallableSink(Sink):
    """Calls ``function(DataFrame, batch_id)`` for every step.

    After a crash the last call may come again with the same id and the same rows: make it idempotent by the id.
    """

    def __init__(self, function: Callable[[DataFrame, int], object]) -> None:
        self._function = function

    def publish(self, step: int, rows: StepRows) -> None:
        """Call it; steps without rows are passed over."""
        if rows.rows:
            self._function(rows.dataframe(), step)

    def describe(self) -> str:
        """The function's name."""
        return f"calls {getattr(self._function, '__qualname__', repr(self._function))}"


class FormatSink(Sink):
    """Any Spark batch format: ``FormatSink("json", path="out")``, ``FormatSink("jdbc", url=..., dbtable=...)``.

    File formats write each step into its own ``batch_id=N`` folder, which a repeated step overwrites: exactly once.
    Delta gets the step as its idempotent transaction version: exactly once. Other formats are appended to: at least
    once.
    """

    def __init__(self, format: str, **options: Any) -> None:  # noqa: A002 - Spark's own word
        self._format = format
        exact = _EXACT_TIMES if format in _TEXT_FORMATS else {}
        self._options = {**exact, **{name: str(value) for name, value in options.items()}}
        if format in _FILE_FORMATS and "path" not in options:
            raise OptionError(f"FormatSink({format!r}) needs path=..., the folder to write to.")

    def continue_from(self, step: int) -> None:
        """Refuse a local folder with results of later steps, as far as that can be seen from here."""
        if self._format not in _FILE_FORMATS:
            return
        address = urlparse(self._options["path"])
        if address.scheme not in {"", "file"}:
            return
        found = [path.name.removeprefix("batch_id=") for path in Path(address.path).glob("batch_id=*")]
        newest = max((int(number) for number in found if number.isdigit()), default=0)
        if newest > step + 1:
            raise OptionError(
                f"FormatSink({self._format!r}, path={self._options['path']!r}) has results up to step {newest}, but "
                f"the checkpoint is at step {step}: they come from another checkpoint. Give a new folder, or move the "
                "old results away."
            )

    def open(self, spark: SparkSession, schema: pa.Schema) -> None:
        """Text formats have no place for a window: say so now, not with the first result."""
        del spark
        if self._format not in _FLAT_FORMATS:
            return
        for field in schema:
            if pa.types.is_nested(field.type):
                raise OptionError(
                    f"{self._format} cannot store the column {field.name!r} of type {field.type}. Use json, orc "
                    "or parquet, or give a function of (DataFrame, batch_id) that writes window.start and window.end."
                )

    def publish(self, step: int, rows: StepRows) -> None:
        """Write the step's rows with Spark's own writer."""
        options = dict(self._options)
        writer = rows.dataframe().write.format(self._format)
        if self._format in _FILE_FORMATS:
            # Written even when empty: an earlier attempt at this step may have left rows.
            path = f"{options.pop('path').rstrip('/')}/batch_id={step}"
            writer.options(**options).mode("overwrite").save(path)
            return
        if self._format == "delta":
            options |= {"txnAppId": f"skypane-{options.get('path', '')}", "txnVersion": str(step)}
        if rows.rows:
            writer.options(**options).mode("append").save()

    def describe(self) -> str:
        """Format and path."""
        return f"Spark format {self._format} {self._options.get('path', '')}".rstrip()


class DiscardSink(Sink):
    """Counts rows and drops them in the workers: for measuring."""

    def __init__(self) -> None:
        self.rows = 0

    def writer(self, scratch: Any) -> Any:
        """Nothing leaves the workers."""
        from skypane.spark.store.writers import CountingWriter  # noqa: PLC0415

        del scratch
        return CountingWriter()

    def publish(self, step: int, rows: StepRows) -> None:
        """Add up."""
        del step
        self.rows += rows.rows

    def describe(self) -> str:
        """Nowhere."""
        return "discarded"


def as_sink(value: object, option: str) -> Sink:
    """A sink from what a user gave: a sink, or a function of (DataFrame, batch_id)."""
    if isinstance(value, Sink):
        return value
    if callable(value):
        return CallableSink(value)
    raise OptionError(
        f"{option}={value!r} is not a sink. Give sp.ParquetSink(path), sp.MemorySink(name), sp.ConsoleSink(), "
        "sp.FormatSink(format, ...), or a function of (DataFrame, batch_id)."
    )
