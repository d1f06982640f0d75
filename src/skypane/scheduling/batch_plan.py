"""BatchPlan: a pane strategy in a micro-batch engine - what a plan is, what it is made from, what came of it.

A plan follows from the state committed with the batch before and from nothing else, so a batch that is repeated is
routed the same way again. What is measured becomes part of the state and changes later plans only. Where a record goes
never changes an answer: partials of a key and pane are merged wherever they come from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class TaskLoad:
    """What one task of the pane stage did."""

    busy_us: int
    records: int
    records_by_pane: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class RoutingState:
    """What the next plan is made from; committed with every step."""

    strategy: Mapping[str, Any]
    expected: Mapping[int, int] = field(default_factory=dict)
    """Records by pane that the next batch should bring."""
    newest_pane: int | None = None
    cut_us: int | None = None
    """When the source cut the batch."""
    elsewhere_us: int = 0
    """How long the step was busy outside the pane stage."""


@dataclass(frozen=True)
class BatchPlan:
    """Where the records of a batch go, as a table: ``width`` entries for each pane from ``first_pane`` on.

    A record takes the entry that its hash chooses among those of its pane, so a worker has as many entries as its share
    of the pane is large.
    """

    degree: int
    first_pane: int
    width: int
    table: Sequence[int]
    strategy: Mapping[str, Any]
    """The strategy's state, this plan included."""
    splits_unplanned: bool = False
    """Whether panes that are not in the table go to all workers, by the hash; else they take turns."""

    def worker(self, pane: int, record_hash: int) -> int:
        """The worker of one record: what an engine has to compute for all of them."""
        index = (pane - self.first_pane) * self.width + record_hash % self.width
        if 0 <= index < len(self.table):
            return self.table[index]
        return (record_hash if self.splits_unplanned else pane) % self.degree


@dataclass(frozen=True)
class BatchOutcome:
    """What became of a planned batch."""

    tasks: Sequence[TaskLoad]
    """By worker."""
    records_by_pane: Mapping[int, int]
    first_open_pane: int | None
    """Panes before it are sealed."""
    cut_us: int
    pane_stage_us: int
    elsewhere_us: int
    slots: int
    """How many tasks can run at a time."""


def shards_by_pane(tasks: Sequence[TaskLoad]) -> dict[int, int]:
    """How many tasks got records of each pane."""
    shards: dict[int, int] = {}
    for task in tasks:
        for pane, records in task.records_by_pane.items():
            shards[pane] = shards.get(pane, 0) + (records > 0)
    return shards


def splitting_factor(tasks: Sequence[TaskLoad]) -> float | None:
    """Mean shards per pane of one batch."""
    shards = shards_by_pane(tasks)
    return sum(shards.values()) / len(shards) if shards else None


def imbalance(tasks: Sequence[TaskLoad]) -> float | None:
    """Records of the largest task over the mean."""
    total = sum(task.records for task in tasks)
    return max(task.records for task in tasks) * len(tasks) / total if total else None
