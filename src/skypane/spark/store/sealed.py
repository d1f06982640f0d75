"""SealedFiles: files with rows of sealed panes, which are written once and read until no window needs them any more.

Each step adds the rows of the panes that it seals; what is still open is written anew. Many small files are slow to
read, so now and then a step reads all of them and writes one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from skypane.flow.definition import Definition
from skypane.flow.program import Program
from skypane.flow.reports import StateRows, added
from skypane.flow.stages import Move
from skypane.model.panes import Span, range_of_all
from skypane.spark.store.manifest import StoredPart
from skypane.spark.store.writers import Written
from skypane.tuning.sharing.stage import WindowWork

MAX_FILES: Final = 64
"""A step finds at most so many, or leaves none."""


@dataclass(frozen=True)
class SealedFiles:
    """The files whose panes were all sealed by the steps before, oldest first; a step reads them and leaves them."""

    program: Program
    parts: tuple[StoredPart, ...] = ()
    before_us: int | None = None
    after_us: int | None = None

    @classmethod
    def of(
        cls, program: Program, rows: StateRows[StoredPart], before_us: int | None, after_us: int | None
    ) -> SealedFiles:
        """The sealed files that a step finds when the watermark moves from ``before_us`` to ``after_us``."""
        return cls(program, sealed_parts(program, rows.panes, before_us), before_us, after_us=after_us)

    @property
    def names(self) -> frozenset[str]:
        """Names of the files."""
        return frozenset(part.file.name for part in self.parts)

    @property
    def still_needed(self) -> tuple[StoredPart, ...]:
        """The files that windows after this step still read."""
        if not self.parts or self.after_us is None:
            return self.parts
        span = self.program.definition.window.span(self.before_us, self.after_us)
        return still_needed(self.program.definition, self.parts, span)

    def with_past(self, before: StateRows[StoredPart], new: StateRows[StoredPart]) -> StateRows[StoredPart]:
        """The state after a step: what its tasks left, the sealed files that stay, and the whole past."""
        return replace(
            new,
            panes=(*self.still_needed, *new.panes),
            sealed=(*before.sealed, *new.sealed),
            revisions=(*before.revisions, *new.revisions),
        )

    def work(self, move: Move[Written], rows: StateRows[StoredPart]) -> WindowWork:
        """What the window stage has to do; a step that closes no window does not read them."""
        closes, names = self.program.definition.window.closes_windows(self.before_us, self.after_us), self.names
        read = [part for part in rows.to_answer if closes or part.file.name not in names]
        return WindowWork(
            before_us=self.before_us,
            after_us=self.after_us,
            rows_by_group=added([move.rows_by_group, *(part.rows_by_group for part in read)]),
            filled=range_of_all([move.filled, *(part.numbers for part in rows.to_answer)]),
            late_rows=sum(file.rows for file in move.late),
        )


def sealed_parts(program: Program, parts: Sequence[StoredPart], punctuation_us: int | None) -> tuple[StoredPart, ...]:
    """The files whose panes were all sealed by the steps before, oldest first."""
    if punctuation_us is None or not program.processing.seals_rows:
        return ()
    before = program.definition.window.sealed_before(punctuation_us)
    found = [part for part in parts if part.numbers is not None and part.numbers.end <= before]
    return tuple(found) if len(found) <= MAX_FILES else ()


def still_needed(definition: Definition, parts: Sequence[StoredPart], span: Span) -> tuple[StoredPart, ...]:
    """The files that windows after the span still read."""
    newest = np.array([0 if part.numbers is None else part.numbers.end - 1 for part in parts], dtype=np.int64)
    needed = definition.window.last_window(newest) + definition.emit.looks_back >= span.end
    return tuple(part for part, wanted in zip(parts, needed.tolist(), strict=True) if wanted)
