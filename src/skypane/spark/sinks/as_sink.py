"""as_sink: a sink from what a user gave."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable

from skypane.model.errors import OptionError
from skypane.spark.sinks.base import Sink
from skypane.spark.sinks.callable import CallableSink


def as_sink(value: object, option: str) -> Sink:
    """The sink itself, or a sink that calls a function of (DataFrame, step)."""
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
