"""Station: a virtual thread - what lies before it, what it does, whom it sends to."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from skypane_lab.trees.message import Mark, Message, Step
from skypane_lab.trees.sending import VirtualFunction

Item: TypeAlias = Message | Mark
Sent: TypeAlias = tuple["Station", Item]
Route: TypeAlias = Callable[[Message], tuple["Station", Message]]
"""Whom a message goes to, and as what it gets there."""


@dataclass(frozen=True)
class Piece:
    """What a station is busy with, and what it sends after that."""

    cost_us: float
    sent: Sequence[Sent]


@dataclass(eq=False)
class Station:
    """One thread."""

    name: str
    functions: Sequence[VirtualFunction]
    route: Route | None = None
    """None at the end of the line."""
    marked: Sequence[Station] = ()
    """Who gets its marks."""
    feed: Iterator[Item] | None = None
    """Of a source: what it makes."""
    busy_us: float = 0.0
    served: int = 0
    """Messages, of which a bunch of records stands for many."""
    inbox: deque[tuple[Station, Item]] = field(default_factory=deque)
    held: dict[Station, int] = field(default_factory=lambda: defaultdict(int))
    """By sender: messages that wait."""
    reached: dict[Station, int] = field(default_factory=dict)
    """By sender: its last mark."""

    def expects(self, sender: Station) -> None:
        """Marks count once all senders have sent them."""
        self.reached[sender] = 0

    def pieces(self, sender: Station, item: Item) -> list[Piece]:
        """What there is to do about an item."""
        if isinstance(item, Mark):
            return self._marked(sender, item.until) if item.sent else []
        self.served += item.bunch
        return self._pieces(self._passed(0, item))

    def _marked(self, sender: Station, until: int) -> list[Piece]:
        before = min(self.reached.values(), default=-1)
        self.reached[sender] = until
        until = min(self.reached.values())
        if until <= before:
            return []
        for index, function in enumerate(self.functions):
            if function.closes:
                return self._pieces(self._all_passed(index, function.close(until)))
        return [Piece(0.0, [(receiver, Mark(until)) for receiver in self.marked])]

    def _passed(self, index: int, message: Message) -> list[Step]:
        """Through its functions, from one on."""
        if index == len(self.functions):
            return [Step(0.0, (message,))]
        return self._all_passed(index, self.functions[index].take(message))

    def _all_passed(self, index: int, steps: Sequence[Step]) -> list[Step]:
        """What the functions after this one make of its steps; what costs nothing is one with what comes before."""
        done: list[Step] = []
        for step in steps:
            done.append(Step(step.cost_us, ()))
            for following in (each for message in step.messages for each in self._passed(index + 1, message)):
                if following.cost_us == 0.0:
                    done[-1] = Step(done[-1].cost_us, (*done[-1].messages, *following.messages))
                else:
                    done.append(following)
        return done

    def _pieces(self, steps: Sequence[Step]) -> list[Piece]:
        route = self.route
        if route is None:
            return [Piece(step.cost_us, [(self, message) for message in step.messages]) for step in steps]
        return [Piece(step.cost_us, [route(message) for message in step.messages]) for step in steps]
