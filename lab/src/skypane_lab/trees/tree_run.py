"""TreeRun: one tree on one stream in virtual time - what came out, when, and who was busy for how long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from skypane.model.groups import Float64Array
from skypane.tuning.patterns.base import Pattern, Work
from skypane_lab.trees.floor import Floor, LiveChanges, Machine
from skypane_lab.trees.message import Mark, Message
from skypane_lab.trees.prices import Prices, VirtualQuery
from skypane_lab.trees.station import Item, Station
from skypane_lab.trees.wiring import Around, wired

_WARM_UP: Final = 0.4


@dataclass(frozen=True)
class TreeStream:
    """Records at full speed: as fast as the first station that is behind lets the sources go on."""

    work: Work
    records_per_pane: int
    """Of all keys and sources together; panes are those of the outermost windows."""
    panes: int
    keys: int = 1
    sources: int = 1
    bunch: int = 1_000
    """So many records of one key, one pane and one source travel as one message at most."""
    gathered: bool = False
    """Whether sources gather bunches: the last records of a pane wait until those of the next have filled theirs; those
    after the last pane are in no window that is answered."""

    def feeds(self) -> list[Iterator[Item]]:
        """One for each source."""
        return [self._feed(source) for source in range(self.sources)]

    def _feed(self, source: int) -> Iterator[Item]:
        pane = self.work.windows.pane
        for number in range(self.panes):
            rounds = self._rounds(number, source)
            if self.gathered and number:
                yield from next(rounds, ())
                yield Mark(number * pane, made=False)
            for bunches in rounds:
                yield from bunches
            yield Mark((number + 1) * pane, sent=not self.gathered)
        if self.gathered:
            yield from next(self._rounds(self.panes, source), ())
            yield Mark(self.panes * pane, made=False)

    def _rounds(self, pane: int, source: int) -> Iterator[list[Message]]:
        """Bunches of all keys in turn, as long as there are any."""
        left = [self.share(pane, key, source) for key in range(self.keys)]
        place = pane * self.work.windows.pane
        while any(left):
            counts = [min(count, self.bunch) for count in left]
            yield [Message(key, place, count, float(count), count) for key, count in enumerate(counts) if count]
            left = [have - count for have, count in zip(left, counts, strict=True)]

    def share(self, pane: int, key: int, source: int) -> int:
        """Records of a key in a pane from a source: as even as can be, the rest in turn."""
        shares = self.keys * self.sources
        whole, rest = divmod(self.records_per_pane, shares)
        return whole + ((key * self.sources + source + pane) % shares < rest)

    def records(self, pane: int, key: int) -> int:
        """From all sources."""
        return sum(self.share(pane, key, source) for source in range(self.sources))


class Answer(NamedTuple):
    """A window that came out."""

    key: int
    window: int
    records: int


@dataclass(frozen=True)
class TreeRun:
    """Simulated when it is asked for anything."""

    tree: Pattern
    stream: TreeStream
    query: VirtualQuery
    prices: Prices = field(default_factory=Prices)
    machine: Machine = field(default_factory=Machine)
    spread: bool = False
    """Whether each source has a copy of the first emitter."""

    @cached_property
    def _ran(self) -> tuple[Sequence[Station], LiveChanges]:
        self.tree.check(self.stream.work)
        around = Around(range(self.stream.keys), self.prices, self.query)
        stations = wired(self.tree, self.stream.work, self.stream.feeds(), around, spread=self.spread)
        return stations, Floor(stations, self.machine).run()

    @property
    def stations(self) -> Sequence[Station]:
        """Sources first, the sink last."""
        return self._ran[0]

    @property
    def happened(self) -> LiveChanges:
        """When what came out."""
        return self._ran[1]

    def answers(self) -> list[Answer]:
        """In the order in which they came out."""
        return [Answer(message.key, message.place, message.records) for _, message in self.happened.results]

    def busy_us(self) -> float:
        """Of all stations together."""
        return sum(station.busy_us for station in self.stations)

    def records_per_s(self) -> float:
        """How many records were answered for in a second once the queues were full, in whole turns of the workers."""
        settled = self._after_warm_up()
        turn = self._turn
        first, last = settled.start, settled.start + (len(settled) - 1) // turn * turn
        ends = sorted(at_us for at_us, _ in self.happened.results)
        return (last - first) * self._records_per_answer / (ends[last] - ends[first]) * 1e6

    def latencies_us(self) -> Float64Array:
        """From when the last record of a window was made until its answer came out."""
        size, slide = self.stream.work.windows
        made, results = self.happened.generated_us, self.happened.results
        found = [
            (at_us, message.place * slide + size) for at_us, message in (results[n] for n in self._after_warm_up())
        ]
        return np.array([at_us - made[end] for at_us, end in found])

    def _after_warm_up(self) -> range:
        """Answers that count: not the first ones, nor the last turn, since after it no record comes any more."""
        last = len(self.happened.results) - self._turn
        return range(int(last * _WARM_UP), last)

    @property
    def _turn(self) -> int:
        """Answers until those who share the windows of the keys have all given one."""
        shared = self.tree.stage_plan().window_tasks or 1
        return min(shared * self.stream.keys, max(1, len(self.happened.results) // 5))

    @property
    def _records_per_answer(self) -> float:
        windows = self.stream.work.windows
        return self.stream.records_per_pane * windows.slide / windows.pane / self.stream.keys
