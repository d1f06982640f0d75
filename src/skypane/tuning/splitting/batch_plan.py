"""BatchPlan: a pane strategy in a micro-batch engine - what a plan is, what it is made from, what came of it.

What is measured becomes part of the state and changes later plans only. Where a record goes never changes an answer:
partials of a key and pane are merged wherever they come from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from skypane.flow.plan import Routing
from skypane.flow.reports import TaskLoad


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
    """How long the window stage took after the batch."""


class BatchPlan(NamedTuple):
    """Where the records of a batch go."""

    routing: Routing
    strategy: Mapping[str, Any]
    """The strategy's state, this plan included."""


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
    """How long the window stage took."""
    sinks_us: int
    """How long the step before was busy outside its stages."""
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
