"""Stages: what a step asks of an engine - run the pane stage for a frontier, run the window stage for a move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol

import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.flow.distinct.known_ids import IdTables, KnownIds
from skypane.flow.panes.admission import Frontier
from skypane.flow.plan import EngineFacts, StagePlan
from skypane.flow.reports import PaneReport, R, S, StateRows, WindowReport
from skypane.lateness.progress import Progress
from skypane.model.ending import Ending
from skypane.model.panes import PaneRange


@dataclass(frozen=True)
class Move(Generic[R]):
    """What the window stage does in a step: ingest partials, judge late records, move the watermark."""

    before: Progress
    after_us: int | None
    partials: tuple[R, ...] = ()
    trusted: pa.Table | None = None
    """Partials of the suspects that turned out to be trusted."""
    late: tuple[R, ...] = ()
    rows_by_group: Mapping[int, int] = field(default_factory=dict)
    """Rows of all these partials."""
    ending: Ending | None = None
    """Of a step that the clock decided: what it ends."""
    filled: PaneRange | None = None
    """The panes of the step's accepted records, as far as they are known; for sharing the work only."""

    def changes_nothing(self, definition: Definition, rows: StateRows[S]) -> bool:
        """Whether the window stage can be left out: no rows to ingest, no pane of the state to seal or report.

        A pane that is sealed enters the past and is joined with others, also where no window closes with it.
        """
        seals = definition.window.seals_panes(self.before.punctuation_us, self.after_us)
        reports = definition.window.emits_partial(self.ending)
        return not (self.partials or self.late or self.trusted is not None or (rows.to_answer and (seals or reports)))


class Stages(Protocol[R, S]):
    """The ports of one step."""

    @property
    def engine(self) -> EngineFacts:
        """What the engine can do in this step."""
        ...

    def held(self, rows: StateRows[S]) -> pa.Table | None:
        """The records that are held."""
        ...

    def known_ids(self, rows: StateRows[S], fresh: Sequence[R]) -> IdTables:
        """The ids that are remembered, and those that the pane stage has just accepted."""
        ...

    def panes(
        self, frontier: Frontier, plan: StagePlan, known: KnownIds | None
    ) -> tuple[PaneReport[R], pa.Table | None]:
        """Run the pane stage over the batch; also the rows of its suspects.

        Where duplicates are found, ``known`` are the ids that are remembered. One task gets all records with the same
        hash of their id, one after the other, by (time, record id).
        """
        ...

    def remember(
        self, rows: StateRows[S], fresh: Sequence[R], ids: pa.Table | None, after_us: int | None
    ) -> tuple[S, ...]:
        """Store the ids that were accepted with those that are remembered; forget what ``after_us`` has passed."""
        ...

    def hold(self, rows: pa.Table | None) -> tuple[S, ...]:
        """Store the records that are held from now on."""
        ...

    def windows(self, move: Move[R], plan: StagePlan, rows: StateRows[S]) -> WindowReport[R, S]:
        """Run the window stage; its report has all rows that later steps need, the past included."""
        ...
