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
from skypane.model.errors import (
    CheckpointError,
    DataError,
    FunctionError,
    OptionError,
    SchemaError,
    SkypaneError,
    StorageError,
)

if TYPE_CHECKING:
    from skypane.api.stream import stream
    from skypane.api.table import as_of, skyline, skyline_intervals, top_delta, top_k
    from skypane.flow.definition import Definition
    from skypane.flow.windows.emit.base import Emission
    from skypane.flow.windows.emit.updates import Updates
    from skypane.flow.windows.slide.base import Fired, Slide
    from skypane.lateness.delay_histogram import DelayHistogram
    from skypane.lateness.policy import Judgement, Lateness, Observation, PolicyState
    from skypane.model.groups import Groups
    from skypane.model.panes import Span
    from skypane.model.window import Window
    from skypane.patterns import KeyFarm, PaneFarm, Pattern, WinFarm, WinMapReduce, WinSeq
    from skypane.queries.base import Dominance, Expression, Grouped, Invalid, Query, Row, Selection
    from skypane.queries.fold import Fold
    from skypane.queries.preferences import Preferences
    from skypane.scheduling.elastic import Elastic
    from skypane.scheduling.pane_strategy import Allocation, ClosedPane, PaneStrategy, Queues
    from skypane.scheduling.utilization import Measurement, WorkerLoad
    from skypane.spark.latest_revisions import latest_revisions
    from skypane.spark.query import RunningQuery
    from skypane.spark.session import embedded_session
    from skypane.spark.sinks.base import Continuation, Sink, StepRows
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

# What needs Spark is imported when it is first used, so that the core works without it; so is what only those need who
# extend skypane.
_LAZY = {
    "skypane.api.stream": ("stream",),
    "skypane.api.table": ("as_of", "skyline", "skyline_intervals", "top_delta", "top_k"),
    "skypane.flow.definition": ("Definition",),
    "skypane.flow.windows.emit.base": ("Emission",),
    "skypane.flow.windows.emit.updates": ("Updates",),
    "skypane.flow.windows.slide.base": ("Fired", "Slide"),
    "skypane.lateness.delay_histogram": ("DelayHistogram",),
    "skypane.lateness.policy": ("Judgement", "Lateness", "Observation", "PolicyState"),
    "skypane.model.groups": ("Groups",),
    "skypane.model.panes": ("Span",),
    "skypane.model.window": ("Window",),
    "skypane.patterns": ("KeyFarm", "PaneFarm", "Pattern", "WinFarm", "WinMapReduce", "WinSeq"),
    "skypane.queries.base": ("Dominance", "Expression", "Grouped", "Invalid", "Query", "Row", "Selection"),
    "skypane.queries.fold": ("Fold",),
    "skypane.queries.preferences": ("Preferences",),
    "skypane.scheduling.elastic": ("Elastic",),
    "skypane.scheduling.pane_strategy": ("Allocation", "ClosedPane", "PaneStrategy", "Queues"),
    "skypane.scheduling.utilization": ("Measurement", "WorkerLoad"),
    "skypane.spark.latest_revisions": ("latest_revisions",),
    "skypane.spark.query": ("RunningQuery",),
    "skypane.spark.session": ("embedded_session",),
    "skypane.spark.sinks.base": ("Continuation", "Sink", "StepRows"),
    "skypane.spark.sinks.console": ("ConsoleSink",),
    "skypane.spark.sinks.custom": ("CallableSink", "DiscardSink", "FormatSink"),
    "skypane.spark.sinks.memory": ("MemorySink",),
    "skypane.spark.sinks.parquet": ("ParquetSink",),
    "skypane.spark.sources": ("register_sources",),
}
_MODULE_OF = {name: module for module, names in _LAZY.items() for name in names}

__all__ = [
    "Allocation",
    "CallableSink",
    "CheckpointError",
    "ClosedPane",
    "ConsoleSink",
    "Continuation",
    "DataError",
    "Definition",
    "DelayHistogram",
    "DiscardSink",
    "Dominance",
    "DropRatio",
    "Elastic",
    "Emission",
    "Expression",
    "Fired",
    "FixedDelay",
    "Fold",
    "FormatSink",
    "FunctionError",
    "Grouped",
    "Groups",
    "Harm",
    "Invalid",
    "Judgement",
    "KSlack",
    "KeyFarm",
    "Lateness",
    "Measurement",
    "MemorySink",
    "Observation",
    "OptionError",
    "PaneFarm",
    "PaneStrategy",
    "ParquetSink",
    "Pattern",
    "PolicyState",
    "Preferences",
    "Query",
    "Queues",
    "Row",
    "RunningQuery",
    "SchemaError",
    "Selection",
    "Sink",
    "SkypaneError",
    "Slide",
    "Span",
    "StepRows",
    "StorageError",
    "Updates",
    "WinFarm",
    "WinMapReduce",
    "WinSeq",
    "Window",
    "WorkerLoad",
    "as_of",
    "embedded_session",
    "latest_revisions",
    "register_sources",
    "skyline",
    "skyline_intervals",
    "stream",
    "top_delta",
    "top_k",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'skypane' has no attribute {name!r}")
    try:
        return getattr(import_module(_MODULE_OF[name]), name)
    except ModuleNotFoundError as error:
        if error.name and error.name.split(".")[0] in {"pyspark", "pandas"}:
            raise ImportError(f"skypane.{name} needs Spark. Install it with: pip install 'skypane[spark]'") from error
        raise


def __dir__() -> list[str]:
    return sorted(__all__)
