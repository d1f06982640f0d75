"""Prices: what messages take; VirtualQuery: what a query's own work takes, and how large its results are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True)
class Prices:
    """Microseconds for each message, whatever the query."""

    source_us: float = 0.0
    """To make a record."""
    send_us: float = 0.0
    """An emitter, for each copy that it sends."""
    take_us: float = 0.0
    """Whoever answers, for each message that comes."""
    order_us: float = 0.0
    """A collector, for each result."""
    sink_us: float = 0.0


class Taken(Enum):
    """What comes to a worker."""

    FOR_PARTS = "records, of which it answers panes or parts of windows"
    FOR_WINDOWS = "records, of which it answers windows"
    RESULTS = "results, of which it answers windows"


class VirtualQuery(ABC):
    """One query on one machine: times in microseconds, of rows that are only counted."""

    @abstractmethod
    def rows(self, records: float) -> float:
        """How many rows the result of so many records has."""

    def take_us(self, taken: Taken, rows: float, windows: int) -> float:
        """When rows come that are in so many of a worker's windows, or panes."""
        del taken, rows, windows
        return 0.0

    @abstractmethod
    def part_us(self, records: float) -> float:
        """To answer a pane, or a part of a window, that is complete."""

    @abstractmethod
    def window_us(self, records: float, rows: float) -> float:
        """To answer a window of so many records that is complete, from so many rows; as many if they are raw."""
