"""ContinuousQuery: a complete question, with how long to wait, how to share the work and what to send."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from skypane.api.by_name import as_policy
from skypane.api.launch_options import launch_options
from skypane.api.options.declarations import option_at
from skypane.api.options.lateness_options import LatenessOptions
from skypane.api.options.parallel_options import ParallelOptions
from skypane.api.options.refusal import refuse_unknown, refuses_unknown
from skypane.api.options.run_options import RunOptions
from skypane.api.options.time_guard import TimeGuard
from skypane.api.options.tuning import Tuning
from skypane.api.validation import validated
from skypane.flow.definition import Definition
from skypane.flow.windows.emit.base import Emission
from skypane.flow.windows.emit.names import emission
from skypane.lateness.policies.kslack import KSlack
from skypane.lateness.policy import Lateness
from skypane.model.durations import Duration
from skypane.model.panes import Panes
from skypane.queries.base import Query
from skypane.spark.checks import check_start, max_tasks
from skypane.spark.executors.choice import explain_executors, slots_of
from skypane.spark.explain import explain, explain_plan
from skypane.spark.launch import launch
from skypane.spark.options import LaunchOptions
from skypane.spark.query import RunningQuery
from skypane.spark.session import is_embedded
from skypane.spark.sinks.not_chosen import SinkNotChosen
from skypane.spark_habits import SparkHabits
from skypane.tuning.elastic.elastic import Elastic
from skypane.tuning.patterns.base import Pattern

if TYPE_CHECKING:
    from skypane.api.options.run_options import SinkLike
    from skypane.api.stream import Stream


@dataclass(frozen=True)
class ContinuousQuery(SparkHabits):
    """A complete question. ``lateness``, ``parallel`` and ``emit`` are optional; then ``start`` it.

    The steps can be called in any order. A second call of a step replaces the first: what it leaves out is at its
    default again.
    """

    source: Stream
    spec: Panes
    question: Query
    lateness_options: LatenessOptions = LatenessOptions()
    parallel_options: ParallelOptions = ParallelOptions()
    emission: Emission | None = None
    """What is sent of answers; ``None``: what goes with the windows."""

    @refuses_unknown
    def lateness(
        self,
        policy: Lateness | Duration = KSlack(),
        *,
        allowed: Duration = "0 seconds",
        harm_horizon: Duration | None = "auto",
        guard: TimeGuard = TimeGuard(),
    ) -> ContinuousQuery:
        """How long to wait for late records. A second call replaces the first.

        policy: ``sp.KSlack()``, ``sp.FixedDelay("5 s")`` or just ``"5 s"``, ``sp.DropRatio(0.01)`` or
            ``sp.Harm(0.001)``.
        allowed: so long after its answers were given a late record still corrects them. Results get a column
            ``revision``: 0, then 1, 2, ...; sinks replace the answer of the same key and window.
        harm_horizon: how long after its pane was sealed a late record is judged: would it have changed an answer?
            ``"auto"``: ten windows if there is a ``late`` sink or the policy needs it, else not at all.
        guard: ``sp.TimeGuard(...)``: which record times to believe.
        """
        return replace(
            self,
            lateness_options=LatenessOptions(
                policy=as_policy(policy), allowed=allowed, harm_horizon=harm_horizon, guard=guard
            ),
        )

    @refuses_unknown
    def parallel(
        self,
        *,
        degree: int | None = None,
        elastic: Elastic | bool = False,
        max_latency: Duration | None = None,
        pattern: Pattern | str = "auto",
        tuning: Tuning = Tuning(),
    ) -> ContinuousQuery:
        """How tasks share the work; for given batches no answer changes. A second call replaces the first.

        degree: the most tasks of the window stage; ``None``: as many as Spark runs.
        elastic: ``True`` or ``sp.Elastic(...)``: degrees, and on a cluster executors, follow the load.
        max_latency: how long answers may take, e.g. ``"500 ms"``: decides when to take a step, instead of ``trigger``.
        pattern: a tree such as ``sp.WinFarm(sp.PaneFarm(2, 3), 10)``, in place of ``degree``, ``elastic`` and most of
            ``tuning``, see docs/patterns.md. ``"auto"``: as the other options say, or planned step by step.
        tuning: ``sp.Tuning(...)``: what there is to compare and to experiment with.
        """
        return replace(self, parallel_options=ParallelOptions(degree, elastic, max_latency, pattern, tuning))

    @refuses_unknown
    def emit(self, what: str | Emission, *, expiries: bool = True) -> ContinuousQuery:
        """What to send of the answers. A second call replaces the first.

        what: ``"full"`` (the default), every window's whole answer; or ``"changes"``, rows with ``change`` +1 or -1
            that turn the previous window's answer of the key into this one: far fewer rows where windows overlap.
            With ``live``: ``"updates"`` (the default), rows with ``change`` +1 or -1, ``at`` which instant and by which
            ``cause``; or ``"intervals"``, a row with ``valid_from`` and ``valid_to`` for each record when it has left.
            Or your own ``sp.extend.Emission``.
        expiries: with updates, ``False`` leaves out records that leave because they expire: the column ``expires``
            has announced that.
        """
        option_at("query.emit").check(what)
        option_at("query.expiries").check(expiries)
        chosen = emission(what)
        return replace(self, emission=chosen if expiries else chosen.without_expiries())

    @refuses_unknown
    def start(
        self,
        *,
        sink: SinkLike,
        checkpoint: str | os.PathLike[str] | None = None,
        late: SinkLike | None = None,
        quarantine: SinkLike | None = None,
        failed: SinkLike | None = None,
        duplicates: SinkLike | None = None,
        trigger: str = "500 milliseconds",
        available_now: bool = False,
        flush: bool | Literal["auto"] = "auto",
        idle_timeout: Duration | None = "1 minute",
        name: str | None = None,
        accept_changed_code: bool = False,
    ) -> RunningQuery:
        """Start the query.

        sink, late, quarantine: where results, late records and unusable records go: ``sp.ParquetSink(path)``,
            ``sp.MemorySink(name)``, ``sp.ConsoleSink()``, ``sp.FormatSink(format, ...)`` or a function of
            (DataFrame, step). Late and quarantined records are counted in any case.
        failed: where windows go on which a function of ``apply`` or ``fold`` fails, with the function, the error and
            the number of records; without it such an error ends the query, and nothing of its step is committed.
        duplicates: where records go whose id was accepted before, with ``sp.stream(..., distinct_by=...)``; they are
            counted in any case.
        checkpoint: a folder from which the query restarts exactly where it was; without one it cannot be restarted.
        trigger: how often to take a step. ``available_now=True``: process everything the source has, and end.
        flush: at the end of ``available_now``, which windows to close and emit. ``"auto"``: those that have ended by
            the clock, less the slack, so all of a backfill, and not the hour that is still running. ``True``: all;
            records that come for them in a later run are late. ``False``: none; the next run continues with them.
            Without a checkpoint there is no next run, and ``"auto"`` closes all.
        idle_timeout: when no record has come for so long, emit the windows that would have ended by now, had the
            stream gone on; ``None`` waits for ever.
        name: what Spark calls the query.
        accept_changed_code: continue from the checkpoint although functions of ``apply`` or ``fold`` have changed.
        """
        run = RunOptions(
            sink=sink,
            checkpoint=checkpoint,
            late=late,
            quarantine=quarantine,
            failed=failed,
            duplicates=duplicates,
            trigger=trigger,
            available_now=available_now,
            flush=flush,
            idle_timeout=idle_timeout,
            name=name,
            accept_changed_code=accept_changed_code,
        )
        return launch(self.source.df, *self.plan(run, slots_of(self.source.df.sparkSession)))

    def explain(self, **options: Any) -> str:
        """What :meth:`start` would do with these options, in words; nothing is started."""
        refuse_unknown("start", options, RunOptions.__dataclass_fields__)
        return self.check(RunOptions(**{"sink": SinkNotChosen(), **options}))

    def check(self, run: RunOptions) -> str:
        """What :meth:`start` would do, or what it would raise about records and checkpoint; nothing starts."""
        spark = self.source.df.sparkSession
        definition, options = self.plan(run, slots_of(spark))
        checked, condenses = check_start(self.source.df, definition, options)
        max_degree = max_tasks(spark, options)
        tuner = options.parallel.tuner(checked, slots=options.slots, embedded=is_embedded(spark), max_degree=max_degree)
        plan = [] if tuner.planner is None else tuner.planner.explain(None)
        stages = explain(checked, options, explain_executors(spark), max_degree, condenses=condenses)
        return "\n".join([stages, *explain_plan(plan)])

    def plan(self, run: RunOptions, slots: int) -> tuple[Definition, LaunchOptions]:
        """What the launch gets: everything is checked that can be checked without looking at the records."""
        waiting, tuning, partition = self.lateness_options, self.parallel_options.tuning, self.source.partition
        definition = Definition(
            self.question,
            self.spec,
            self.source.time,
            self.source.keys,
            emit=emission(self.spec.default_emit) if self.emission is None else self.emission,
            sliding=tuning.sliding,
            partition=None if partition is None else partition.column,
            allowed_lateness_us=waiting.allowed_us,
            harm_horizon_us=waiting.harm_horizon_us(self.spec, has_late_sink=run.late is not None),
            processing=tuning.processing,
            sets_aside=run.failed is not None,
            distinct=self.source.distinct,
        )
        definition = validated(definition, self.parallel_options, run)
        punctuator = waiting.punctuator(self.spec, partition)
        return definition, launch_options(run, punctuator, self.parallel_options.plan(), slots)
