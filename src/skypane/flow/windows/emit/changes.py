"""Changes: rows with +1 or -1 that turn the answer of the window before into this one's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from skypane.flow.windows.emit.base import Emission
from skypane.flow.windows.emit.differences import check_comparable, differences
from skypane.model.columns import CHANGE
from skypane.model.errors import OptionError

if TYPE_CHECKING:
    from skypane.flow.definition import Definition
    from skypane.flow.windows.slide.base import Answers, Firing, Slide


class Changes(Emission):
    """Far fewer rows than whole answers where windows overlap."""

    name = "changes"
    adds_up = True
    looks_back = 1

    def columns(self) -> Mapping[str, pa.DataType]:
        """+1 for a row that enters the answer, -1 for one that leaves it."""
        return {CHANGE: pa.int8()}

    def check(self, definition: Definition) -> None:
        """Answers that are corrected later have no next window to be compared with."""
        if definition.allowed_lateness_us:
            raise OptionError(
                "lateness(allowed=...) corrects whole answers, but .emit('changes') sends differences. Use "
                ".emit('full')."
            )

    def check_answers(self, answers: pa.Schema, slide: Slide) -> None:
        """Rows must be comparable, unless the slide knows without comparing."""
        if not slide.finds_changes:
            check_comparable(answers)

    def fire(self, definition: Definition, slide: Slide, firing: Firing) -> Answers:
        """Read off the slide where it knows, else found by comparing whole answers."""
        if slide.finds_changes:
            return slide.changes(firing)
        span = firing.span
        whole = slide.fire(replace(firing, span=span._replace(first=span.first - 1)), span.end - 1)
        return whole._replace(fired=[*differences(definition, whole.fired, span)])
