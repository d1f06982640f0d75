"""Sending: emitters, which say who gets what, and collectors, which put results in order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Final

from skypane.tuning.patterns.extent import Extent, owner
from skypane.tuning.patterns.network import Function, Role
from skypane_lab.trees.message import Message, Step

Chooser = Callable[[Message], list[Message]]


class VirtualFunction(ABC):
    """What a station does with messages, one of its jobs."""

    closes = False
    """Whether it answers when a mark comes; else marks pass."""

    @abstractmethod
    def take(self, message: Message) -> Sequence[Step]:
        """Serve one message."""

    def close(self, until: int) -> Sequence[Step]:
        """Serve a mark, if it closes."""
        del until
        return ()


class Emitter(VirtualFunction):
    """Sends each message to whom its role says; a copy costs."""

    def __init__(self, function: Function, send_us: float) -> None:
        self._copies = _CHOOSERS[function.role](function)
        self._send_us = send_us

    def take(self, message: Message) -> Sequence[Step]:
        """One step for all copies."""
        copies = self._copies(message)
        return (Step(self._send_us * sum(copy.bunch for copy in copies), copies),)


class Collector(VirtualFunction):
    """Holds results until those before have come; of each key they are numbered."""

    def __init__(self, order_us: float, only: Extent | None = None) -> None:
        self._order_us = order_us
        self._only = only
        """Numbers that none of these windows has do not come."""
        self._next: dict[int, int] = defaultdict(int)
        self._held: dict[int, dict[int, Message]] = defaultdict(dict)

    def take(self, message: Message) -> Sequence[Step]:
        """One step, with all that is in order now."""
        held, key, released = self._held[message.key], message.key, []
        held[message.place] = message
        while (place := self._expected(key)) in held:
            released.append(held.pop(place))
            self._next[key] = place + 1
        return (Step(self._order_us * message.bunch, released),)

    def _expected(self, key: int) -> int:
        place = self._next[key]
        while self._only is not None and not self._only.windows_of(place):
            place += 1
        return place


def by_key(function: Function) -> Chooser:
    """A key to one."""
    return lambda message: [_to(message, message.key % function.ways)]


def to_owners(function: Function) -> Chooser:
    """Records to all that own a window of theirs; there the first own window begins at 0."""
    over, ways = function.over, function.ways

    def copies(message: Message) -> list[Message]:
        windows = over.windows_of(message.place)[:ways]
        owners = sorted(owner(window, message.key, ways) for window in windows)
        return [_to(message, index, first_own(index, message.key, ways) * over.slide) for index in owners]

    return copies


def panes_in_turn(function: Function) -> Chooser:
    """A pane to one."""
    pane, ways = function.over.pane, function.ways
    return lambda message: [_to(message, owner(message.place // pane, message.key, ways))]


def dealt(function: Function) -> Chooser:
    """Records of a key in turn."""
    dealt_before: dict[int, int] = defaultdict(int)
    ways = function.ways

    def parts(message: Message) -> list[Message]:
        first = dealt_before[message.key]
        dealt_before[message.key] = last = first + message.bunch
        # Of 0 .. x - 1 there are (x - index + ways - 1) // ways that go to index.
        counts = [(last - index + ways - 1) // ways - (first - index + ways - 1) // ways for index in range(ways)]
        return [
            _to(message._replace(bunch=count, rows=float(count), records=count), index)
            for index, count in enumerate(counts)
            if count
        ]

    return parts


def first_own(index: int, key: int, ways: int) -> int:
    """The first window of a key that one of so many replicas owns."""
    return (index - key) % ways


def _to(message: Message, index: int, earlier: int = 0) -> Message:
    return message._replace(place=message.place - earlier, path=(*message.path, index))


_CHOOSERS: Final[dict[Role, Callable[[Function], Chooser]]] = {
    Role.SEND_KEYS: by_key,
    Role.SEND_WINDOWS: to_owners,
    Role.SEND_PANES: panes_in_turn,
    Role.DEAL: dealt,
}
