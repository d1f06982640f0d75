"""ElasticDegrees: degrees that follow the load - how much work the stream brings against how much can be done.

The stages of a step take turns, so each may use every slot. What the stream needs is therefore measured for both
together: **cores needed** = work of all tasks over the time in which their records came. A stage's utilization is that
over its degree. It does not saturate: a step that takes longer takes more records with it, but the work for each second
of the stream stays what it is. Two corrections:

* of each period some time goes to planning, sinks and commits, whatever the degree: only the rest counts;
* what waits at the source is work, too: utilization grows by the share of a period that it would take. How long that
  is, is known at the speed of the slots that are there; what is on its way does not make it more.

Where a source does not say what waits, records' own times tell how much of the stream a step has covered: a step that
covers less of it than the clock has moved on falls behind.

Everything is a function of what was committed and of the step: a step that is repeated has the degrees that it had.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from skypane.tuning.elastic.degrees import Degrees
from skypane.tuning.elastic.elastic_state import ElasticState, StepLoad
from skypane.tuning.elastic.loops import Decided, InnerSample, Loops, LoopState

MAX_OVERHEAD: Final = 0.5
"""Of a period, at most so much is given up to what is not parallel work: more cannot be had back by more tasks."""
SLOWEST_STREAM: Final = 0.25
"""Records' times that move on more slowly than this share of the clock say little about the load."""
MAX_AT_ONCE: Final = 8
"""Of decisions, after a step that was so long."""

_LESS: Final = "limit what a step takes in by the source's own option."
_RAISE: Final = "there may be. Raise max_degree"
_MORE_CORES: Final = "Spark can run here. Give it more cores"
_ADVICE: Final = f"Executors are on their way; if they do not come, the cluster is full: give it more cores, or {_LESS}"


