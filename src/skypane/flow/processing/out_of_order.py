"""Out of order: records are lifted as they come, so that an open pane holds only what may still matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from skypane.flow.definition import Definition
from skypane.flow.joining import LOCAL_JOIN, Joining
from skypane.flow.late.past import Past
from skypane.flow.panes.lifting import combine_partials, in_some_window, lift_rows
from skypane.flow.processing.base import Processing, WindowInputs
from skypane.flow.reports import WindowReport
from skypane.flow.shares import CutLimits
from skypane.flow.windows.slide.choice import slide_for
from skypane.flow.windows.worker import WindowWorker
from skypane.lateness.progress import Progress
from skypane.model.columns import PANE
from skypane.model.errors import OptionError
from skypane.model.panes import PaneRange, Span


class OutOfOrder(Processing):
    """The default for windows of time."""

    name = "out_of_order"
    divides_windows = True

    def __init__(self, definition: Definition) -> None:
        super().__init__(definition)
        self._slide = slide_for(definition)
        self._worker = WindowWorker(definition, self._slide)

    @property
    def hands_over(self) -> str:
        """Partials, which may be all there was."""
        return (
            "keeps records as they are"
            if self._definition.query.keeps_records
            else "keeps one partial per key and pane"
        )

    @classmethod
    def check(cls, definition: Definition) -> None:
        """Refuse emissions that need every instant."""
        if definition.emit.instants:
            raise OptionError(
                f".emit({definition.emit.name!r}) is about every instant, and windows are answered when they end. Use "
                ".emit('changes'), or sp.stream(...).live('10 seconds') instead of .window(...)."
            )

    def lift(self, rows: pa.Table) -> pa.Table:
        """One partial per key and pane."""
        return lift_rows(self._definition, in_some_window(self._definition, rows))

    def combine(self, parts: Sequence[pa.Table]) -> pa.Table:
        """One partial per key and pane again."""
        return combine_partials(self._definition, parts)

    def run(
        self, before: Progress, after_us: int | None, inputs: WindowInputs, joining: Joining = LOCAL_JOIN
    ) -> WindowReport[pa.Table, pa.Table]:
        """Merge the partials into the open panes, seal, slide, emit."""
        return self._advance(before, after_us, inputs, inputs.fresh, None, joining)

    @property
    def cuts_windows(self) -> bool:
        """If the slide can answer them apart."""
        return self._slide.answers_apart

    @property
    def seals_rows(self) -> bool:
        """If the slide only reads them, and no record that comes late is put into them."""
        return self._slide.any_order and not self._definition.allowed_lateness_us

    @property
    def shares_joins(self) -> bool:
        """If the slide does little else."""
        return self._slide.joins_rows

    def cut_limits(self, span: Span, filled: PaneRange, *, late: bool) -> CutLimits | None:
        """As the slide allows it."""
        slide, definition = self._slide, self._definition
        if not slide.answers_apart:
            return None
        limits = CutLimits(definition.window, span, filled, looks_back=definition.emit.looks_back)
        visits = slide.visits(len(limits.windows))
        return replace(limits, whole=slide.needs_all_panes, late=late, visits=visits)

    def result_schema(self, records: pa.Schema) -> pa.Schema:
        """Keys, window, then what the query answers with."""
        return self._worker.result_schema(records)

    def warm_up(self) -> None:
        """Compile what the slide uses."""
        self._slide.warm_up()

    def _advance(
        self,
        before: Progress,
        after_us: int | None,
        inputs: WindowInputs,
        fresh: Sequence[pa.Table],
        waiting: pa.Table | None,
        joining: Joining,
    ) -> WindowReport[pa.Table, pa.Table]:
        """``waiting`` are records of open panes that are not among the partials, if there are any."""
        late = inputs.late if inputs.late is not None and inputs.late.num_rows else None
        waiting = waiting if late is not None and self._definition.query.selective else None
        return self._worker.advance(
            inputs.panes,
            fresh,
            before,
            after_us,
            past=self._past(before, fresh, late, inputs),
            late=late,
            waiting=waiting,
            share=inputs.share,
            sealed_rows=inputs.sealed_rows,
            joining=joining,
        )

    def _past(self, before: Progress, fresh: Sequence[pa.Table], late: pa.Table | None, inputs: WindowInputs) -> Past:
        """The sealed panes that share a window with a record of this step that came after its pane was sealed."""
        definition = self._definition
        if not definition.retention_us or before.punctuation_us is None or not inputs.share.first_of_groups:
            return Past()
        panes = [part.column(PANE).to_numpy() for part in (*fresh, late) if part is not None]
        numbers = np.concatenate(panes) if panes else np.zeros(0, dtype=np.int64)
        oldest = definition.history_from(before.punctuation_us)
        overdue = (numbers >= oldest) & (numbers < definition.window.sealed_before(before.punctuation_us))
        return inputs.past(definition.window.neighbours(numbers[overdue])) if overdue.any() else Past()
