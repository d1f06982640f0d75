"""Manifest: one committed step - where its state is, how far the stream had come, what became of every record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from skypane.lateness.progress import Progress
from skypane.model.ledger import Ledger
from skypane.scheduling.ranges import GroupRange
from skypane.spark.files import FileRef

StepKind = Literal["start", "batch", "idle", "flush"]


@dataclass(frozen=True)
class StatePart:
    """The state of some key groups."""

    groups: GroupRange
    file: FileRef
    rows_by_group: Mapping[int, int]
    panes: int
    """How many (key, pane) partials it holds."""

    def to_json(self) -> dict[str, Any]:
        """A form that survives JSON."""
        return {
            "groups": list(self.groups),
            "file": self.file.to_json(),
            "rows_by_group": [[g, n] for g, n in self.rows_by_group.items()],
            "panes": self.panes,
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> StatePart:
        """The inverse of :meth:`to_json`."""
        rows = {int(g): int(n) for g, n in body["rows_by_group"]}
        return cls(GroupRange(*body["groups"]), FileRef.from_json(body["file"]), rows, body["panes"])


@dataclass(frozen=True)
class Manifest:
    """The state after ``step``; the next step starts from nothing else."""

    step: int
    batch_id: int
    """The newest batch of the source that is in it."""
    kind: StepKind
    progress: Progress
    ledger: Ledger = field(default_factory=Ledger)
    """All records since the checkpoint began."""
    windows: int = 0
    """All (key, window) answers emitted since the checkpoint began."""
    state: tuple[StatePart, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """A form that survives JSON."""
        return {
            "step": self.step,
            "batch_id": self.batch_id,
            "kind": self.kind,
            "progress": self.progress.to_json(),
            "ledger": self.ledger.to_json(),
            "windows": self.windows,
            "state": [part.to_json() for part in self.state],
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Manifest:
        """The inverse of :meth:`to_json`."""
        return cls(
            step=body["step"],
            batch_id=body["batch_id"],
            kind=body["kind"],
            progress=Progress.from_json(body["progress"]),
            ledger=Ledger.from_json(body["ledger"]),
            windows=body["windows"],
            state=tuple(StatePart.from_json(part) for part in body["state"]),
        )
