"""Reports: what a stage of a step saw and left behind - one type for a task and for all tasks together.

``R`` is how an engine refers to rows that go on to the next stage or to a sink, ``S`` how it refers to rows that are
kept for later steps: tables in process, files on Spark. A new counter is a field here, in ``merge`` and in
``with_rows``; a test over all fields notices one that is forgotten.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from skypane.lateness.delay_histogram import DelayHistogram
from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.partitions import PartitionSeen
from skypane.lateness.past_guard import FirstTimes
from skypane.lateness.policy import Judgement
from skypane.model.ledger import Ledger

R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")
U = TypeVar("U")

MAX_PANES = 1_024
LAST_WINDOWS = 8
"""How many of the newest windows to report the size of."""


@dataclass(frozen=True)
class TaskLoad:
    """What one task of the pane stage did."""

    busy_us: int
    records: int
    records_by_pane: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class PaneReport(Generic[R]):
    """The pane stage. The ledger knows all records but the suspects, whom only the step can judge."""

    partials: tuple[R, ...] = ()
    """Each sorted by key group, so that a range of key groups is a slice."""
    suspects: tuple[R, ...] = ()
    """Records whose time one task alone cannot trust."""
    late: tuple[R, ...] = ()
    """Late records, if they are kept, with their pane and sorted by key group."""
    quarantined: tuple[R, ...] = ()
    duplicates: tuple[R, ...] = ()
    ids: tuple[R, ...] = ()
    """Ids of the accepted records, where duplicates are found."""

    ledger: Ledger = field(default_factory=Ledger)
    suspected: int = 0
    newest_us: tuple[int, ...] = ()
    """The newest times up to the clock, suspects included, newest first, as many as the future guard needs."""
    trusted_us: int | None = None
    """The newest time that the task itself could trust."""
    missed: int = 0
    """Late records that a permitted slack could have saved; only of such ones are delays known."""
    max_delay_us: int = 0
    overdue: DelayHistogram = field(default_factory=DelayHistogram)
    """How long the panes of the records had been over when they came."""
    first_times: FirstTimes = field(default_factory=FirstTimes)
    """The times of usable records, suspects included, before the first one is believed."""
    partitions: Mapping[str, PartitionSeen] = field(default_factory=dict)
    """What trusted records say of each source partition, if partitions are tracked."""
    records_by_pane: Mapping[int, int] = field(default_factory=dict)
    """Accepted records of the newest panes: whence latencies are known."""
    condensed: int = 0
    """Accepted records that were added up before they came."""
    rows_by_group: Mapping[int, int] = field(default_factory=dict)
    """Partial rows by key group."""
    tasks: tuple[TaskLoad, ...] = ()
    """What each task did, in their order."""
    took_us: int = 0
    """How long the whole stage took."""

    @property
    def delivered(self) -> int:
        """Everything the source delivered."""
        return self.ledger.delivered + self.suspected

    def with_rows(
        self,
        *,
        partials: tuple[T, ...],
        suspects: tuple[T, ...],
        late: tuple[T, ...],
        quarantined: tuple[T, ...],
        duplicates: tuple[T, ...],
        ids: tuple[T, ...],
    ) -> PaneReport[T]:
        """The same report with other references to its rows, e.g. files instead of tables."""
        return PaneReport(
            partials=partials,
            suspects=suspects,
            late=late,
            quarantined=quarantined,
            duplicates=duplicates,
            ids=ids,
            ledger=self.ledger,
            suspected=self.suspected,
            newest_us=self.newest_us,
            trusted_us=self.trusted_us,
            missed=self.missed,
            max_delay_us=self.max_delay_us,
            overdue=self.overdue,
            first_times=self.first_times,
            partitions=self.partitions,
            records_by_pane=self.records_by_pane,
            condensed=self.condensed,
            rows_by_group=self.rows_by_group,
            tasks=self.tasks,
            took_us=self.took_us,
        )

    @classmethod
    def merge(cls, parts: Sequence[PaneReport[R]], guard: FutureGuard) -> PaneReport[R]:
        """All together; does not depend on how records were spread over the tasks."""
        return cls(
            partials=_chained(p.partials for p in parts),
            suspects=_chained(p.suspects for p in parts),
            late=_chained(p.late for p in parts),
            quarantined=_chained(p.quarantined for p in parts),
            duplicates=_chained(p.duplicates for p in parts),
            ids=_chained(p.ids for p in parts),
            ledger=sum((p.ledger for p in parts), Ledger()),
            suspected=sum(p.suspected for p in parts),
            newest_us=guard.newest(t for p in parts for t in p.newest_us),
            trusted_us=max((p.trusted_us for p in parts if p.trusted_us is not None), default=None),
            missed=sum(p.missed for p in parts),
            max_delay_us=max((p.max_delay_us for p in parts), default=0),
            overdue=DelayHistogram.merge(p.overdue for p in parts),
            first_times=FirstTimes.merge(p.first_times for p in parts),
            partitions=_seen_together(p.partitions for p in parts),
            records_by_pane=newest_panes(added(p.records_by_pane for p in parts)),
            condensed=sum(p.condensed for p in parts),
            rows_by_group=added(p.rows_by_group for p in parts),
            tasks=_chained(p.tasks for p in parts),
            took_us=max((p.took_us for p in parts), default=0),
        )


@dataclass(frozen=True)
class StateRows(Generic[S]):
    """The rows that later steps need, by what they are."""

    panes: tuple[S, ...] = ()
    """Rows of panes that windows to come need."""
    buffer: tuple[S, ...] = ()
    """With ``processing="in_order"``: records whose pane is not sealed yet."""
    sealed: tuple[S, ...] = ()
    """The past: rows of sealed panes, for records that come late; a pane may have rows of several steps."""
    revisions: tuple[S, ...] = ()
    """The past: which windows were answered again, and how often."""
    held: tuple[S, ...] = ()
    """Records whose time is in doubt, with what has come since."""
    counters: tuple[S, ...] = ()
    """Of windows that are counted in records: how many each key has had."""
    ids: tuple[S, ...] = ()
    """Ids of accepted records, where duplicates are found."""

    @property
    def parts(self) -> tuple[S, ...]:
        """All parts, of every kind of row."""
        return (*self.panes, *self.buffer, *self.sealed, *self.revisions, *self.held, *self.counters, *self.ids)

    @property
    def to_answer(self) -> tuple[S, ...]:
        """The parts that later windows are answered from."""
        return (*self.panes, *self.buffer, *self.counters)

    @classmethod
    def merge(cls, parts: Sequence[StateRows[S]]) -> StateRows[S]:
        """Merge the state rows of several tasks."""
        return cls(
            panes=_chained(p.panes for p in parts),
            buffer=_chained(p.buffer for p in parts),
            sealed=_chained(p.sealed for p in parts),
            revisions=_chained(p.revisions for p in parts),
            held=_chained(p.held for p in parts),
            counters=_chained(p.counters for p in parts),
            ids=_chained(p.ids for p in parts),
        )


@dataclass(frozen=True)
class WindowReport(Generic[R, S]):
    """What a task of the window stage, or the whole stage, did and leaves behind."""

    state: StateRows[S] = field(default_factory=StateRows)
    """Of a task: its key groups' new state, and what it adds to the past. Of a step: what the next one starts from."""
    answers: tuple[R, ...] = ()
    """Result rows; windows of one key in order, unless tasks take turns with them."""
    late: tuple[R, ...] = ()
    """The late records as their sink gets them."""
    failed: tuple[R, ...] = ()
    """Windows without an answer, since a function of the user's failed, as their sink gets them."""
    failures: int = 0
    """How many."""
    judged: Judgement = field(default_factory=Judgement)
    lessons: Judgement = field(default_factory=Judgement)
    """The same without records that no permitted slack could have saved: what the policy learns from."""
    windows: int = 0
    """How many (key, window) answers, or changed answers, there are."""
    revised: int = 0
    """How many (key, window) answers were corrected."""
    open_panes: int = 0
    """How many (key, pane) partials the state holds."""
    last_windows: tuple[tuple[int, int], ...] = ()
    """End (microseconds) and rows, over all keys, of the newest windows that fired."""
    rows_read: int = 0
    """Rows of state and partials that the tasks took in to answer windows."""
    rows_owned: int = 0
    """The same, each row once: tasks that share the windows of a key both read the panes between them."""
    joiners: int = 1
    """How many tasks shared the join of a key, where the most did."""
    busy_us: tuple[int, ...] = ()
    """How long each task worked."""
    visits: int = 1
    """How many windows look at a row."""
    in_driver: bool = True
    """Whether it ran where the step is decided: a job of its own costs more than little work."""
    took_us: int = 0
    """How long the whole stage took."""

    @property
    def replication(self) -> float | None:
        """How many tasks read a row, on average."""
        return self.rows_read / self.rows_owned if self.rows_owned else None

    def with_rows(
        self, *, state: StateRows[U], answers: tuple[T, ...], late: tuple[T, ...], failed: tuple[T, ...]
    ) -> WindowReport[T, U]:
        """The same report with other references to its rows, e.g. files instead of tables."""
        return WindowReport(
            state=state,
            answers=answers,
            late=late,
            failed=failed,
            failures=self.failures,
            judged=self.judged,
            lessons=self.lessons,
            windows=self.windows,
            revised=self.revised,
            open_panes=self.open_panes,
            last_windows=self.last_windows,
            rows_read=self.rows_read,
            rows_owned=self.rows_owned,
            joiners=self.joiners,
            busy_us=self.busy_us,
            visits=self.visits,
            in_driver=self.in_driver,
            took_us=self.took_us,
        )

    @classmethod
    def merge(cls, parts: Sequence[WindowReport[R, S]]) -> WindowReport[R, S]:
        """All tasks of a step together."""
        rows_by_end: Counter[int] = Counter()
        for part in parts:
            rows_by_end.update(dict(part.last_windows))
        return cls(
            state=StateRows.merge([p.state for p in parts]),
            answers=_chained(p.answers for p in parts),
            late=_chained(p.late for p in parts),
            failed=_chained(p.failed for p in parts),
            failures=sum(p.failures for p in parts),
            judged=sum((p.judged for p in parts), Judgement()),
            lessons=sum((p.lessons for p in parts), Judgement()),
            windows=sum(p.windows for p in parts),
            revised=sum(p.revised for p in parts),
            open_panes=sum(p.open_panes for p in parts),
            last_windows=tuple(sorted(rows_by_end.items())[-LAST_WINDOWS:]),
            rows_read=sum(p.rows_read for p in parts),
            rows_owned=sum(p.rows_owned for p in parts),
            joiners=max((p.joiners for p in parts), default=1),
            busy_us=_chained(p.busy_us for p in parts),
            visits=max((p.visits for p in parts), default=1),
            in_driver=all(p.in_driver for p in parts),
            took_us=max((p.took_us for p in parts), default=0),
        )


def added(counts: Iterable[Mapping[int, int]]) -> dict[int, int]:
    """Counts by number, added up."""
    total: Counter[int] = Counter()
    for part in counts:
        total.update(part)
    return dict(total)


def newest_panes(records_by_pane: Mapping[int, int]) -> dict[int, int]:
    """The newest :data:`MAX_PANES`: a batch that replays a year must not send a year of panes to the driver."""
    return {pane: records_by_pane[pane] for pane in sorted(records_by_pane)[-MAX_PANES:]}


def _seen_together(parts: Iterable[Mapping[str, PartitionSeen]]) -> dict[str, PartitionSeen]:
    seen: dict[str, PartitionSeen] = {}
    for part in parts:
        for name, (newest_us, records) in part.items():
            known = seen.get(name, PartitionSeen(newest_us, 0))
            seen[name] = PartitionSeen(max(known.newest_us, newest_us), known.records + records)
    return seen


def _chained(parts: Iterable[tuple[T, ...]]) -> tuple[T, ...]:
    return tuple(item for part in parts for item in part)
