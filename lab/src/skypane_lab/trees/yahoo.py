"""The Yahoo streaming benchmark on virtual threads: views of advertisements counted by campaign, tumbling windows.

Sources make events, keep views (one in three) and look the campaign up; each has a copy of the tree's first emitter.
What runs through the tree is views. Windows of 10 s cost as much for each record as shorter ones do, so that shorter
ones are simulated.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from skypane.tuning.patterns import KeyFarm, Pattern, WinMapReduce, Work
from skypane.tuning.patterns.extent import Extent
from skypane_lab.trees.counting import VirtualCount
from skypane_lab.trees.floor import Machine
from skypane_lab.trees.prices import Prices
from skypane_lab.trees.tree_run import TreeRun, TreeStream

EVENTS_PER_VIEW: Final = 3
CAMPAIGNS: Final = 100
_WORK: Final = Work(Extent(10, 10), counts="s")
_WINDOWS: Final = 8


class Nodes(NamedTuple):
    """What each of the benchmark's nodes takes, in microseconds: each less than one, says paper 3."""

    make_us: float = 0.6
    filter_us: float = 0.45
    look_up_us: float = 0.75
    send_us: float = 0.35
    take_us: float = 0.35
    update_us: float = 0.4

    @property
    def source_us(self) -> float:
        """For each view that a source lets through."""
        return EVENTS_PER_VIEW * (self.make_us + self.filter_us) + self.look_up_us


NODES: Final = Nodes()
TASK_US: Final = 7.3
"""What scheduling a task takes: chosen so that without batches 64 threads make 3 M events/s, as paper 3's do."""
_TASKS_PER_VIEW: Final = 2 * EVENTS_PER_VIEW + 1
"""Source and filter for each event, then the look-up; counting is one more."""


def by_campaign(sources: int, workers: int, campaigns: int = CAMPAIGNS) -> TreeRun:
    """Paper 3's program: a thread for each source and each replica of a key farm."""
    bunch = max(1, 1_600 // campaigns)
    return _run(KeyFarm(workers), sources, campaigns, bunch, sources + workers + 1)


def within_windows(sources: int, workers: int) -> TreeRun:
    """All events of one campaign, whose windows so many workers share."""
    # A bunch is dealt out to all workers: eight records for each.
    return _run(WinMapReduce(workers, 1, level=1), sources, 1, 8 * workers, sources + workers + 2)


def as_tasks(threads: int, batch: int, campaigns: int = CAMPAIGNS) -> TreeRun:
    """As tasks of a pool: nodes have no threads of their own, one node counts each campaign, events come in batches."""
    sent = NODES._replace(send_us=NODES.send_us / batch, take_us=NODES.take_us / batch)
    source_us = sent.source_us + (_TASKS_PER_VIEW - 1) * TASK_US / batch
    prices = Prices(source_us, sent.send_us, sent.take_us)
    rounds = max(1, 6 // batch)
    stream = TreeStream(
        _WORK, threads * campaigns * batch * rounds, _WINDOWS, campaigns, threads, bunch=batch, gathered=batch > 1
    )
    machine = Machine(threads, queue_size=max(64, 2 * batch), task_us=TASK_US)
    return TreeRun(KeyFarm(campaigns), stream, VirtualCount(sent.update_us), prices, machine, spread=True)


def _run(tree: Pattern, sources: int, campaigns: int, bunch: int, threads: int) -> TreeRun:
    prices = Prices(NODES.source_us, NODES.send_us, NODES.take_us)
    per_window = sources * campaigns * bunch * max(1, 3_200 // (campaigns * bunch))
    stream = TreeStream(_WORK, per_window, _WINDOWS, campaigns, sources, bunch)
    return TreeRun(tree, stream, VirtualCount(NODES.update_us), prices, Machine(threads), spread=True)


def events_per_s(run: TreeRun) -> float:
    """Events, of which the tree only sees the views."""
    return EVENTS_PER_VIEW * run.records_per_s()
