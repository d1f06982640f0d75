"""Continuous preference queries and sliding-window analytics over late, out-of-order and bursty streams.

Here is what you use to ask queries; what you derive from to extend skypane is in :mod:`skypane.extend`.
"""

from __future__ import annotations

import os
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from skypane import extend
from skypane.lateness.policies.drop_ratio import DropRatio
from skypane.lateness.policies.fixed_delay import FixedDelay
from skypane.lateness.policies.harm import Harm
from skypane.lateness.policies.kslack import KSlack
from skypane.lazy_names import import_name, modules_by_name
from skypane.model.errors import (
    CheckpointError,
    DataError,
    DependencyError,
    FunctionError,
    OptionError,
    SchemaError,
    SkypaneError,
    SourceError,
    StorageError,
)

if TYPE_CHECKING:
    from skypane.api.continuous_query import ContinuousQuery
    from skypane.api.options.partition import Partition
    from skypane.api.options.time_guard import TimeGuard
    from skypane.api.options.tuning import Tuning
    from skypane.api.stream import Stream, stream
    from skypane.api.table import as_of, skyline, skyline_intervals, top_delta, top_k
    from skypane.api.windowed import Windowed
    from skypane.model.window import Window
    from skypane.queries.fold import Fold
    from skypane.spark.latest_revisions import latest_revisions
    from skypane.spark.metrics import Metrics
    from skypane.spark.query import RunningQuery
    from skypane.spark.session import embedded_session
    from skypane.spark.sinks.console import ConsoleSink
    from skypane.spark.sinks.discard import DiscardSink
    from skypane.spark.sinks.format import FormatSink
    from skypane.spark.sinks.memory import MemorySink
    from skypane.spark.sinks.parquet import ParquetSink
    from skypane.spark.sources import register_sources
    from skypane.tuning.elastic.elastic import Elastic
    from skypane.tuning.patterns import KeyFarm, PaneFarm, WinFarm, WinMapReduce, WinSeq

try:
    __version__ = version("skypane")
except PackageNotFoundError:  # running from a source tree that is not installed
    __version__ = "0"

# Spark asks the driver's Python for the sources that packages bring along (``pyspark_skypane_*``). Unless told it takes
# ``python3`` from the path for it: in an environment that is not activated another one, which knows none.
if sys.executable and "PYSPARK_PYTHON" not in os.environ:
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)

# Imported when they are first used: what needs Spark, so that the core works without it, and what takes long.
_MODULES = modules_by_name(
    {
        "skypane.api.continuous_query": ("ContinuousQuery",),
        "skypane.api.options.partition": ("Partition",),
        "skypane.api.options.time_guard": ("TimeGuard",),
        "skypane.api.options.tuning": ("Tuning",),
        "skypane.api.stream": ("Stream", "stream"),
        "skypane.api.table": ("as_of", "skyline", "skyline_intervals", "top_delta", "top_k"),
        "skypane.api.windowed": ("Windowed",),
        "skypane.model.window": ("Window",),
        "skypane.queries.fold": ("Fold",),
        "skypane.spark.latest_revisions": ("latest_revisions",),
        "skypane.spark.metrics": ("Metrics",),
        "skypane.spark.query": ("RunningQuery",),
        "skypane.spark.session": ("embedded_session",),
        "skypane.spark.sinks.console": ("ConsoleSink",),
        "skypane.spark.sinks.discard": ("DiscardSink",),
        "skypane.spark.sinks.format": ("FormatSink",),
        "skypane.spark.sinks.memory": ("MemorySink",),
        "skypane.spark.sinks.parquet": ("ParquetSink",),
        "skypane.spark.sources": ("register_sources",),
        "skypane.tuning.elastic.elastic": ("Elastic",),
        "skypane.tuning.patterns": ("KeyFarm", "PaneFarm", "WinFarm", "WinMapReduce", "WinSeq"),
    }
)

__all__ = [
    "CheckpointError",
    "ConsoleSink",
    "ContinuousQuery",
    "DataError",
    "DependencyError",
    "DiscardSink",
    "DropRatio",
    "Elastic",
    "FixedDelay",
    "Fold",
    "FormatSink",
    "FunctionError",
    "Harm",
    "KSlack",
    "KeyFarm",
    "MemorySink",
    "Metrics",
    "OptionError",
    "PaneFarm",
    "ParquetSink",
    "Partition",
    "RunningQuery",
    "SchemaError",
    "SkypaneError",
    "SourceError",
    "StorageError",
    "Stream",
    "TimeGuard",
    "Tuning",
    "WinFarm",
    "WinMapReduce",
    "WinSeq",
    "Window",
    "Windowed",
    "as_of",
    "embedded_session",
    "extend",
    "latest_revisions",
    "register_sources",
    "skyline",
    "skyline_intervals",
    "stream",
    "top_delta",
    "top_k",
]

if not TYPE_CHECKING:  # or type checkers would believe every name

    def __getattr__(name: str) -> Any:
        if name in extend.__all__:
            raise AttributeError(f"skypane.{name} has moved: it is skypane.extend.{name}.")
        return import_name("skypane", name, _MODULES, __all__)


def __dir__() -> list[str]:
    return sorted(__all__)
