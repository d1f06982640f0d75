"""Processing: how the records of a query become its answers, from the pane stage to the end of the window stage."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.flow.joining import LOCAL_JOIN, Joining
from skypane.flow.late.past import Past
from skypane.flow.reports import WindowReport
from skypane.flow.shares import EVERYTHING, CutLimits, WindowShare
from skypane.lateness.progress import Progress
from skypane.model.ending import Ending
from skypane.model.panes import PaneRange, Span
from skypane.tables.rows import conform, present, sorted_by_group


@dataclass(frozen=True)
class WindowInputs:
    """What a task of the window stage starts from; every table is of its key groups, sorted by key group."""

    panes: pa.Table | None
    """The state: rows of panes that windows to come need."""
    buffer: pa.Table | None
    """Records whose pane is not sealed yet, where they are handed over as they are."""
    fresh: Sequence[pa.Table]
    """This step's partials, or records where they are handed over as they are."""
    late: pa.Table | None
    """This step's late records, where they are judged."""
    past: Callable[[PaneRange], Past]
    """Looks up sealed panes; called only if there are records that need them."""
    share: WindowShare = EVERYTHING
    """Which windows the task answers; the tables have the rows of the panes that it needs for them."""
    counters: pa.Table | None = None
    """How many records each key has had, where they are counted."""
    ending: Ending | None = None
    """Of a step that the clock decided: what it ends."""
    sealed_rows: Sequence[pa.Table] = ()
    """The rest of the state: rows of sealed panes, oldest first, which are looked at and stay where they are stored."""

    def conforming(self, partials: pa.Schema) -> WindowInputs:
        """Rows of panes with columns like those of this step's partials, whichever session stored them."""

        def past(panes: PaneRange) -> Past:
            found = self.past(panes)
            return found if found.panes is None else replace(found, panes=conform(found.panes, partials))

        panes = None if self.panes is None else conform(self.panes, partials)
        sealed_rows = [conform(table, partials) for table in self.sealed_rows]
        return replace(self, panes=panes, sealed_rows=sealed_rows, past=past)

    @property
    def rows_read(self) -> int:
        """The rows that windows are answered from."""
        return sum(table.num_rows for table in self._to_answer)

    @property
    def rows_owned(self) -> int:
        """The rows read whose pane this task owns."""
        return sum(self.share.owned(table).num_rows for table in self._to_answer)

    @property
    def _to_answer(self) -> tuple[pa.Table, ...]:
        return present([self.panes, self.buffer, *self.fresh, *self.sealed_rows])


class Processing(ABC):
    """Immutable; everything that is remembered is in the tables that a step keeps."""

    name: ClassVar[str]
    """The name in options and explanations."""
    buffers: ClassVar[bool] = False
    """Whether the pane stage hands records over as they are, and the window stage keeps them until they are sealed."""

    divides_windows: ClassVar[bool] = False
    """Whether there is a slide with which several tasks can share the windows of one key."""

    def __init__(self, definition: Definition) -> None:
        self._definition = definition

    @classmethod
    @abstractmethod
    def check(cls, definition: Definition) -> None:
        """Raise :class:`~skypane.model.errors.OptionError` if the query cannot be processed like this."""

    @property
    @abstractmethod
    def hands_over(self) -> str:
        """What the pane stage does, in words."""

    @abstractmethod
    def lift(self, rows: pa.Table) -> pa.Table:
        """What the pane stage hands over of accepted records, which know their pane."""

    @abstractmethod
    def combine(self, parts: Sequence[pa.Table]) -> pa.Table:
        """Combine several tables of the pane stage into one."""

    def merge(self, parts: Sequence[pa.Table]) -> pa.Table | None:
        """Combine and sort by key group; ``None`` if there are no rows."""
        return sorted_by_group(self.combine(parts)) if parts else None

    @abstractmethod
    def run(
        self, before: Progress, after_us: int | None, inputs: WindowInputs, joining: Joining = LOCAL_JOIN
    ) -> WindowReport[pa.Table, pa.Table]:
        """One task of the window stage: the watermark moves from that of ``before`` to ``after_us``."""

    @property
    def shares_joins(self) -> bool:
        """Whether several tasks can share the join of one key's rows, and no other work of it."""
        return False

    @property
    def seals_rows(self) -> bool:
        """Whether rows of sealed panes stay as they are, so that it is enough to store them once."""
        return False

    @property
    def cuts_windows(self) -> bool:
        """Whether several tasks can share the windows of one key."""
        return False

    def cut_limits(self, span: Span, filled: PaneRange, *, late: bool) -> CutLimits | None:
        """How the windows of a step can be split across tasks; ``None`` if one must answer them all."""
        del span, filled, late
        return None

    @abstractmethod
    def result_schema(self, records: pa.Schema) -> pa.Schema:
        """The schema of the answers to records of some schema."""

    def warm_up(self) -> None:  # noqa: B027 - there may be nothing to compile
        """Compile the kernels that it uses itself."""
