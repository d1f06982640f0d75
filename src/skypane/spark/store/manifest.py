"""Manifest: one committed step - where its state is, how far the stream had come, what became of every record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from skypane.flow.late.past import PaneRange
from skypane.flow.latency import PaneClock
from skypane.lateness.policy import Judgement
from skypane.lateness.progress import Progress
from skypane.model.ledger import Ledger
from skypane.scheduling.batch_plan import RoutingState
from skypane.scheduling.ranges import GroupRange
from skypane.spark.store.files import FileRef

StepKind = Literal["start", "batch", "idle", "flush"]


PartKind = Literal["panes", "buffer"]


@dataclass(frozen=True)
class StatePart:
    """The state of some key groups: rows of panes, or records that are buffered to be processed in order."""

    groups: GroupRange
    file: FileRef
    rows_by_group: Mapping[int, int]
    panes: int
    """How many (key, pane) partials it holds."""
    kind: PartKind = "panes"

    def to_json(self) -> dict[str, Any]:
        """A form that survives JSON."""
        return {
            "groups": list(self.groups),
            "file": self.file.to_json(),
            "rows_by_group": [[g, n] for g, n in self.rows_by_group.items()],
            "panes": self.panes,
            "kind": self.kind,
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> StatePart:
        """The inverse of :meth:`to_json`."""
        rows = {int(g): int(n) for g, n in body["rows_by_group"]}
        return cls(GroupRange(*body["groups"]), FileRef.from_json(body["file"]), rows, body["panes"], body["kind"])


PastKind = Literal["panes", "revisions"]


@dataclass(frozen=True)
class PastPart:
    """Rows of sealed panes, or the log of revised windows, of one step or of several merged into one file."""

    kind: PastKind
    groups: GroupRange
    file: FileRef
    numbers: PaneRange
    """The panes, or the windows, that it has rows of."""
    level: int = 0
    """How many times it was merged."""

    def to_json(self) -> dict[str, Any]:
        """A form that survives JSON."""
        return {
            "kind": self.kind,
            "groups": list(self.groups),
            "file": self.file.to_json(),
            "numbers": list(self.numbers),
            "level": self.level,
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> PastPart:
        """The inverse of :meth:`to_json`."""
        groups, numbers = GroupRange(*body["groups"]), PaneRange(*body["numbers"])
        return cls(body["kind"], groups, FileRef.from_json(body["file"]), numbers, body["level"])


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
    past: tuple[PastPart, ...] = ()
    """What is kept of sealed panes for records that come late."""
    judged: Judgement = field(default_factory=Judgement)
    """About the late records of this step."""
    judged_so_far: Judgement = field(default_factory=Judgement)
    """About all late records since the checkpoint began, as far as they were judged."""
    clock: PaneClock = field(default_factory=PaneClock)
    """When records of the open panes came."""
    routing: RoutingState | None = None
    """What the next batch's plan is made from, if records are routed."""

    @property
    def files(self) -> set[str]:
        """The names of all state files that it needs."""
        return {part.file.name for part in self.state} | {part.file.name for part in self.past}

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
            "past": [part.to_json() for part in self.past],
            "judged": [self.judged.late, self.judged.harmful],
            "judged_so_far": [self.judged_so_far.late, self.judged_so_far.harmful],
            "clock": self.clock.to_json(),
            "routing": None if self.routing is None else self.routing.to_json(),
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
            past=tuple(PastPart.from_json(part) for part in body["past"]),
            judged=Judgement(*body["judged"]),
            judged_so_far=Judgement(*body["judged_so_far"]),
            clock=PaneClock.from_json(body["clock"]),
            routing=RoutingState.from_json(body["routing"]) if body.get("routing") else None,
        )
