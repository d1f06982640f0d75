"""Executors: who gives the slots that a degree needs; one interface for every way of running Spark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class Executors(Protocol):
    """Slots that follow the degrees of a query, or do not."""

    def describe(self) -> str:
        """What becomes of executors when degrees change, in words."""
        ...

    def slots(self) -> int:
        """How many tasks Spark runs at a time now."""
        ...

    def ready(self) -> int | None:
        """Slots that are there and warm; ``None`` if there will be as many as tasks wait for."""
        ...

    def count(self) -> int | None:
        """How many executors there are; ``None`` where there are none beside this process."""
        ...

    def scale_to(self, degree: int) -> None:
        """The next steps have so many tasks at a time; returns at once, executors come and go later."""
        ...

    def close(self) -> None:
        """The query has ended."""
        ...


@dataclass(frozen=True)
class GivenSlots:
    """A fixed number of slots: those of this process, or of executors whose number does not change."""

    given: int

    def describe(self) -> str:
        """One line for ``explain()``."""
        return f"degrees only: the {self.given} slots of this machine are there in any case"

    def slots(self) -> int:
        """The number of slots."""
        return self.given

    def ready(self) -> int | None:
        """Every slot is ready."""
        return self.given

    def count(self) -> int | None:
        """``None``: the number of executors does not matter."""
        return None

    def scale_to(self, degree: int) -> None:
        """There is nothing to do."""

    def close(self) -> None:
        """There is nothing to do."""
