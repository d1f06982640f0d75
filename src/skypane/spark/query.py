"""RunningQuery: a continuous query at work - wait for it, look at it, stop it."""

from __future__ import annotations

import shutil
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from skypane.model.durations import Duration
from skypane.model.ending import Ending
from skypane.model.errors import SkypaneError
from skypane.spark.backlog import backlog_us
from skypane.spark.driver import StepDriver
from skypane.spark.ending import TAKEN_FOR_A_STOP, ran_to_the_end, session_ended, wait_until_stopped
from skypane.spark.explain import explain_plan
from skypane.spark.failures import readable, spark_failure
from skypane.spark.idleness import Idleness, SparkLook
from skypane.spark.metrics import Metrics
from skypane.spark.store.checkpoint import Checkpoint
from skypane.spark.waiting import timeout_s
from skypane.spark_habits import SparkHabits
from skypane.tuning.pace import Pace
from skypane.tuning.planner.planner import Planning

_POLL_S = 0.05
_LOOK_S = 1.0


class _StopRequestedError(Exception):
    """Ends the Spark query at a batch boundary; never reaches the user."""


class RunningQuery(SparkHabits):
    """The handle that ``start`` returns."""

    def __init__(self, run: QueryRun, explanation: str) -> None:
        self._run = run
        self._explanation = explanation

    def await_termination(self, timeout: float | Duration | None = None) -> bool:
        """Wait until the query ends (True) or the ``timeout`` has passed (False); raise what made the query fail.

        timeout: a number of seconds, or a duration such as ``"5 minutes"``; ``None`` waits without an end.

        Ctrl-C ends the wait, not the query: ``KeyboardInterrupt`` is raised here, while the step under way goes on.
        Call :meth:`stop` to end the query as well.
        """
        seconds = timeout_s(timeout)
        if self._run.is_own_thread():
            raise SkypaneError(
                "await_termination() was called by the query's own sink: it would wait for itself. Call it where the "
                "query was started; a sink may call stop()."
            )
        with _interruptible():
            ended = self._run.ended.wait(seconds)
        if ended and (error := self.exception()) is not None:
            raise error
        return ended

    def stop(self) -> None:
        """Stop after the step that is under way; open windows stay in the checkpoint for the next run.

        Called by a sink, that is in the middle of a step, it returns at once, and the query ends after the step.
        """
        self._run.stopping.set()
        if not self._run.is_own_thread():
            self._run.ended.wait()

    def metrics(self) -> Metrics:
        """Totals since the checkpoint began, and the last step."""
        return self._run.metrics()

    def explain(self) -> str:
        """What the query does, stage by stage, and how it shares the work now."""
        planning = self.planning()
        plan = [] if planning is None else planning.planner.explain(planning.model)
        pace = self._run.pace
        return "\n".join(
            [self._explanation, *explain_plan(plan), *([] if pace is None else [f"latency       {pace.explain()}"])]
        )

    def __repr__(self) -> str:
        metrics, failed = self.metrics(), self.exception() is not None
        how = "failed" if failed else "active" if self.is_active else "ended"
        counts = f"{metrics.steps} steps, {metrics.delivered:,} records, {metrics.windows:,} answers"
        return f"<RunningQuery {how}: {counts}>"

    def planning(self) -> Planning | None:
        """The planner and its cost model; ``None`` if options fix how tasks share the work."""
        return self._run.planning()

    def exception(self) -> BaseException | None:
        """What made the query fail, if it did."""
        return self._run.failure

    @property
    def is_active(self) -> bool:
        """Whether the query is still running."""
        return not self._run.ended.is_set()

    @property
    def is_working(self) -> bool:
        """Whether Spark has found records and is busy with them."""
        return self._run.is_working


class Waited(NamedTuple):
    """When the last step began, and until when the query waited after it: seconds of a clock that goes forward."""

    began: float
    until: float


