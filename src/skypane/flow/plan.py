"""Plan: how the tasks of one step share its work. Flow owns the words; tuning chooses the values.

Every value of a :class:`StagePlan` is legal: it is a wish, and what a query cannot do that way it does in one task.
So a plan decides how fast an answer comes, and never which answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

from skypane.model.numbers import MOST

WindowScheduling = Literal["ranges", "round_robin", "feedback"]
WINDOW_SCHEDULINGS: Final[tuple[WindowScheduling, ...]] = get_args(WindowScheduling)
Partitioning = Literal["batch", "window", "pane"]
PARTITIONINGS: Final[tuple[Partitioning, ...]] = get_args(Partitioning)
Ownership = Literal["rr", "llw+"]
OWNERSHIPS: Final[tuple[Ownership, ...]] = get_args(Ownership)

ALL_ROWS: Final = MOST
"""More rows than any step has."""


@dataclass(frozen=True)
class Routing:
    """Which task of the pane stage gets a record, as a table: ``width`` entries for each pane from ``first_pane`` on.

    A record takes the entry that its hash chooses among those of its pane, so a task has as many entries as its share
    of the pane is large.
    """

    degree: int
    first_pane: int
    width: int
    table: tuple[int, ...] = ()
    splits_unplanned: bool = False
    """Whether panes that are not in the table go to all tasks, by the hash; else they take turns."""

    def __post_init__(self) -> None:
        entries_fit = all(0 <= entry < self.degree for entry in self.table)
        if self.degree < 1 or self.width < 1 or len(self.table) % self.width or not entries_fit:
            raise ValueError(f"A routing table that would lose records: {self}")

    def worker(self, pane: int, record_hash: int) -> int:
        """The task of one record: what an engine has to compute for all of them."""
        index = (pane - self.first_pane) * self.width + record_hash % self.width
        if 0 <= index < len(self.table):
            return self.table[index]
        return (record_hash if self.splits_unplanned else pane) % self.degree


@dataclass(frozen=True)
class StagePlan:
    """The tasks of one step."""

    pane_tasks: int | None = None
    """The most tasks of the pane stage; ``None``: as many as the engine runs at a time."""
    routing: Routing | None = None
    """Which of them gets which records; ``None``: partials are made where records are read."""
    pre_aggregate: int | None = None
    """Have the engine itself make partials of accepted records, in so many tasks, where the query allows it."""
    key_tasks: int | None = None
    """Into how many ranges the key groups are split; ``None``: as many as the engine runs at a time."""
    window_tasks: int | None = None
    """How many tasks share the windows of each range; ``None``: as many as its share of the rows is worth."""
    scheduling: WindowScheduling = "ranges"
    partitioning: Partitioning = "batch"
    """How the windows of one key are split across tasks."""
    ownership: Ownership = "rr"
    """How the rows of one key are, where tasks share a join instead."""
    cut_rows: int = 0
    """Windows of one key are split from so many rows on, each counted once for each window that looks at it."""
    join_rows: int = 0
    """Joins are shared from so many looks at rows on."""
    inline_rows: int = 0
    """A window stage with no more rows than this runs in the driver: a job would cost more than it saves."""
    max_threads: int | None = None
    """The most threads that stand in for tasks."""

    def __post_init__(self) -> None:
        counts = (self.pane_tasks, self.pre_aggregate, self.key_tasks, self.window_tasks, self.max_threads)
        if any(count is not None and count < 1 for count in counts):
            raise ValueError(f"A plan with a stage that has no task: {self}")

    def window_degree(self, slots: int) -> int:
        """How many tasks the window stage has at a time, on an engine with so many slots."""
        return (self.key_tasks or slots) * (self.window_tasks or 1)

    @property
    def shares_windows(self) -> bool:
        """Whether tasks are to share the windows of one key in any case."""
        return (self.window_tasks or 1) > 1


@dataclass(frozen=True)
class EngineFacts:
    """What an engine can do now. Measured, so it changes plans, and never an answer."""

    slots: int = 1
    """Tasks that it runs at a time."""
    cores: int = 1
    """Of the machine on which the driver runs."""
    embedded: bool = True
    """Whether they run on the cores of the driver."""
    ready: int | None = None
    """Slots that are there and warm; ``None`` if there will be as many as there are tasks."""
    backlog_us: float | None = None
    """How long what waits at the source would take; ``None`` if the source does not say."""
    first: bool = False
    """Whether the engine was started after the last batch was cut."""
    elsewhere_us: int = 0
    """How long the step before was busy outside its stages: in sinks."""
