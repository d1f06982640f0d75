"""An emission of your own: whole answers, with how many rows each has, so that a reader knows when it has them all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa

import skypane as sp

COLUMN = "answer_rows"


class Counted(sp.Emission):
    """Adds the column ``answer_rows``."""

    name = "counted"

    def columns(self) -> Mapping[str, pa.DataType]:
        """What every row gets."""
        return {COLUMN: pa.int64()}

    def check(self, definition: sp.Definition) -> None:
        """Corrected answers do not come this way."""
        if definition.allowed_lateness_us:
            raise sp.OptionError("lateness(allowed=...) corrects answers without counting them. Use emit='full'.")

    def fire(
        self, definition: sp.Definition, slide: sp.Slide, panes: sp.Grouped, span: sp.Span
    ) -> tuple[Iterable[sp.Fired], pa.Table | None]:
        """As the windows slide, counted; nothing is kept beyond what the windows after ``span`` need."""
        fired, kept = slide.fire(panes, span, span.end)
        return _counted(fired), kept


def _counted(fired: Iterable[sp.Fired]) -> Iterator[sp.Fired]:
    for one in fired:
        groups = one.answer.groups
        yield one._replace(marks={COLUMN: groups.sizes[groups.row_ids()]})
