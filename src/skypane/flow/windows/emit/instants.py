"""InstantEmission: what is sent of an answer that holds at every instant: of who enters it, and who leaves."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from skypane.flow.windows.emit.base import Emission

if TYPE_CHECKING:
    from skypane.flow.definition import Definition
    from skypane.flow.live.base import LiveChanges
    from skypane.flow.windows.slide.base import Answers, Firing, Slide


class InstantEmission(Emission):
    """For queries with ``.live(...)``."""

    instants = True

    @abstractmethod
    def sent(self, changes: LiveChanges) -> LiveChanges:
        """The part of what happened for which rows are sent."""

    @abstractmethod
    def marks(self, changes: LiveChanges, expires_us: pa.Array, time_type: pa.DataType) -> Mapping[str, pa.Array]:
        """The columns that it adds to the rows, which are those of ``happened``, in its order."""

    def fire(self, definition: Definition, slide: Slide, firing: Firing) -> Answers:
        """There are no windows to fire."""
        del definition, slide, firing
        raise TypeError(f"{type(self).__name__} is about instants, not windows")
