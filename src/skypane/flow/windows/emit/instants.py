"""InstantEmission: what is sent of an answer that holds at every instant: of who enters it, and who leaves."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from skypane.flow.windows.emit.base import Emission

if TYPE_CHECKING:
    from skypane.flow.definition import Definition
    from skypane.flow.live.base import Happened
    from skypane.flow.windows.slide.base import Fired, Slide
    from skypane.model.panes import Span
    from skypane.queries.base import Grouped


class InstantEmission(Emission):
    """For queries with ``.live(...)``."""

    instants = True

    @abstractmethod
    def sent(self, happened: Happened) -> Happened:
        """The part of what happened for which rows are sent."""

    @abstractmethod
    def marks(self, happened: Happened, expires_us: pa.Array, time_type: pa.DataType) -> Mapping[str, pa.Array]:
        """The columns that it adds to the rows, which are those of ``happened``, in its order."""

    def fire(
        self, definition: Definition, slide: Slide, panes: Grouped, span: Span
    ) -> tuple[Iterable[Fired], pa.Table | None]:
        """There are no windows to fire."""
        del definition, slide, panes, span
        raise TypeError(f"{type(self).__name__} is about instants, not windows")
