"""Program: a definition and the processing that runs it, built once before the first step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from skypane.flow.definition import Definition
from skypane.flow.processing.base import Processing
from skypane.flow.processing.choice import processing_of


@dataclass(frozen=True)
class Program:
    """Immutable, so that tasks and threads can share it; the processing holds its slide or its live set."""

    definition: Definition
    processing: Processing

    @classmethod
    def of(cls, definition: Definition) -> Program:
        """Build the processing that the query and its windows need."""
        return cls(definition, processing_of(definition))

    def __reduce__(self) -> tuple[Callable[[Definition], Program], tuple[Definition]]:
        """Send workers the definition alone: each builds the rest, which is cheap."""
        return _built, (self.definition,)


def _built(definition: Definition) -> Program:
    """A function of the module: the code of a class method would be sent along."""
    return Program.of(definition)
