"""Manifest: one step - the state to continue from, and the rows that its outputs show, with all rows in files.

It is written when the step is prepared, before any sink shows a row of it, and commits the step when all of them do.

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
from skypane.flow.step import Stepped
from skypane.lateness.policy import Judgement
from skypane.lateness.progress import Progress
from skypane.model.codec import lenient, plain, strict
from skypane.model.errors import CheckpointError
from skypane.model.ledger import Ledger
from skypane.model.panes import PaneRange
from skypane.spark.store.files import FileRef
from skypane.spark.store.writers import Written
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


@dataclass(frozen=True)
class OutputRows:
    """The rows of one output of a step, and where they go."""

    place: str | None
    """That of the sink; ``None`` if it has none."""
    files: tuple[Written, ...]
    shown: int
    """The last step with rows for this place: this one, if it has any."""


SparkState = StepState[StoredPart, TuningState]
SparkStepped = Stepped[Written, StoredPart, TuningState]


@dataclass(frozen=True)
class Manifest:
    """The state after ``step``; the next step starts from nothing else."""

    step: int
    batch_id: int
    """The newest batch of the source that is in it."""
    kind: StepKind
    state: SparkState
    outputs: Mapping[str, OutputRows] = field(default_factory=dict)
    """The rows of the step, by output."""

    @property
    def files(self) -> set[str]:
        """The names of all state files that it needs."""
        return {part.file.name for part in self.state.rows.parts}

    @property
    def row_files(self) -> list[Written]:
        """The files that hold rows of the step, of all outputs."""
        return [file for output in self.outputs.values() for file in output.files if file.path]

    def shown(self, output: str, place: str | None) -> int:
        """The last step of which the output has rows at this place; 0 if there is none."""
        known = self.outputs.get(output)
        return known.shown if known is not None and known.place == place else 0

    def to_json(self) -> dict[str, Any]:
        """The body of a file, without its format."""
        stored = StoredManifest(
            step=self.step,
            batch_id=self.batch_id,
            kind=self.kind,
            progress=self.state.progress,
            questions={UNNAMED: StoredQuestion(**self._answers(), outputs=self.outputs)},
            tuning=self.state.tuning,
        )
        body: dict[str, Any] = plain(stored)
        return body

    def _answers(self) -> dict[str, Any]:
        return {name: getattr(self.state, name) for name in _ANSWER_FIELDS}

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
        return cls(stored.step, batch_id=stored.batch_id, kind=stored.kind, state=state, outputs=question.outputs)


UNNAMED = ""
"""The name of the one question that a query has."""


@dataclass(frozen=True)
class StoredQuestion:
    """What belongs to one question. Nothing has a default: what is missing is not empty."""

    rows: StateRows[StoredPart]
    ledger: Ledger
    judged: Judgement
    emitted_at: int
    totals: Totals
    clock: PaneClock
    outputs: Mapping[str, OutputRows]


_ANSWER_FIELDS = tuple(each.name for each in fields(StoredQuestion) if each.name != "outputs")
"""Those that are fields of the state."""


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
