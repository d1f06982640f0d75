"""as_sink: a sink from what a user gave."""

from __future__ import annotations

from skypane.model.errors import OptionError
from skypane.spark.sinks.base import Sink
from skypane.spark.sinks.callable import CallableSink


def as_sink(value: object, option: str) -> Sink:
    """The sink itself, or a sink that calls a function of (DataFrame, step)."""
    if isinstance(value, Sink):
        return value
    if callable(value) and not isinstance(value, type):
        return CallableSink(value)
    raise OptionError(
        f"{option}={value!r} is not a sink. Give sp.ParquetSink(path), sp.MemorySink(name), sp.ConsoleSink(), "
        "sp.FormatSink(format, ...), or a function of (DataFrame, step)."
    )
