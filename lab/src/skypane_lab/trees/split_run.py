"""SplitRun: paper 5's system at full speed in virtual time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from skypane_lab.trees.floor import Floor, LiveChanges, Machine
from skypane_lab.trees.message import Mark, Message
from skypane_lab.trees.sending import Collector
from skypane_lab.trees.splitting import NodeCosts, Scheme, Split
from skypane_lab.trees.station import Item, Station

_TURNS = 12
_QUEUE_SIZE = 4_000
"""Records: more than a turn of the ring has, or nodes would wait for each other."""


@dataclass(frozen=True)
class SplitRun:
    """A machine for each node."""

    scheme: Scheme
    costs: NodeCosts = field(default_factory=NodeCosts)
    records_per_slide: int = 32

    @cached_property
    def _ran(self) -> tuple[Station, list[Station], LiveChanges]:
        split = Station("split", [Split(self.scheme, self.costs)], feed=self._feed())
        functions = [self.scheme.node(index, self.costs) for index in range(self.scheme.nodes)]
        nodes = [Station(f"node {index}", [function]) for index, function in enumerate(functions)]
        merge = Station("merge", [Collector(0.0)])
        split.route = lambda message: (nodes[message.path[0]], message._replace(path=()))
        split.marked = nodes
        for node in nodes:
            node.expects(split)
            node.route = lambda message: (
                nodes[message.path[0]] if message.path else merge,
                message._replace(path=()),
            )
        stations = [split, *nodes, merge]
        return split, nodes, Floor(stations, Machine(len(stations), _QUEUE_SIZE)).run()

    def _feed(self) -> Iterator[Item]:
        for slide in range(self.slides):
            yield Message(0, slide, self.records_per_slide, 1.0, self.records_per_slide)
            yield Mark(slide + 1)

    @property
    def slides(self) -> int:
        """Several turns of all nodes after the first window is full."""
        return self.scheme.overlap - 1 + self._turns * self._all_nodes

    @property
    def _all_nodes(self) -> int:
        """Windows in a turn of all of them."""
        return self.scheme.turn * self.scheme.nodes

    @property
    def _turns(self) -> int:
        return max(_TURNS, 1 + 2 * self.scheme.overlap // self._all_nodes)

    def windows(self) -> list[int]:
        """In the order in which they came out."""
        return [message.place for _, message in self._ran[2].results]

    def records_per_s(self) -> float:
        """In whole turns of all nodes, the first half and the last one left out."""
        ends = [at_us for at_us, _ in self._ran[2].results]
        first, last = (turn * self._all_nodes for turn in (self._turns // 2, self._turns - 1))
        return (last - first) * self.records_per_slide / (ends[last] - ends[first]) * 1e6

    def split_load(self) -> float:
        """How much of the time the split was busy."""
        split, _, happened = self._ran
        return split.busy_us / happened.end_us
