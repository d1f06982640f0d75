"""A stream, continuously: ``sp.stream(df, time=...).window(...).skyline(...).start(...)``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Literal

from skypane.api.by_name import as_policy
from skypane.api.checked import checked, named
from skypane.api.launch_options import launch_options
from skypane.api.named_options import names_options, refuse_unknown
from skypane.api.parallelism import Parallelism
from skypane.api.run_options import RunOptions
from skypane.api.waiting import Waiting
from skypane.flow.definition import Definition
from skypane.flow.windows.emit.base import Emission
from skypane.lateness.partitions import Across
from skypane.lateness.policy import Lateness
from skypane.model.ddl import SchemaLike
from skypane.model.durations import Duration
from skypane.model.errors import OptionError
from skypane.model.live import LiveSpec
from skypane.model.panes import Panes
from skypane.model.row_windows import RowWindows
from skypane.model.windows import WindowSpec
from skypane.patterns.base import Pattern
from skypane.queries.aggregates import Aggregates
from skypane.queries.apply import Apply
from skypane.queries.base import Query
from skypane.queries.fold import Fold
from skypane.queries.folded import fold_query
from skypane.queries.preferences import Preferences
from skypane.queries.skyline import Skyline
from skypane.queries.top_delta import TopDelta
from skypane.queries.top_k import TopK
from skypane.scheduling.elastic import Elastic
from skypane.scheduling.pane_strategies import StrategyFactory
from skypane.spark.executors.choice import explain_executors, slots_of
from skypane.spark.explain import explain, explain_plan
from skypane.spark.launch import check_start, launch, most_tasks
from skypane.spark.options import LaunchOptions
from skypane.spark.query import RunningQuery
from skypane.spark.schemas import checked_schema
from skypane.spark.session import is_embedded
from skypane.spark.sinks.custom import UnsaidSink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from skypane.api.run_options import SinkLike


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
    if partition is not None and not isinstance(partition, str):
        raise OptionError(f"partition={partition!r} must be the name of a column.")
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

    def window_rows(self, size: int, slide: int | None = None, *, ttl: Duration | None = None) -> Windowed:
        """Windows of ``size`` records of a key that start every ``slide`` records, in the order of their times.

        No slide: tumbling windows. A slide larger than the size: hopping windows, with records between them.

        ttl: a key that has had no record for so long, by the records' own times, is forgotten: its open windows are
            told, marked partial, and its next record is the first again. By default keys are never forgotten.
        """
        return Windowed(self, RowWindows.parse(size, slide, ttl))

    def live(self, life: Duration, slide: Duration | None = None) -> Windowed:
        """No windows: the answer at every instant, from the records of the last ``life``, told as it changes.

        Skylines and top-k can be followed like this, with ``emit="updates"`` or ``emit="intervals"``.
        """
        if slide is not None:
            raise OptionError("live(...) follows every instant: there is no slide. Leave slide= out, or use .window().")
        return Windowed(self, LiveSpec.parse(life))


@dataclass(frozen=True)
class Windowed:
    """Records and windows; say next what to ask of each window."""

    source: Stream
    spec: Panes

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

    def aggregate(self, /, **outputs: str) -> ContinuousQuery:
        """Aggregates of each window, e.g. ``n="count", p="mean(price)"``; the argument is any Spark SQL expression.

        Functions have the names of Spark SQL: docs/aggregates.md.
        """
        return self.query(Aggregates.of(outputs, self.source.time))

    def apply(self, function: Callable[..., Any], schema: SchemaLike) -> ContinuousQuery:
        """The rows that a function of yours returns for each window.

        function: ``fn(records)``, ``fn(key, records)`` or ``fn(key, window, records)``, as in Spark's
            ``applyInPandas``: parameters without a default count. ``records`` are those of one key and window in the
            order of their time, as an Arrow table, or as the annotation says: ``pa.Table``, ``dict`` (NumPy arrays by
            column), ``pd.DataFrame``. ``key`` is a tuple, ``window`` an :class:`~skypane.model.window.Window`. It
            returns a table, a DataFrame, a dict of columns, a dict of plain values (one row) or a list of dicts.
        schema: the columns that it returns: text such as ``"median double, n long"``, or a schema of Arrow or Spark.
        """
        return self.query(Apply.of(function, checked_schema(schema, "schema")))

    def fold(
        self,
        init: Any,
        update: Callable[[Any, Any], Any] | None = None,
        merge: Callable[[Any, Any], Any] | None = None,
        finish: Callable[..., Any] | None = None,
        *,
        schema: SchemaLike | None = None,
        state: SchemaLike | None = None,
        combine: str | Iterable[str] = (),
        inverse: Callable[[Any, Any], Any] | None = None,
    ) -> ContinuousQuery:
        """An incremental function of yours over each window, see :class:`~skypane.queries.fold.Fold`.

        ``init`` alone may also be an ``sp.Fold``, or a class that has its parts.
        """
        if update is None:
            fold = Fold.of(init, "init")
        else:
            fold = Fold(init, update, merge, finish, schema, state, combine, inverse)
        checked_schema(fold.returns, "schema")
        return self.query(fold_query(fold))

    def query(self, query: Query) -> ContinuousQuery:
        """Any :class:`~skypane.queries.base.Query`, your own included."""
        return ContinuousQuery(self.source, self.spec, query)


@dataclass(frozen=True)
class ContinuousQuery:
    """A complete question; say how long to wait for late records and who does the work, then start.

    ``lateness`` and ``parallel`` can be called in any order and more than once; each call replaces what it names.
    """

    source: Stream
    spec: Panes
    question: Query
    waiting: Waiting = field(default_factory=Waiting)
    parallelism: Parallelism = field(default_factory=Parallelism)

    @names_options
    def lateness(
        self,
        policy: Lateness | str | EllipsisType = ...,
        *,
        across: Across | EllipsisType = ...,
        max_lag: Duration | EllipsisType | None = ...,
        partition_timeout: Duration | EllipsisType = ...,
        allowed: Duration | EllipsisType = ...,
        max_future: Duration | EllipsisType | None = ...,
        future_support: int | EllipsisType = ...,
        clock_tolerance: Duration | EllipsisType = ...,
        harm_horizon: Duration | EllipsisType | None = ...,
    ) -> ContinuousQuery:
        """How long to wait for late records; what is left out stays as it was.

        policy: ``sp.KSlack()`` (the default), ``sp.FixedDelay("5 s")``, ``sp.DropRatio(0.01)``, ``sp.Harm(0.001)``.
        across, max_lag, partition_timeout: for streams with ``partition=``. ``"min"`` waits for the slowest, up to
            ``max_lag``, and not for one that has sent nothing for ``partition_timeout``; ``"max"`` follows the newest.
        allowed: so long after its answers were given a late record still corrects them. Results get a column
            ``revision``: 0, then 1, 2, ...; sinks replace the answer of the same key and window.
        max_future, future_support: a record further ahead of the stream (an hour or ten windows), of which there are
            fewer than ``future_support`` (5), is held until later records tell; ``None`` believes every time.
        clock_tolerance: a record further ahead of the clock than this (1 second) is held until the clock reaches it.
        harm_horizon: how long after its pane was sealed a late record is judged: would it have changed an answer? By
            default ten windows if there is a ``late`` sink or a policy that wants to know, else not at all.
        """
        if self.source.partition is None and (across == "max" or max_lag not in (..., None)):
            raise OptionError("across= and max_lag= are for streams with partitions: sp.stream(..., partition='name').")
        given = named(
            policy=policy if isinstance(policy, EllipsisType) else as_policy(policy),
            across=across,
            max_lag=max_lag,
            partition_timeout=partition_timeout,
            allowed=allowed,
            max_future=max_future,
            future_support=future_support,
            clock_tolerance=clock_tolerance,
            harm_horizon=harm_horizon,
        )
        return replace(self, waiting=replace(self.waiting, **given))

    @names_options
    def parallel(
        self,
        *,
        pattern: Pattern | str | EllipsisType = ...,
        max_latency: Duration | EllipsisType | None = ...,
        splitting: str | StrategyFactory | EllipsisType = ...,
        elastic: Elastic | bool | EllipsisType = ...,
        pane_degree: int | EllipsisType | None = ...,
        degree: int | EllipsisType | None = ...,
        window_scheduling: str | EllipsisType = ...,
        partitioning: str | EllipsisType = ...,
        cut_rows: int | EllipsisType = ...,
        ownership: str | EllipsisType = ...,
        inline_rows: int | EllipsisType = ...,
        sliding: str | EllipsisType = ...,
        processing: str | EllipsisType = ...,
    ) -> ContinuousQuery:
        """Who does which work, and how; none of it changes an answer. What is left out stays as it was.

        pattern: a tree such as ``sp.WinFarm(sp.PaneFarm(2, 3), 10)``, which says all that the options down to
            ``inline_rows`` say, see docs/patterns.md; ``"auto"`` (the default): they do, or steps are planned.
        max_latency: how long answers may take, e.g. ``"500 ms"``: decides when to take a step, instead of ``trigger``.
        splitting: who makes the partials. ``"combine"`` (the default): of what a task has read. Others send records:
            ``"pane_rr"``, ``"tuple_rr"``, ``"adaptive"``, ``"adaptive_pid"`` or your own ``sp.PaneStrategy``.
        pane_degree, degree: the most tasks of the pane stage, and of the window stage (default: as many as Spark runs).
        elastic: ``True`` or ``sp.Elastic(...)``: degrees, and on a cluster executors, follow the load.
        window_scheduling: ``"ranges"`` (the default), a task for each worker, all with about as many rows;
            ``"feedback"``, smaller ones, of which a free worker takes the next; ``"round_robin"``, whatever the load.
        partitioning, ownership, cut_rows: how tasks share the windows of a key with too many rows for one, ``"batch"``
            (the default), ``"window"`` or ``"pane"``, or the join of its rows, ``"rr"`` (the default) or ``"llw+"``,
            and from how many rows on (2,000,000), see docs/one-key.md.
        inline_rows: a window stage with no more rows than this (100,000) runs in the driver.
        sliding: how windows slide: ``"auto"`` (the default), ``"critical"``, ``"tiles"`` or ``"recompute"``.
        processing: ``"out_of_order"`` (the default), or, to compare, ``"in_order"``: buffer records until sealed.
        """
        options = {name: value for name, value in locals().items() if name != "self"}
        given = named(**options)
        return replace(self, parallelism=replace(self.parallelism, **given))

    @names_options
    def start(
        self,
        *,
        sink: SinkLike,
        checkpoint: str | os.PathLike[str] | None = None,
        late: SinkLike | None = None,
        quarantine: SinkLike | None = None,
        failed: SinkLike | None = None,
        trigger: str = "500 milliseconds",
        available_now: bool = False,
        flush: bool | Literal["auto"] = "auto",
        idle_timeout: Duration | None = "1 minute",
        emit: str | Emission | None = None,
        expiries: bool = True,
        name: str | None = None,
        accept_changed_code: bool = False,
    ) -> RunningQuery:
        """Start the query.

        sink, late, quarantine: where results, late records and unusable records go: ``sp.ParquetSink(path)``,
            ``sp.MemorySink(name)``, ``sp.ConsoleSink()``, ``sp.FormatSink(format, ...)`` or a function of
            (DataFrame, batch_id). Late and quarantined records are counted in any case.
        failed: where windows go on which a function of ``apply`` or ``fold`` fails, with the function, the error and
            the number of records; without it such an error ends the query, and nothing of its step is committed.
        checkpoint: a folder from which the query restarts exactly where it was; without one it cannot be restarted.
        trigger: how often to take a step. ``available_now=True``: process everything the source has, and end.
        flush: at the end of ``available_now``, which windows to close and emit. ``"auto"``: those that have ended by
            the clock, less the slack, so all of a backfill, and not the hour that is still running. ``True``: all;
            records that come for them in a later run are late. ``False``: none; the next run continues with them.
            Without a checkpoint there is no next run, and ``"auto"`` closes all.
        idle_timeout: when no record has come for so long, emit the windows that would have ended by now, had the
            stream gone on; ``None`` waits for ever.
        emit: ``"full"``, every window's whole answer; or ``"changes"``, rows with ``change`` +1 or -1 that turn the
            previous window's answer of the key into this one: far fewer rows where windows overlap. With ``live``:
            ``"updates"`` (the default), rows with ``change`` +1 or -1, ``at`` which instant and by which ``cause``; or
            ``"intervals"``, a row with ``valid_from`` and ``valid_to`` for each record when it has left.
        expiries: with updates, ``False`` leaves out those of records that merely expire: ``expires`` has said when.
        name: what Spark calls the query.
        accept_changed_code: continue from the checkpoint although functions of ``apply`` or ``fold`` have changed.
        """
        sinks = (sink, checkpoint, late, quarantine, failed)
        ends = (trigger, available_now, flush, idle_timeout)
        run = RunOptions(*sinks, *ends, emit, expiries, name, accept_changed_code)
        return launch(self.source.df, *self.plan(run, slots_of(self.source.df.sparkSession)))

    def explain(self, **options: Any) -> str:
        """What :meth:`start` would do with these options, in words; nothing is started."""
        refuse_unknown("start", options, RunOptions.__dataclass_fields__)
        return self.check(RunOptions(**{"sink": UnsaidSink(), **options}))

    def check(self, run: RunOptions) -> str:
        """What :meth:`start` would do, or what it would raise about records and checkpoint; nothing starts."""
        spark = self.source.df.sparkSession
        definition, options = self.plan(run, slots_of(spark))
        checked, condenses = check_start(self.source.df, definition, options)
        planner = options.settings.planner(checked, embedded=is_embedded(spark))
        plan = [] if planner is None else planner.explain(None)
        most = most_tasks(spark, options)
        stages = explain(checked, options, explain_executors(spark), most, condenses=condenses)
        return "\n".join([stages, *explain_plan(plan)])

    def plan(self, run: RunOptions, slots: int) -> tuple[Definition, LaunchOptions]:
        """What the launch gets: everything is checked that can be checked without looking at the records."""
        definition = Definition(
            self.question,
            self.spec,
            self.source.time,
            self.source.keys,
            emit=run.emission(self.spec),
            sliding=self.parallelism.sliding,
            partition=self.source.partition,
            allowed_lateness_us=self.waiting.allowed_us,
            harm_horizon_us=self.waiting.harm_horizon_us(self.spec, asked=run.late is not None),
            processing=self.parallelism.processing,
            sets_aside=run.failed is not None,
        )
        definition = checked(definition, self.parallelism, run)
        punctuator = self.waiting.punctuator(self.spec, self.source.partition)
        return definition, launch_options(run, punctuator, self.parallelism.settings(slots))
