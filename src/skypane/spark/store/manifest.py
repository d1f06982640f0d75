"""Manifest: one committed step - the state to continue from, with its rows in files.

In JSON::

    {"format": 4, "step": 7, "batch_id": 6, "kind": "batch",
     "progress": {...},           how far the stream has come: for all questions
     "tuning": {...},             what the next steps are planned from: decides no answer, may be forgotten
     "questions": {"": {...}}}    the rest of the state, by question; a query has one, without a name
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from skypane.flow.latency import PaneClock
from skypane.flow.reports import StateRows
from skypane.flow.shares import GroupRange
from skypane.flow.state import StepState, Totals
from skypane.lateness.policy import Judgement
from skypane.lateness.progress import Progress
from skypane.model.codec import lenient, plain, strict
from skypane.model.errors import CheckpointError
from skypane.model.ledger import Ledger
from skypane.model.panes import PaneRange
from skypane.spark.store.files import FileRef
from skypane.tuning.tuner import TuningState

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


SparkState = StepState[StoredPart, TuningState]


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
        return {part.file.name for part in self.state.rows.parts}

    def to_json(self) -> dict[str, Any]:
        """The body of a file, without its format."""
        stored = StoredManifest(
            step=self.step,
            batch_id=self.batch_id,
            kind=self.kind,
            progress=self.state.progress,
            questions={UNNAMED: StoredQuestion(**{name: getattr(self.state, name) for name in _ANSWER_FIELDS})},
            tuning=self.state.tuning,
        )
        body: dict[str, Any] = plain(stored)
        return body

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Manifest:
        """The inverse of :meth:`to_json`; refuses a body that lacks an answer field or has an unknown key."""
        stored = strict(body, StoredManifest)
        if [*stored.questions] != [UNNAMED]:
            raise CheckpointError(f"It has the questions {[*stored.questions]}, and not one without a name.")
        question = stored.questions[UNNAMED]
        answers = {name: getattr(question, name) for name in _ANSWER_FIELDS}
        tuning = lenient(stored.tuning, TuningState) or TuningState()
        state = SparkState(progress=stored.progress, tuning=tuning, **answers)
        return cls(step=stored.step, batch_id=stored.batch_id, kind=stored.kind, state=state)


UNNAMED = ""
"""The name of the one question that a query has."""


@dataclass(frozen=True)
class StoredQuestion:
    """The fields of the state that belong to one question. None has a default: what is missing is not empty."""

    rows: StateRows[StoredPart]
    ledger: Ledger
    judged: Judgement
    emitted_at: int
    totals: Totals
    clock: PaneClock


_ANSWER_FIELDS = tuple(each.name for each in fields(StoredQuestion))


@dataclass(frozen=True)
class StoredManifest:
    """The layout of the file, but for its format."""

    step: int
    batch_id: int
    kind: StepKind
    progress: Progress
    questions: Mapping[str, StoredQuestion]
    tuning: Any = None
    """A :class:`~skypane.tuning.tuner.TuningState`, read apart from the rest."""
