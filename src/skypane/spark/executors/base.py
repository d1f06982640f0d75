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

    def follow(self, degree: int) -> None:
        """The next steps have so many tasks at a time; returns at once, executors come and go later."""
        ...

    def close(self) -> None:
        """The query has ended."""
        ...


@dataclass(frozen=True)
class GivenSlots:
    """Slots that are there anyway: those of this process, or of executors that nobody moves."""

    given: int

    def describe(self) -> str:
        """In words."""
        return f"degrees only: the {self.given} slots of this machine are there in any case"

    def slots(self) -> int:
        """Those."""
        return self.given

    def ready(self) -> int | None:
        """All of them."""
        return self.given

    def count(self) -> int | None:
        """Nobody counts."""
        return None

    def follow(self, degree: int) -> None:
        """There is nothing to do."""

    def close(self) -> None:
        """There is nothing to do."""
