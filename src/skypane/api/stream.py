"""A stream, continuously: ``sp.stream(df, time=...).window(...).skyline(...).start(...)``."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from skypane.flow.definition import Definition
from skypane.flow.windows.emit.base import Emission
from skypane.flow.windows.emit.names import emission
from skypane.flow.windows.slide.choice import check_lateness, check_slide
from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.partitions import Across, SourcePartitions
from skypane.lateness.policies.kslack import KSlack
from skypane.lateness.policy import Lateness
from skypane.lateness.punctuator import Punctuator
from skypane.model.durations import Duration, parse_duration_us
from skypane.model.errors import OptionError
from skypane.model.windows import WindowSpec
from skypane.queries.aggregates import Aggregates
from skypane.queries.base import Query
from skypane.queries.preferences import Preferences
from skypane.queries.skyline import Skyline
from skypane.queries.top_delta import TopDelta
from skypane.queries.top_k import TopK
from skypane.scheduling.batch_plan import check_splitting
from skypane.scheduling.degrees import Degrees
from skypane.scheduling.ranges import window_scheduling as parse_window_scheduling
from skypane.spark.launch import launch
from skypane.spark.options import LaunchOptions
from skypane.spark.query import RunningQuery
from skypane.spark.settings import Settings
from skypane.spark.sinks.base import Sink
from skypane.spark.sinks.custom import as_sink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    SinkLike = Sink | Callable[[DataFrame, int], object]

_MIN_FUTURE_US = 3_600_000_000
_FUTURE_WINDOWS = 10
_HORIZON_WINDOWS = 10


def stream(df: DataFrame, *, time: str, key: str | Sequence[str] | None = None, partition: str | None = None) -> Stream:
    """A streaming DataFrame whose column ``time`` says when each record happened; every ``key`` has its own answers.

    partition: the column that names the partition of the source a record comes from (Kafka's ``partition``, a sensor),
        if the progress of each is to be followed, see :meth:`ContinuousQuery.lateness`.
    """
    keys = () if key is None else (key,) if isinstance(key, str) else tuple(key)
    if not isinstance(time, str) or any(not isinstance(k, str) for k in keys):
        raise OptionError("time= takes a column name, key= a column name or a list of column names.")
    if len(set(keys)) < len(keys):
        raise OptionError(f"key={list(keys)!r} names a column twice.")
    return Stream(df, time, keys, partition)


@dataclass(frozen=True)
class Stream:
    """Records with a time; say next over which windows to ask."""

    df: DataFrame
    time: str
    keys: tuple[str, ...]
    partition: str | None = None

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
    sources: SourcePartitions | None = None

    def lateness(
        self,
        policy: Lateness,
        *,
        across: Across = "min",
        max_lag: Duration | None = None,
        partition_timeout: Duration = "30 seconds",
    ) -> ContinuousQuery:
        """How long to wait for late records.

        policy: ``sp.KSlack()`` (the default), ``sp.FixedDelay("5 seconds")``, ``sp.DropRatio(0.01)`` or
            ``sp.Harm(0.001)``.
        across, max_lag, partition_timeout: for streams with ``partition=``. ``across="min"`` waits for the partition
            that is least far, up to ``max_lag`` behind the newest, and not for one that has sent nothing for
            ``partition_timeout``; ``across="max"`` follows the newest.
        """
        if not isinstance(policy, Lateness):
            raise OptionError(f"lateness({policy!r}): give a policy such as sp.KSlack() or sp.FixedDelay('5 seconds').")
        if self.source.partition is None and (across != "min" or max_lag is not None):
            raise OptionError(
                "across= and max_lag= are for streams with partitions: sp.stream(..., partition='column')."
            )
        lag_us = None if max_lag is None else parse_duration_us(max_lag, "max_lag", zero_ok=True)
        timeout_us = parse_duration_us(partition_timeout, "partition_timeout")
        sources = SourcePartitions(self.source.partition or "", across, lag_us, timeout_us)
        return replace(self, policy=policy, sources=sources)

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
        allowed_lateness: Duration = "0 seconds",
        harm_horizon: Duration | None = "auto",
        processing: str = "out_of_order",
        emit: str | Emission = "full",
        slide: str = "auto",
        degree: int | None = None,
        inline_rows: int = 100_000,
        splitting: str = "combine",
        pane_degree: int | None = None,
        window_scheduling: str = "ranges",
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
        allowed_lateness: a late record still corrects the answers of its windows for so long after they were given.
            Results get a column ``revision``: 0, then 1, 2, ... for corrected answers; sinks replace the answer of the
            same key and window.
        harm_horizon: how long after its pane was sealed a late record is still judged: would it have changed an answer?
            By default ten windows if there is a ``late`` sink or a policy that wants to know, else not at all.
        processing: ``"out_of_order"``, or ``"in_order"`` to buffer records until their pane is sealed, as a comparison.
        emit: ``"full"``, every window's whole answer; or ``"changes"``, rows with ``change`` +1 or -1 that turn the
            previous window's answer of the key into this one: far fewer rows where windows overlap.
        slide: how windows slide: ``"auto"``, ``"critical"``, ``"tiles"`` or ``"recompute"``; the answers are the same.
        degree: the most window-stage tasks (default: Spark's default parallelism).
        inline_rows: a window stage with no more rows than this runs in the driver.
        splitting: who makes the partials; the answers are the same. ``"combine"``: each task of what it has read, and
            nothing but partials is sent. The papers' strategies send records: ``"pane_rr"``, ``"tuple_rr"``,
            ``"adaptive"`` and ``"adaptive_pid"``.
        pane_degree: the tasks of the pane stage (default: Spark's default parallelism); with ``"combine"`` at most so
            many, and source partitions beyond that share a task.
        window_scheduling: ``"ranges"``, one task for each worker, all with about as many rows; ``"feedback"``, smaller
            tasks, of which a free worker takes the next; ``"round_robin"``, tasks that do not depend on the load.
        """
        parse_duration_us(trigger, "trigger", zero_ok=True)
        if degree is not None and degree < 1:
            raise OptionError(f"degree={degree} must be 1 or more.")
        if inline_rows < 0:
            raise OptionError(f"inline_rows={inline_rows} must be 0 or more.")
        check_splitting(splitting, pane_degree)
        slots = int(self.source.df.sparkSession.sparkContext.defaultParallelism)
        options = LaunchOptions(
            checkpoint=checkpoint,
            sink=as_sink(sink, "sink"),
            late=None if late is None else as_sink(late, "late"),
            quarantine=None if quarantine is None else as_sink(quarantine, "quarantine"),
            trigger=None if available_now else trigger,
            flush=flush,
            idle_timeout_us=None if idle_timeout is None else parse_duration_us(idle_timeout, "idle_timeout"),
            punctuator=Punctuator(
                self.policy, FutureGuard(self._max_future_us(max_future), future_support), self._sources()
            ),
            settings=Settings(
                Degrees(pane_degree, degree or slots),
                inline_rows,
                slots,
                None if splitting == "combine" else splitting,
                parse_window_scheduling(window_scheduling),
            ),
            name=name,
        )
        definition = Definition(
            self.question,
            self.spec,
            self.source.time,
            self.source.keys,
            emit=emission(emit),
            sliding=slide,
            partition=self.source.partition,
            allowed_lateness_us=parse_duration_us(allowed_lateness, "allowed_lateness", zero_ok=True),
            harm_horizon_us=self._harm_horizon_us(harm_horizon, wanted=late is not None or self.policy.needs_harm),
            processing=processing,
        )
        check_slide(definition)
        check_lateness(definition)
        return launch(self.source.df, definition, options)

    def _sources(self) -> SourcePartitions | None:
        if self.source.partition is None:
            return None
        return self.sources or SourcePartitions(self.source.partition)

    def _harm_horizon_us(self, horizon: Duration | None, *, wanted: bool) -> int:
        if horizon == "auto":
            return _HORIZON_WINDOWS * max(self.spec.size_us, self.spec.slide_us) if wanted else 0
        if horizon is None and self.policy.needs_harm:
            raise OptionError(
                f"{type(self.policy).__name__} has to judge late records: harm_horizon=None is not enough."
            )
        return 0 if horizon is None else parse_duration_us(horizon, "harm_horizon", zero_ok=True)

    def _max_future_us(self, max_future: Duration | None) -> int | None:
        if max_future == "auto":
            return max(_MIN_FUTURE_US, _FUTURE_WINDOWS * max(self.spec.size_us, self.spec.slide_us))
        return None if max_future is None else parse_duration_us(max_future, "max_future")
