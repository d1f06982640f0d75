"""An emission of your own: whole answers, with how many rows each has, so that a reader knows when it has them all."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

import skypane as sp

COLUMN = "answer_rows"


class Counted(sp.extend.Emission):
    """Adds the column ``answer_rows``."""

    name = "counted"

    def columns(self) -> Mapping[str, pa.DataType]:
        """What every row gets."""
        return {COLUMN: pa.int64()}

    def check(self, definition: sp.extend.Definition) -> None:
        """Corrected answers do not come this way."""
        if definition.allowed_lateness_us:
            raise sp.OptionError("lateness(allowed=...) corrects answers without counting them. Use .emit('full').")

    def fire(
        self, definition: sp.extend.Definition, slide: sp.extend.Slide, firing: sp.extend.Firing
    ) -> sp.extend.Answers:
        """As the windows slide, counted; nothing is kept beyond what the windows after the span need."""
        answers = slide.fire(firing, firing.span.end)
        return answers._replace(fired=[_counted(one) for one in answers.fired])


def _counted(fired: sp.extend.Fired) -> sp.extend.Fired:
    groups = fired.answer.groups
    return fired._replace(marks={COLUMN: groups.sizes[groups.row_ids()]})
