"""Capacity: what an engine can do while a step is taken; measured, so it changes later plans and degrees only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Capacity:
    """What an engine can do now; changes later plans and degrees only."""

    slots: int = 1
    """Tasks that it runs at a time."""
    ready: int | None = None
    """Slots that are there and warm; ``None`` if there will be as many as there are tasks."""
    backlog_us: float | None = None
    """How long what waits at the source would take; ``None`` if the source does not tell."""
    first: bool = False
    """Whether the engine was started after the last batch was cut."""
