"""Splitting: paper 5's split, nodes and merge - windows, batches of windows, or panes in a ring, split over nodes.

Places are slides: windows have a whole number of them, so that panes are slides, too. Other than paper 3's emitters
paper 5's split sends a record once for each set of windows that has it, even to the same node.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from skypane.model.errors import OptionError
from skypane_lab.trees.message import Message, Step
from skypane_lab.trees.sending import VirtualFunction


class NodeCosts(NamedTuple):
    """Microseconds. What opening and closing windows takes is in ``other_us``."""

    read_us: float = 7.0
    """The split, for each record ..."""
    copy_us: float = 0.8
    """... and for each copy."""
    other_us: float = 23.2
    """A node, for each copy that comes ..."""
    update_us: float = 1.77
    """... and for each window that it updates."""


class Copy(NamedTuple):
    """Where a record goes, and how many windows it updates there."""

    node: int
    updates: int


class Scheme(ABC):
    """How windows of so many slides are distributed over so many nodes."""

    def __init__(self, overlap: int, nodes: int) -> None:
        if overlap < 1 or nodes < 1:
            raise OptionError(f"overlap={overlap}, nodes={nodes}: both must be 1 or more.")
        self.overlap, self.nodes = overlap, nodes

    @abstractmethod
    def copies(self, slide: int) -> list[Copy]:
        """Of a record of this slide."""

    @property
    @abstractmethod
    def turn(self) -> int:
        """How many windows a node takes before the next one does."""

    def owner(self, window: int) -> int:
        """The node that answers a window."""
        return window // self.turn % self.nodes

    @abstractmethod
    def node(self, index: int, costs: NodeCosts) -> VirtualFunction:
        """What one of its nodes does."""


class Batches(Scheme):
    """So many consecutive windows to a node, then the next; with one in a batch, window partitioning."""

    def __init__(self, overlap: int, nodes: int, size: int = 1) -> None:
        super().__init__(overlap, nodes)
        if size < 1:
            raise OptionError(f"size={size}: a batch has 1 window or more.")
        self._size = size

    @property
    def turn(self) -> int:
        """A batch."""
        return self._size

    def copies(self, slide: int) -> list[Copy]:
        """One for each batch; a node that is alone gets each record once."""
        windows = range(max(0, slide - self.overlap + 1), slide + 1)
        if self.nodes == 1:
            return [Copy(0, len(windows))]
        updates: dict[int, int] = defaultdict(int)
        for window in windows:
            updates[window // self._size] += 1
        return [Copy(batch % self.nodes, number) for batch, number in updates.items()]

    def node(self, index: int, costs: NodeCosts) -> VirtualFunction:
        """It updates windows."""
        return Aggregate(self, costs, index)


class Ring(Scheme):
    """A node answers its panes and so many windows that it has all panes its neighbour needs; those it hands on."""

    @property
    def turn(self) -> int:
        """Windows, and new panes, in a turn: n S >= W - S."""
        return max(1, self.overlap - 1)

    def copies(self, slide: int) -> list[Copy]:
        """One, which updates its pane."""
        return [Copy(self.owner(max(0, slide - self.overlap + 1)), 1)]

    def node(self, index: int, costs: NodeCosts) -> VirtualFunction:
        """It updates panes, and makes windows of them."""
        return AggregatePanes(self, costs, index)


class Split(VirtualFunction):
    """The first node."""

    def __init__(self, scheme: Scheme, costs: NodeCosts) -> None:
        self._scheme, self._costs = scheme, costs

    def take(self, message: Message) -> Sequence[Step]:
        """A copy for each set of windows."""
        copies = self._scheme.copies(message.place)
        sent = [message._replace(rows=float(copy.updates), path=(copy.node,)) for copy in copies]
        cost_us = self._costs.read_us + self._costs.copy_us * len(copies)
        return (Step(cost_us * message.bunch, sent),)


class Aggregate(VirtualFunction):
    """A node that updates windows, and answers those that a mark closes."""

    closes = True

    def __init__(self, scheme: Scheme, costs: NodeCosts, index: int) -> None:
        self._scheme, self._costs, self._index = scheme, costs, index
        self._next = 0

    def take(self, message: Message) -> Sequence[Step]:
        """Updates."""
        return (Step(message.bunch * (self._costs.other_us + message.rows * self._costs.update_us), ()),)

    def close(self, until: int) -> Sequence[Step]:
        """Own windows that end here."""
        numbers = range(self._next, until - self._scheme.overlap + 1)
        self._next = max(self._next, numbers.stop)
        return [Step(0.0, (_answer(n),)) for n in numbers if self._scheme.owner(n) == self._index]


class AggregatePanes(VirtualFunction):
    """A node of the ring: panes of its own, those that its neighbour hands on, and the windows of both."""

    closes = True

    def __init__(self, ring: Ring, costs: NodeCosts, index: int) -> None:
        self._ring, self._costs, self._index = ring, costs, index
        self._next = 0
        self._came: dict[int, int] = defaultdict(int)

    def take(self, message: Message) -> Sequence[Step]:
        """Records update their pane; what has none is a pane's result, handed on."""
        if not message.records:
            return [Step(self._costs.other_us, ()), *self._windows_with(message.place)]
        return (Step(message.bunch * (self._costs.other_us + self._costs.update_us), ()),)

    def close(self, until: int) -> Sequence[Step]:
        """Own panes that end here."""
        panes = range(self._next, until)
        self._next = max(self._next, until)
        mine = [pane for pane in panes if self._ring.copies(pane)[0].node == self._index]
        return [step for pane in mine for step in (*self._handed_on(pane), *self._windows_with(pane))]

    def _handed_on(self, pane: int) -> list[Step]:
        others = {self._ring.owner(window) for window in self._windows(pane)} - {self._index}
        return [Step(self._costs.copy_us, (Message(0, pane, 1, 1.0, 0, (node,)),)) for node in sorted(others)]

    def _windows_with(self, pane: int) -> list[Step]:
        steps = []
        for window in self._windows(pane):
            if self._ring.owner(window) == self._index:
                self._came[window] += 1
                if self._came[window] == self._ring.overlap:
                    del self._came[window]
                    steps.append(Step(self._costs.update_us * self._ring.overlap, (_answer(window),)))
        return steps

    def _windows(self, pane: int) -> range:
        return range(max(0, pane - self._ring.overlap + 1), pane + 1)


def _answer(window: int) -> Message:
    return Message(0, window, 1, 1.0, 0)
