"""Manifest: one committed step - the state to continue from, with its rows in files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from skypane.flow.step import StepState
from skypane.model.codec import plain, typed
from skypane.model.panes import PaneRange
from skypane.scheduling.ranges import GroupRange
from skypane.spark.store.files import FileRef

StepKind = Literal["start", "batch", "idle", "flush"]


@dataclass(frozen=True)
class StoredPart:
    """Rows of some key groups that later steps need, in a file."""

    groups: GroupRange
    file: FileRef
    rows_by_group: Mapping[int, int] = field(default_factory=dict)
    """Of rows that windows to come are answered from: what the tasks of the next step are balanced by."""
    panes: int = 0
    """Of open panes: how many (key, pane) partials it holds."""
    numbers: PaneRange | None = None
    """The panes, or the windows, that it has rows of."""
    level: int = 0
    """Of the past: how many times it was merged."""


SparkState = StepState[StoredPart]


@dataclass(frozen=True)
class Manifest:
    """The state after ``step``; the next step starts from nothing else."""

    step: int
    batch_id: int
    """The newest batch of the source that is in it."""
    kind: StepKind
    state: SparkState

    @property
    def files(self) -> set[str]:
        """The names of all state files that it needs."""
        return {part.file.name for part in self.state.kept.parts}

    def to_json(self) -> dict[str, Any]:
        """A form that survives JSON."""
        body: dict[str, Any] = plain(self)
        return body

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Manifest:
        """The inverse of :meth:`to_json`."""
        return typed(body, cls)
