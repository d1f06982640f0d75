"""Emission: what a query sends of its windows' answers - whole ones, what changes between them, or your own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa

from skypane.model.errors import OptionError

if TYPE_CHECKING:
    from skypane.flow.definition import Definition
    from skypane.flow.windows.slide.base import Answers, Firing, Slide


class Emission(ABC):
    """Immutable, and without state of its own: the panes that are kept say all that was sent before."""

    name: ClassVar[str]
    """For options, checkpoints and explanations."""
    instants: ClassVar[bool] = False
    """Whether it is about answers that hold at every instant (``.live(...)``) rather than those of windows."""
    adds_up: ClassVar[bool] = False
    """Whether its rows are changes, which add up to the present answer of each key."""
    looks_back: ClassVar[int] = 0
    """How many windows that have fired it looks at again: their panes are kept for it."""

    @property
    def variant(self) -> str:
        """What a checkpoint remembers: with another one, other rows are sent."""
        return self.name

    def without_expiries(self) -> Emission:
        """The emission without records that leave only because they expire."""
        raise OptionError(f"expiries=False is for .emit('updates'), not for .emit({self.name!r}). Leave it out.")

    def columns(self) -> Mapping[str, pa.DataType]:
        """The columns that it adds to every row."""
        return {}

    def check(self, definition: Definition) -> None:  # noqa: B027 - most go with everything
        """Raise :class:`~skypane.model.errors.OptionError` if the query cannot be emitted like this."""

    def check_answers(self, answers: pa.Schema, slide: Slide) -> None:  # noqa: B027 - most take any answer
        """Raise :class:`~skypane.model.errors.SchemaError` if answers of this schema cannot be emitted like this."""

    @abstractmethod
    def fire(self, definition: Definition, slide: Slide, firing: Firing) -> Answers:
        """What the windows of the span send; what the slide keeps and what failed goes with it."""
