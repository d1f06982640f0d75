"""Full: every window's whole answer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pyarrow as pa

from skypane.flow.windows.emit.base import Emission

if TYPE_CHECKING:
    from skypane.flow.definition import Definition
    from skypane.flow.windows.slide.base import Fired, Slide
    from skypane.model.panes import Span
    from skypane.queries.base import Grouped


class Full(Emission):
    """The default."""

    name = "full"

    def fire(
        self, definition: Definition, slide: Slide, panes: Grouped, span: Span
    ) -> tuple[Iterable[Fired], pa.Table | None]:
        """As the windows slide."""
        del definition
        return slide.fire(panes, span, span.end)