@dataclass(frozen=True)
class ElasticDegrees:
    """Two control loops around the steps: each step is a sample, degrees are decided once in a period."""

    loops: Loops
    spark_limits: bool = False
    """Whether Spark has slots for no more tasks than the most: a higher ``max_degree`` would change nothing."""

    @property
    def min_degree(self) -> int:
        """The fewest tasks of a stage."""
        return self.loops.damped.min_degree

    def choose(self, learned: ElasticState | None) -> Degrees:
        """What was decided, as far as the slots for it are there and warm; the fewest to begin with."""
        target = self.target(learned)
        most = None if learned is None else self._ready(learned)
        return target if most is None else Degrees(*(min(most, degree) for degree in target))

    def target(self, learned: ElasticState | None) -> Degrees:
        """What was decided, within the limits of now."""
        if learned is None:
            return Degrees(self.min_degree, self.min_degree)
        loop = self._allowed(learned.loop)
        return Degrees(loop.pane_degree, loop.window_degree)

    def learn(self, learned: ElasticState | None, load: StepLoad) -> ElasticState:
        """Take in one step; decide if a period is over."""
        if learned is None:
            loop = self.loops.start(self.min_degree, self.min_degree)
            return ElasticState(loop, load.cut_us, load.t_max_us, load.ready, backlog_us=load.backlog_us)
        after = replace(
            learned, cut_us=load.cut_us, t_max_us=load.t_max_us, ready=load.ready, backlog_us=load.backlog_us
        )
        clock_us = load.cut_us - learned.cut_us
        if clock_us <= 0 or load.first:  # the clock was set back, or nobody was there: nothing can be told
            return replace(after, sample=None, limit=None)
        sample = self.sample(learned, load, clock_us)
        loop, decided, decisions = self._decide(self._allowed(learned.loop), sample)
        after = replace(after, loop=loop, sample=sample, decided=decided or learned.decided)
        limit = _driver_is_full(after, load) or self._limit(after)
        return replace(after, decisions=learned.decisions + decisions, limit=limit)

    def _decide(self, loop: LoopState, sample: InnerSample) -> tuple[LoopState, Decided | None, int]:
        """Take in a sample: the degrees, the decision if there is one, and how many there were.

        No step can be interrupted, so a burst may make one that lasts for several periods. The decisions that it has
        kept from being made are made up for: what utilization would have been with the degrees that were decided
        follows from the work.
        """
        degrees = loop
        periods = int((loop.gathered.elapsed_us + sample.period_us) // self.loops.outer_us)
        loop, first = self.loops.sample(loop, sample)
        for _ in range(min(periods, MAX_AT_ONCE) - 1):
            loop, _ = self.loops.sample(loop, _with_degrees(sample, degrees, loop, self.loops.outer_us))
        return loop, first, min(periods, MAX_AT_ONCE)

    def sample(self, learned: ElasticState, load: StepLoad, clock_us: int) -> InnerSample:
        """Utilization of both stages, against the degrees that were decided: slots that are on their way count."""
        parallel_us = load.pane_work_us + (0 if load.window_in_driver else load.window_work_us)
        covered_us = self._covered_us(learned, load, clock_us)
        cores = parallel_us / (covered_us * self._free(load))
        lag_us = load.backlog_us or 0.0
        loop = self._allowed(learned.loop)
        # In the driver it has one worker. It is measured by the tasks that would do its work: by the one that it has,
        # it would want more of them without end. A step that closes no window has no such stage.
        in_driver = load.window_work_us / covered_us / loop.window_degree if _is_in_driver(load) else None
        ready = self._ready(learned)
        panes, windows = (
            (cores + lag_us / self.loops.outer_us * min(degree, ready or degree)) / degree
            for degree in (loop.pane_degree, loop.window_degree)
        )
        return InnerSample(
            period_us=float(max(clock_us, load.took_us)),
            rho_panes=panes,
            rho_windows=windows if in_driver is None else in_driver,
            panes=load.panes,
            shards=load.shards,
            pane_lag_us=lag_us,
            window_lag_us=lag_us,
        )

    def _ready(self, learned: ElasticState) -> int | None:
        """The most tasks for which there were slots; ``None`` if there are as many as tasks wait for."""
        return None if learned.ready is None else max(self.min_degree, learned.ready)

    def _limit(self, after: ElasticState) -> str | None:
        """What to do when all the tasks that there may be do not suffice."""
        too_much = self._waits(after) if after.backlog_us is not None else _falls_behind(after)
        wanted, most = max(after.loop.pane_degree, after.loop.window_degree), self.loops.damped.max_degree
        if too_much is None:
            return None
        if after.ready is not None and after.ready < wanted:
            return f"{too_much}, and of {wanted} tasks that are wanted Spark can run {after.ready} so far. {_ADVICE}"
        if most is not None and wanted >= most:
            more = _MORE_CORES if self.spark_limits else _RAISE
            return f"{too_much}, and there are {most} tasks, the most that {more}, or {_LESS}"
        return None

    def _waits(self, after: ElasticState) -> str | None:
        """Where the source says what waits: more than a period's work."""
        lag_us = after.backlog_us or 0.0
        return f"{lag_us / 1e6:.3g} s of work wait at the source" if lag_us > self.loops.outer_us else None

    def _allowed(self, loop: LoopState) -> LoopState:
        """A restart may have other limits."""
        clamped = self.loops.damped.clamped
        return replace(loop, pane_degree=clamped(loop.pane_degree), window_degree=clamped(loop.window_degree))

    def _covered_us(self, learned: ElasticState, load: StepLoad, clock_us: int) -> float:
        """Of how much time the batch has the records."""
        if load.backlog_us is not None or learned.t_max_us is None or load.t_max_us is None:
            return float(clock_us)
        return max(SLOWEST_STREAM * clock_us, min(float(clock_us), float(load.t_max_us - learned.t_max_us)))

    def _free(self, load: StepLoad) -> float:
        """The share of a period that is left for parallel work."""
        driver_us = load.window_work_us if load.window_in_driver else 0
        return 1.0 - min(MAX_OVERHEAD, (load.elsewhere_us + load.waited_us + driver_us) / self.loops.outer_us)


def _is_in_driver(load: StepLoad) -> bool:
    return load.window_in_driver and load.window_work_us > 0


def _driver_is_full(after: ElasticState, load: StepLoad) -> str | None:
    """A window stage in the driver that has more to do than one worker does, over the last period."""
    if after.decided is None or not _is_in_driver(load):
        return None
    rho = after.decided.seen.rho_windows * after.decided.seen.window_degree
    full = f"the window stage has {rho:.3g} times the work that it can do in the driver, where it runs with few rows"
    return f"{full}. Lower inline_rows, or {_LESS}" if rho > 1.0 else None


def _falls_behind(after: ElasticState) -> str | None:
    """Where it does not: more work than there is time for, over the last period, with the degrees of now."""
    if after.decided is None:
        return None
    seen, now = after.decided.seen, after.loop
    rho = max(
        seen.rho_panes * seen.pane_degree / now.pane_degree, seen.rho_windows * seen.window_degree / now.window_degree
    )
    return f"the stream brings {rho:.3g} times the work that can be done" if rho > 1.0 else None


def _with_degrees(sample: InnerSample, before: LoopState, after: LoopState, period_us: float) -> InnerSample:
    """What the same work would have been to other degrees, for so long."""
    panes, windows = sample.rho_panes, sample.rho_windows
    return replace(
        sample,
        period_us=period_us,
        rho_panes=None if panes is None else panes * before.pane_degree / after.pane_degree,
        rho_windows=None if windows is None else windows * before.window_degree / after.window_degree,
    )
