"""A stream, continuously: ``sp.stream(df, time=...).window(...).skyline(...).start(...)``."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.kslack import KSlack
from skypane.lateness.policy import Lateness
from skypane.model.durations import Duration, parse_duration_us
from skypane.model.errors import OptionError
from skypane.model.windows import WindowSpec
from skypane.operators.definition import Definition
from skypane.operators.slides import check_slide
from skypane.queries.aggregates import Aggregates
from skypane.queries.base import Query
from skypane.queries.preferences import Preferences
from skypane.queries.skyline import Skyline
from skypane.queries.top_delta import TopDelta
from skypane.queries.top_k import TopK
from skypane.spark.launch import LaunchOptions, launch
from skypane.spark.query import RunningQuery
from skypane.spark.sinks.base import Sink
from skypane.spark.sinks.custom import as_sink
from skypane.spark.step_driver import Settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    SinkLike = Sink | Callable[[DataFrame, int], object]

_MIN_FUTURE_US = 3_600_000_000
_FUTURE_WINDOWS = 10


def stream(df: DataFrame, *, time: str, key: str | Sequence[str] | None = None) -> Stream:
    """A streaming DataFrame whose column ``time`` says when each record happened; every ``key`` has its own answers."""
    keys = () if key is None else (key,) if isinstance(key, str) else tuple(key)
    if not isinstance(time, str) or any(not isinstance(k, str) for k in keys):
        raise OptionError("time= takes a column name, key= a column name or a list of column names.")
    if len(set(keys)) < len(keys):
        raise OptionError(f"key={list(keys)!r} names a column twice.")
    return Stream(df, time, keys)


@dataclass(frozen=True)
class Stream:
    """Records with a time; say next over which windows to ask."""

    df: DataFrame
    time: str
    keys: tuple[str, ...]

    def window(self, size: Duration, slide: Duration | None = None) -> Windowed:
        """Windows of ``size`` that start every ``slide``, aligned to the epoch as Spark's ``F.window`` aligns them.

        No slide: tumbling windows. A slide longer than the size: hopping windows, with gaps between them.
        """
        return Windowed(self, WindowSpec.parse(size, slide))


@dataclass(frozen=True)
class Windowed:
    """Records and windows; say next what to ask of each window."""

    source: Stream
    spec: WindowSpec

    def skyline(self, *, minimize: Sequence[str] | str = (), maximize: Sequence[str] | str = ()) -> ContinuousQuery:
        """The records of each window that no other record of the window dominates."""
        return self.query(Skyline(Preferences.of(minimize, maximize)))

    def top_delta(
        self, delta: int, *, minimize: Sequence[str] | str = (), maximize: Sequence[str] | str = ()
    ) -> ContinuousQuery:
        """The ``delta`` skyline records of each window that are hardest to beat, with their ``kmax``."""
        return self.query(TopDelta(delta, Preferences.of(minimize, maximize)))

    def top_k(self, k: int, *, score: str) -> ContinuousQuery:
        """The ``k`` records of each window with the largest ``score``, any Spark SQL expression."""
        return self.query(TopK(k, score))

    def aggregate(self, **outputs: str) -> ContinuousQuery:
        """Aggregates of each window, e.g. ``n="count", p="mean(price)"``; the argument is any Spark SQL expression."""
        return self.query(Aggregates.of(outputs))

    def query(self, query: Query) -> ContinuousQuery:
        """Any :class:`~skypane.queries.base.Query`, your own included."""
        return ContinuousQuery(self.source, self.spec, query)


@dataclass(frozen=True)
class ContinuousQuery:
    """A complete question; choose how long to wait for late records, then start."""

    source: Stream
    spec: WindowSpec
    question: Query
    policy: Lateness = field(default_factory=KSlack)

    def lateness(self, policy: Lateness) -> ContinuousQuery:
        """How long to wait for late records: ``sp.KSlack()`` (the default) or ``sp.FixedDelay("5 seconds")``."""
        if not isinstance(policy, Lateness):
            raise OptionError(f"lateness({policy!r}): give a policy such as sp.KSlack() or sp.FixedDelay('5 seconds').")
        return replace(self, policy=policy)

    def start(
        self,
        *,
        sink: SinkLike,
        checkpoint: str | os.PathLike[str] | None = None,
        late: SinkLike | None = None,
        quarantine: SinkLike | None = None,
        trigger: str = "500 milliseconds",
        available_now: bool = False,
        flush: bool = True,
        idle_timeout: Duration | None = "1 minute",
        max_future: Duration | None = "auto",
        future_support: int = 5,
        emit: str = "full",
        slide: str = "auto",
        degree: int | None = None,
        inline_rows: int = 100_000,
        name: str | None = None,
    ) -> RunningQuery:
        """Start the query.

        sink, late, quarantine: where results, late records and unusable records go: ``sp.ParquetSink(path)``,
            ``sp.MemorySink(name)``, ``sp.ConsoleSink()``, ``sp.FormatSink(format, ...)`` or a function of
            (DataFrame, batch_id). Late and quarantined records are counted in any case.
        checkpoint: a folder from which the query restarts exactly where it was; without one it cannot be restarted.
        trigger: how often to take a step. ``available_now=True``: process everything the source has, then close and
            emit the windows that are still open (``flush=False`` keeps them open for the next run), and end.
        idle_timeout: when no record has come for so long, emit the open windows; ``None`` waits for ever.
        max_future: how far ahead of the stream a single record may be dated; what is further is quarantined unless
            ``future_support`` records agree. By default an hour or ten windows, whichever is longer; ``None`` for
            no limit.
        emit: ``"full"``, every window's whole answer; or ``"changes"``, rows with ``change`` +1 or -1 that turn the
            previous window's answer of the key into this one (skyline only): far fewer rows where windows overlap.
        slide: how windows slide: ``"auto"``, ``"critical"``, ``"tiles"`` or ``"recompute"``; the answers are the same.
        degree: the most window-stage tasks (default: Spark's default parallelism).
        inline_rows: a window stage with no more rows than this runs in the driver.
        """
        parse_duration_us(trigger, "trigger", zero_ok=True)
        if degree is not None and degree < 1:
            raise OptionError(f"degree={degree} must be 1 or more.")
        if inline_rows < 0:
            raise OptionError(f"inline_rows={inline_rows} must be 0 or more.")
        options = LaunchOptions(
            checkpoint=checkpoint,
            sink=as_sink(sink, "sink"),
            late=None if late is None else as_sink(late, "late"),
            quarantine=None if quarantine is None else as_sink(quarantine, "quarantine"),
            trigger=None if available_now else trigger,
            flush=flush,
            idle_timeout_us=None if idle_timeout is None else parse_duration_us(idle_timeout, "idle_timeout"),
            guard=FutureGuard(self._max_future_us(max_future), future_support),
            settings=Settings(degree or self._default_degree(), inline_rows),
            name=name,
        )
        definition = Definition(self.question, self.spec, self.source.time, self.source.keys, emit=emit, slide=slide)
        check_slide(definition)
        return launch(self.source.df, definition, self.policy, options)

    def _max_future_us(self, max_future: Duration | None) -> int | None:
        if max_future == "auto":
            return max(_MIN_FUTURE_US, _FUTURE_WINDOWS * max(self.spec.size_us, self.spec.slide_us))
        return None if max_future is None else parse_duration_us(max_future, "max_future")

    def _default_degree(self) -> int:
        return int(self.source.df.sparkSession.sparkContext.defaultParallelism)
