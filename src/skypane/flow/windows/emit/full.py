"""Full: every window's whole answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skypane.flow.windows.emit.base import Emission

if TYPE_CHECKING:
    from skypane.flow.definition import Definition
    from skypane.flow.windows.slide.base import Answers, Firing, Slide


class Full(Emission):
    """Sends the whole answer of every window; the default."""

    name = "full"

    def fire(self, definition: Definition, slide: Slide, firing: Firing) -> Answers:
        """Send the answers of the slide as they are."""
        del definition
        return slide.fire(firing, firing.span.end)
