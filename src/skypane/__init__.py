"""Continuous preference queries and sliding-window analytics over late, out-of-order and bursty streams."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from skypane.lateness.policies.drop_ratio import DropRatio
from skypane.lateness.policies.fixed_delay import FixedDelay
from skypane.lateness.policies.harm import Harm
from skypane.lateness.policies.kslack import KSlack
from skypane.model.errors import CheckpointError, DataError, OptionError, SchemaError, SkypaneError

if TYPE_CHECKING:
    from skypane.api.stream import stream
    from skypane.api.table import skyline, top_delta, top_k
    from skypane.spark.latest_revisions import latest_revisions
    from skypane.spark.query import RunningQuery
    from skypane.spark.session import embedded_session
    from skypane.spark.sinks.console import ConsoleSink
    from skypane.spark.sinks.custom import CallableSink, DiscardSink, FormatSink
    from skypane.spark.sinks.memory import MemorySink
    from skypane.spark.sinks.parquet import ParquetSink
    from skypane.spark.sources import register_sources

try:
    __version__ = version("skypane")
except PackageNotFoundError:  # running from a source tree that is not installed
    __version__ = "0"

# Spark asks the driver's Python for the sources that packages bring along (``pyspark_skypane_*``). Unless told it takes
# ``python3`` from the path for it: in an environment that is not activated another one, which knows none.
if sys.executable and "PYSPARK_PYTHON" not in os.environ:
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)

# Everything that needs Spark is imported when it is first used, so that the core works without it.
_SPARK = {
    "stream": "skypane.api.stream",
    "skyline": "skypane.api.table",
    "top_delta": "skypane.api.table",
    "top_k": "skypane.api.table",
    "embedded_session": "skypane.spark.session",
    "RunningQuery": "skypane.spark.query",
    "latest_revisions": "skypane.spark.latest_revisions",
    "register_sources": "skypane.spark.sources",
    "ConsoleSink": "skypane.spark.sinks.console",
    "CallableSink": "skypane.spark.sinks.custom",
    "DiscardSink": "skypane.spark.sinks.custom",
    "FormatSink": "skypane.spark.sinks.custom",
    "MemorySink": "skypane.spark.sinks.memory",
    "ParquetSink": "skypane.spark.sinks.parquet",
}

__all__ = [
    "CallableSink",
    "CheckpointError",
    "ConsoleSink",
    "DataError",
    "DiscardSink",
    "DropRatio",
    "FixedDelay",
    "FormatSink",
    "Harm",
    "KSlack",
    "MemorySink",
    "OptionError",
    "ParquetSink",
    "RunningQuery",
    "SchemaError",
    "SkypaneError",
    "embedded_session",
    "latest_revisions",
    "register_sources",
    "skyline",
    "stream",
    "top_delta",
    "top_k",
]


def __getattr__(name: str) -> Any:
    if name not in _SPARK:
        raise AttributeError(f"module 'skypane' has no attribute {name!r}")
    try:
        return getattr(import_module(_SPARK[name]), name)
    except ModuleNotFoundError as error:
        if error.name and error.name.split(".")[0] in {"pyspark", "pandas"}:
            raise ImportError(f"skypane.{name} needs Spark. Install it with: pip install 'skypane[spark]'") from error
        raise


def __dir__() -> list[str]:
    return sorted(__all__)