class QueryRun:
    """What goes on behind the handle: takes Spark's batches, notices an idle stream, a wish to stop, the end."""

    def __init__(
        self,
        driver: StepDriver,
        checkpoint: Checkpoint,
        *,
        ending: Ending | None,
        idle: Idleness,
        temporary: Path | None,
        pace: Pace | None = None,
        all_waits_us: float | None = None,
    ) -> None:
        self._driver = driver
        self._all_waits_us = all_waits_us
        self._checkpoint = checkpoint
        self._ending = ending
        self._idle = idle
        self._temporary = temporary
        self.pace = pace
        self._waited: Waited | None = None
        self._spark_query: StreamingQuery | None = None
        self._lock = threading.RLock()
        self._thread_of_step: int | None = None
        self._next_look = 0.0
        self._is_orphan = False
        """Whether the session of the query was stopped under it."""
        self._refusing = threading.Event()
        self.stopping = threading.Event()
        self.ended = threading.Event()
        self.failure: BaseException | None = None
        self._watcher = threading.Thread(target=self._watch, name="skypane-watch", daemon=True)

    def metrics(self) -> Metrics:
        """Totals since the checkpoint began, and the last step."""
        manifest, recent = self._driver.manifest, self._driver.log.recent()
        last = recent[-1] if recent else None
        totals = manifest.state.totals
        return Metrics(
            ledger=manifest.state.ledger,
            judged=totals.judged,
            windows=totals.windows,
            steps=manifest.step,
            last=last,
            recent=recent,
            failed=totals.failures,
        )

    def planning(self) -> Planning | None:
        """Who plans the next step, and what is known for it."""
        return self._driver.planning()

    def is_own_thread(self) -> bool:
        """Whether the caller is in the middle of a step, which cannot end before the caller goes on."""
        return threading.get_ident() in {self._thread_of_step, self._watcher.ident}

    @property
    def is_working(self) -> bool:
        """Whether Spark has found records and is busy with them."""
        return (
            self._spark_query is not None
            and not self.ended.is_set()
            and bool(self._spark_query.status["isDataAvailable"])
        )

    def begin(self, spark_query: StreamingQuery) -> None:
        """Called once Spark has started the query."""
        self._spark_query = spark_query
        self._driver.backlog_us = lambda: self._backlog_us(spark_query)
        self._watcher.start()

    def _backlog_us(self, spark_query: StreamingQuery) -> float | None:
        """How long the backlog would take; ``None`` if it is unknown."""
        reported_us = backlog_us(spark_query.lastProgress)
        return self._all_waits_us if reported_us is None else reported_us

    def on_batch(self, df: DataFrame, batch_id: int) -> None:
        """Called by Spark for every batch."""
        began = time.monotonic()
        # Never while the lock is held: the thread that stops Spark holds it, and waits for this one to end.
        if self.stopping.is_set() or not self._step(df, batch_id):
            self._refuse()
        if self.pace is not None:
            last = self.metrics().last
            self._gather(self.pace, began, 0 if last is None else last.records)

    def _step(self, df: DataFrame, batch_id: int) -> bool:
        """Take a step, unless a stop was requested while this thread waited for the lock."""
        with self._lock:
            if self.stopping.is_set():
                return False
            self._thread_of_step = threading.get_ident()
            try:
                self._driver.batch(df, batch_id)
            except Exception as error:
                self.failure = readable(error)
                raise
            except BaseException as error:
                # An exit or an interrupt of a sink would end this thread only, and Spark would wait for ever.
                self.failure = error
                raise RuntimeError(f"The step was ended by {error!r}.") from error
            finally:
                self._thread_of_step = None
            if (last := self.metrics().last) is not None and last.records:
                self._idle.anew()
        return True

    def _gather(self, pace: Pace, began: float, records: int) -> None:
        """Wait before the next batch is cut; Spark cuts it as soon as this thread is back. A wish to stop ends it."""
        before, now = self._waited, time.monotonic()
        if before is not None:
            pace.between((began - before.until) * 1e6)
        pace.stepped(records, (now - began) * 1e6, None if before is None else (began - before.began) * 1e6)
        self.stopping.wait(min(pace.gather_us / 1e6, threading.TIMEOUT_MAX))
        self._waited = Waited(began, time.monotonic())

    def _refuse(self) -> None:
        """A batch that is not to be processed must not return, or Spark would commit it: it ends the Spark query."""
        self._refusing.set()
        if self._spark_query is not None:
            wait_until_stopped(self._spark_query)
        raise _StopRequestedError(TAKEN_FOR_A_STOP)

    def _watch(self) -> None:
        """Notice the end of the query, an idle stream, a wish to stop."""
        query = self._spark_query
        assert query is not None
        try:
            look = SparkLook(query)
            while query.isActive and not self._session_ended(query):
                if self.stopping.is_set() and (self._refusing.is_set() or not query.status["isTriggerActive"]):
                    # Between two batches, or before one that waits for this: Spark has no step to interrupt.
                    with self._lock:
                        query.stop()
                    break
                self._close_if_idle(look)
                time.sleep(_POLL_S)
            if self._is_orphan:
                query.stop()  # or Spark goes on to wait for the next trigger, without a session
            self._conclude(query)
        except BaseException as error:  # noqa: BLE001 - whatever it is, the waiting user must learn of it
            self.failure = self.failure or readable(error)
            with suppress(Exception):  # the session may be gone
                query.stop()
        finally:
            self._name_session_end(query)
            # Stopped through Spark, the query ends before the step that Spark has given up: no other may start yet.
            with self._lock:
                self._checkpoint.close()
            if self._temporary is not None:
                shutil.rmtree(self._temporary, ignore_errors=True)
            self.ended.set()

    def _session_ended(self, query: StreamingQuery) -> bool:
        """Whether the session is gone; to ask once in a while is enough."""
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look, self._is_orphan = now + _LOOK_S, session_ended(query)
        return self._is_orphan

    def _name_session_end(self, query: StreamingQuery) -> None:
        """A session that ends under a query makes Spark fail in many ways, none of which says so."""
        of_spark = self.failure is None or spark_failure(self.failure) is not None
        if of_spark and not self.stopping.is_set() and (self._is_orphan or session_ended(query)):
            again = "it has no checkpoint, so it starts over" if self._temporary else "it continues from its checkpoint"
            self.failure = SkypaneError(
                "The Spark session was stopped while the query was running. Start the query again in a new session: "
                f"{again}. To end a query, call its stop() before spark.stop()."
            )

    def _close_if_idle(self, look: SparkLook) -> None:
        if not self._idle.is_over(look):
            return
        with self._lock:
            # A batch may have come while this thread waited for the lock.
            if not self._idle.is_over(look):
                return
            if not self._checkpoint.pending_batch():
                self._driver.finish("idle", "idle")
                self._driver.scale(idle=True)
            self._idle.anew()

    def _conclude(self, query: StreamingQuery) -> None:
        error = query.exception()
        stopped = self.stopping.is_set() and (error is None or _StopRequestedError.__name__ in str(error))
        if stopped:
            return
        with self._lock:
            if error is not None:
                self.failure = self.failure or readable(error)
                return
            # Stopped through Spark: what that did to the step under way is no failure, and the next run repeats it.
            self.failure = None
            if self._ending is not None and ran_to_the_end(query):
                self._driver.finish("flush", self._ending)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C interrupt the caller only: PySpark's own handler would cancel the jobs of the step under way, too."""
    handler = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or not str(getattr(handler, "__module__", "")).startswith("pyspark."):
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
