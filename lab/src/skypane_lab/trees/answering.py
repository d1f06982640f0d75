"""Answering: panes, parts and windows of records, closed by marks; windows of results, complete when all have come."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from skypane.tuning.patterns.extent import Extent, owner
from skypane.tuning.patterns.network import Function
from skypane_lab.trees.message import Message, Step
from skypane_lab.trees.prices import Prices, Taken, VirtualQuery
from skypane_lab.trees.sending import VirtualFunction


@dataclass(frozen=True)
class Seat:
    """Where a station is: which keys reach it, the how-manieth on its side it is, and from when on its time counts."""

    keys: Sequence[int]
    index: int
    begins: Callable[[int], int]
    """By key: the time that is 0 here."""


class OfRecords(VirtualFunction):
    """Answers intervals of records once a mark says that all have come; empty ones, too."""

    closes = True
    taken = Taken.FOR_PARTS

    def __init__(self, extent: Extent, seat: Seat, prices: Prices, query: VirtualQuery) -> None:
        self._extent, self._seat, self._prices, self._query = extent, seat, prices, query
        self._next = dict.fromkeys(seat.keys, 0)
        self._seen: dict[int, dict[int, int]] = {key: defaultdict(int) for key in seat.keys}

    def take(self, message: Message) -> Sequence[Step]:
        """Keep them."""
        self._seen[message.key][message.place] += message.records
        windows = len(self._extent.windows_of(message.place))
        took_us = self._query.take_us(self.taken, message.rows, windows) + self._prices.take_us * message.bunch
        return (Step(took_us, ()),)

    def close(self, until: int) -> Sequence[Step]:
        """Answer what ends before the mark, key by key."""
        return [step for key in self._seat.keys for step in self._closed(key, until - self._seat.begins(key))]

    def _closed(self, key: int, until: int) -> list[Step]:
        steps, (size, slide) = [], self._extent
        while (start := self._next[key] * slide) + size <= until:
            seen = self._seen[key]
            if self._mine(self._next[key], key):
                records = sum(count for place, count in seen.items() if start <= place < start + size)
                place = self._numbered(self._next[key])
                steps.append(Step(self._answer_us(records), (Message(key, place, 1, self._rows(records), records),)))
            self._next[key] += 1
            for place in [place for place in seen if place < start + slide]:
                del seen[place]
        return steps

    def _mine(self, number: int, key: int) -> bool:
        del number, key
        return True

    def _numbered(self, number: int) -> int:
        return number

    def _rows(self, records: int) -> float:
        return self._query.rows(records)

    def _answer_us(self, records: int) -> float:
        return self._query.part_us(records)


class Panes(OfRecords):
    """One of those who answer panes in turn."""

    def __init__(self, function: Function, seat: Seat, prices: Prices, query: VirtualQuery) -> None:
        pane = function.over.pane
        super().__init__(Extent(pane, pane), seat, prices, query)
        self._ways = function.ways

    def _mine(self, number: int, key: int) -> bool:
        return owner(number, key, self._ways) == self._seat.index % self._ways


class Parts(OfRecords):
    """One of those who answer their part of every window."""

    def __init__(self, function: Function, seat: Seat, prices: Prices, query: VirtualQuery) -> None:
        super().__init__(function.over, seat, prices, query)
        self._ways = function.ways

    def _numbered(self, number: int) -> int:
        return number * self._ways + self._seat.index


class RawWindows(OfRecords):
    """Answers windows of records."""

    taken = Taken.FOR_WINDOWS

    def __init__(self, function: Function, seat: Seat, prices: Prices, query: VirtualQuery) -> None:
        super().__init__(function.over, seat, prices, query)

    def _answer_us(self, records: int) -> float:
        return self._query.window_us(records, records)


@dataclass
class _Window:
    came: int = 0
    rows: float = 0.0
    records: int = 0


class WindowsOfResults(VirtualFunction):
    """Answers windows of so many results as soon as all of them have come."""

    def __init__(self, function: Function, prices: Prices, query: VirtualQuery) -> None:
        self._over, self._prices, self._query = function.over, prices, query
        self._open: dict[tuple[int, int], _Window] = defaultdict(_Window)

    def take(self, message: Message) -> Sequence[Step]:
        """Keep it, and answer what is complete."""
        windows = self._over.windows_of(message.place)
        took_us = self._query.take_us(Taken.RESULTS, message.rows, len(windows)) + self._prices.take_us * message.bunch
        steps = [Step(took_us, ())]
        for number in windows:
            window = self._open[message.key, number]
            window.came += 1
            window.rows += message.rows
            window.records += message.records
            if window.came == self._over.size:
                steps.append(self._answer(self._open.pop((message.key, number)), message.key, number))
        return steps

    def _answer(self, window: _Window, key: int, number: int) -> Step:
        took_us = self._query.window_us(window.records, window.rows)
        return Step(took_us, (Message(key, number, 1, self._query.rows(window.records), window.records),))
