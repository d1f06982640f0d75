"""Wiring: a tree's network as stations - the nodes that the tree has, one station each, between sources and a sink."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from skypane.tuning.patterns.base import Pattern, Work
from skypane.tuning.patterns.network import Block, Function, Node, Pipe, Role, Side
from skypane_lab.trees.answering import Panes, Parts, RawWindows, Seat, WindowsOfResults
from skypane_lab.trees.message import Message, Step
from skypane_lab.trees.prices import Prices, VirtualQuery
from skypane_lab.trees.sending import Collector, Emitter, VirtualFunction, first_own
from skypane_lab.trees.station import Item, Route, Station

_PARTIAL: Final = {Role.PANES: Panes, Role.PARTS: Parts}


@dataclass(frozen=True)
class Scope:
    """One of the blocks of a side, and the emitter that sends to it."""

    side: int
    """Sides are numbered as they are built."""
    index: int
    sends: Function

    def begins(self, key: int) -> int:
        """By how much the time, or the numbers, of its first own window are later than outside."""
        return self._first(key) * self.sends.over.slide if self._windows else 0

    def numbered(self, key: int, number: int) -> int:
        """The number outside of a window inside."""
        return self._first(key) + self.sends.ways * number if self._windows else number

    def has(self, key: int) -> bool:
        """Whether a key comes to it."""
        return self.sends.role is not Role.SEND_KEYS or key % self.sends.ways == self.index

    @property
    def _windows(self) -> bool:
        return self.sends.role is Role.SEND_WINDOWS

    def _first(self, key: int) -> int:
        return first_own(self.index, key, self.sends.ways)


@dataclass(frozen=True)
class Around:
    """What a block that is being built is in."""

    keys: Sequence[int]
    prices: Prices
    query: VirtualQuery
    scopes: tuple[Scope, ...] = ()
    led_by: tuple[Function, ...] = ()
    """Emitters whose choices have not been followed yet."""
    raw: bool = True
    """Whether records come; else results."""

    def seat(self) -> Seat:
        """Of a node here."""
        keys = [key for key in self.keys if all(scope.has(key) for scope in self.scopes)]
        index = self.scopes[-1].index if self.scopes else 0
        return Seat(keys, index, lambda key: sum(scope.begins(key) for scope in self.scopes))


@dataclass(frozen=True)
class Placed:
    """A block of stations."""

    entry: Callable[[tuple[int, ...]], Station]
    """Who gets what was sent this way."""
    entries: Sequence[Station]
    exits: Sequence[tuple[Station, tuple[Scope, ...]]]
    stations: Sequence[Station]


class _Passing(VirtualFunction):
    """Sources and sinks."""

    def __init__(self, cost_us: float) -> None:
        self._cost_us = cost_us

    def take(self, message: Message) -> Sequence[Step]:
        return (Step(self._cost_us * message.bunch, (message,)),)


def wired(
    tree: Pattern, work: Work, feeds: Sequence[Iterator[Item]], around: Around, *, spread: bool = False
) -> list[Station]:
    """Sources first, the sink last; ``spread`` gives every source a copy of the first emitter."""
    block = tree.network(work)
    first: tuple[Function, ...] = ()
    if spread and isinstance(block, Pipe) and isinstance(block.blocks[0], Node) and block.blocks[0].only_sends:
        first, block = block.blocks[0].functions, Pipe(block.blocks[1:])
    inside = _Builder().placed(block, replace(around, led_by=first))
    prices = around.prices
    sources = [
        Station("source", [_Passing(prices.source_us), *(Emitter(each, prices.send_us) for each in first)], feed=feed)
        for feed in feeds
    ]
    _connect([(source, ()) for source in sources], inside, 0)
    sink = Station("sink", [_Passing(prices.sink_us)])
    _connect(inside.exits, Placed(lambda _: sink, [sink], [], [sink]), 0)
    return [*sources, *inside.stations, sink]


class _Builder:
    def __init__(self) -> None:
        self._sides = 0

    def placed(self, block: Block, around: Around) -> Placed:
        """Any block."""
        if isinstance(block, Node):
            return self._node(block, around)
        return self._side(block, around) if isinstance(block, Side) else self._pipe(block, around)

    def _node(self, node: Node, around: Around) -> Placed:
        raw, functions = around.raw, []
        for index, function in enumerate(node.functions):
            following = node.functions[index + 1] if index + 1 < len(node.functions) else None
            functions.append(_function(function, following, replace(around, raw=raw)))
            raw = raw and function.role not in _PARTIAL
        station = Station(" + ".join(role.value for role in node.roles), functions)
        return Placed(lambda _: station, [station], [(station, around.scopes)], [station])

    def _side(self, side: Side, around: Around) -> Placed:
        self._sides += 1
        number, (sends, *others) = self._sides, around.led_by
        parts = [
            self.placed(
                block,
                replace(around, scopes=(*around.scopes, Scope(number, index, sends)), led_by=tuple(others)),
            )
            for index, block in enumerate(side.blocks)
        ]
        return Placed(
            lambda path: parts[path[0]].entry(path[1:]),
            [station for part in parts for station in part.entries],
            [found for part in parts for found in part.exits],
            [station for part in parts for station in part.stations],
        )

    def _pipe(self, pipe: Pipe, around: Around) -> Placed:
        parts: list[Placed] = []
        for block in pipe.blocks:
            parts.append(self.placed(block, around))
            last = _last(block)
            around = replace(around, led_by=_trailing(last), raw=around.raw and not _partial(block))
            if len(parts) > 1:
                _connect(parts[-2].exits, parts[-1], len(around.scopes))
        stations = [station for part in parts for station in part.stations]
        return Placed(parts[0].entry, parts[0].entries, parts[-1].exits, stations)


def _function(function: Function, following: Function | None, around: Around) -> VirtualFunction:
    role, prices, query = function.role, around.prices, around.query
    if role.sends:
        return Emitter(function, prices.send_us)
    if role is Role.ORDER:
        alone = following is None or following.role.sends
        return Collector(prices.order_us, None if alone or following is None else following.over)
    if role in _PARTIAL:
        return _PARTIAL[role](function, around.seat(), prices, query)
    if around.raw:
        return RawWindows(function, around.seat(), prices, query)
    return WindowsOfResults(function, prices, query)


def _connect(exits: Sequence[tuple[Station, tuple[Scope, ...]]], to: Placed, shared: int) -> None:
    """Those that leave send to what comes next; the outermost so many scopes have both."""
    for station, scopes in exits:
        station.route = _route(scopes[shared:], to)
        station.marked = to.entries
        for entry in to.entries:
            entry.expects(station)


def _route(scopes: tuple[Scope, ...], to: Placed) -> Route:
    """What leaves a scope is numbered as outside; who sends into one has done so already."""
    left = tuple(reversed(scopes))

    def route(message: Message) -> tuple[Station, Message]:
        place = message.place
        for scope in left:
            place = scope.numbered(message.key, place)
        return to.entry(message.path), message._replace(place=place, path=())

    return route


def _trailing(node: Node) -> tuple[Function, ...]:
    """The emitters with which a node ends."""
    count = next((n for n, function in enumerate(reversed(node.functions)) if not function.role.sends), None)
    return node.functions[len(node.functions) - count :] if count is not None else node.functions


def _last(block: Block) -> Node:
    return block if isinstance(block, Node) else _last(block.blocks[-1])


def _partial(block: Block) -> bool:
    """Whether results come out of it instead of records."""
    if isinstance(block, Node):
        return any(role in _PARTIAL for role in block.roles)
    return any(_partial(part) for part in block.blocks)
