"""Trees in virtual time: the same answers in every tree, work that is conserved; cores and queues only take time."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skypane.model.errors import OptionError
from skypane.tuning.patterns import KeyFarm, PaneFarm, Pattern, WinFarm, WinMapReduce, WinSeq, Work
from skypane.tuning.patterns.extent import Extent
from skypane.tuning.patterns.parse import parse_pattern
from skypane_lab.trees.counting import VirtualCount
from skypane_lab.trees.floor import Machine
from skypane_lab.trees.prices import Prices, VirtualQuery
from skypane_lab.trees.tree_run import Answer, TreeRun, TreeStream
from tests.support.patterns import TREES, trees

WINDOWS = (Extent(12, 4), Extent(12, 1), Extent(10, 4), Extent(6, 6), Extent(4, 6))
PRICES = Prices(source_us=0.5, send_us=0.25, take_us=0.125, order_us=1.0, sink_us=2.0)


class Dear(VirtualQuery):
    """Panes cost two for each record, windows three for each row; a result has at most ten rows."""

    def rows(self, records: float) -> float:
        return min(records, 10)

    def part_us(self, records: float) -> float:
        return 2.0 * records

    def window_us(self, records: float, rows: float) -> float:
        del records
        return 3.0 * rows


def windows_of(stream: TreeStream) -> dict[tuple[int, int], int]:
    """By key and window: how many records it has; only windows that the stream completes."""
    (size, slide), pane = stream.work.windows, stream.work.windows.pane
    found = {}
    for number in range(1 + (stream.panes * pane - size) // slide):
        inside = [p for p in range(stream.panes) if number * slide <= p * pane < number * slide + size]
        for key in range(stream.keys):
            found[key, number] = sum(stream.records(p, key) for p in inside)
    return found


def check(run: TreeRun) -> None:
    """Every window once, in order within its key, with all of its records."""
    answers = run.answers()
    assert {(a.key, a.window): a.records for a in answers} == windows_of(run.stream)
    for key in range(run.stream.keys):
        assert [a.window for a in answers if a.key == key] == list(range(len(answers) // run.stream.keys))


@settings(max_examples=80, deadline=None)
@given(
    tree=trees,
    windows=st.sampled_from(WINDOWS),
    keys=st.integers(1, 4),
    sources=st.integers(1, 3),
    spread=st.booleans(),
    cores=st.integers(1, 4),
    queue_size=st.integers(1, 30),
    bunch=st.integers(1, 9),
    gathered=st.booleans(),
)
def test_answers_are_the_same_in_every_tree(
    tree: Pattern,
    windows: Extent,
    keys: int,
    sources: int,
    spread: bool,
    cores: int,
    queue_size: int,
    bunch: int,
    gathered: bool,
) -> None:
    work = Work(windows)
    if not tree.legal(work):
        return
    stream = TreeStream(work, 17, 30, keys, sources, bunch, gathered)
    check(TreeRun(tree, stream, Dear(), PRICES, Machine(cores, queue_size), spread))


@pytest.mark.parametrize("text", TREES)
@pytest.mark.parametrize("windows", WINDOWS, ids=str)
def test_a_station_for_each_thread(text: str, windows: Extent) -> None:
    tree, work = parse_pattern(text), Work(windows)
    if tree.legal(work):
        run = TreeRun(tree, TreeStream(work, 5, 20, keys=3), Dear(), PRICES)
        assert len(run.stations) == tree.threads(work)
        check(run)


def sequential_us(stream: TreeStream, query: VirtualQuery) -> float:
    """What the windows themselves take."""
    return sum(query.window_us(records, records) for records in windows_of(stream).values())


def test_one_worker_takes_the_sequential_time_and_the_messages() -> None:
    stream = TreeStream(Work(Extent(12, 4)), 20, 30)
    records, answers = 20 * 30, len(windows_of(stream))
    alone = TreeRun(WinSeq(), stream, Dear(), PRICES, Machine(cores=1))
    messages_us = records * (PRICES.source_us + PRICES.take_us) + answers * PRICES.sink_us
    assert alone.busy_us() == pytest.approx(sequential_us(stream, Dear()) + messages_us)
    assert alone.happened.end_us == pytest.approx(alone.busy_us())  # one core is never idle
    farm = TreeRun(WinFarm(1), stream, Dear(), PRICES, Machine(cores=1))
    more_us = records * PRICES.send_us + answers * PRICES.order_us
    assert farm.happened.end_us == pytest.approx(alone.busy_us() + more_us)


@pytest.mark.parametrize("cores", [1, 2, 5, 64])
@pytest.mark.parametrize("queue_size", [1, 2_048])
def test_work_is_conserved(cores: int, queue_size: int) -> None:
    """Whatever the cores and the queues; and it is what the wiring says, copy by copy."""
    windows = Extent(12, 4)
    stream = TreeStream(Work(windows), 20, 30, bunch=3)
    machine = Machine(cores, queue_size)
    records, answers = 20 * 30, len(windows_of(stream))
    copies = sum(20 * windows.copies(4 * pane, 2) for pane in range(30))
    farm = TreeRun(WinFarm(2), stream, Dear(), PRICES, machine)
    expected = sequential_us(stream, Dear()) + records * PRICES.source_us
    expected += copies * (PRICES.send_us + PRICES.take_us) + answers * (PRICES.order_us + PRICES.sink_us)
    assert farm.busy_us() == pytest.approx(expected)
    panes = TreeRun(PaneFarm(2, 1, level=1), stream, Dear(), PRICES, machine)
    expected = records * (PRICES.source_us + PRICES.send_us + PRICES.take_us + 2.0)
    # 30 panes are ordered and taken, then 3 of them, ten rows each, make a window.
    expected += 30 * (PRICES.order_us + PRICES.take_us) + answers * (3.0 * 3 * 10 + PRICES.sink_us)
    assert panes.busy_us() == pytest.approx(expected)


def test_dealing_records_out_costs_each_once() -> None:
    stream = TreeStream(Work(Extent(6, 6)), 20, 12, bunch=7)
    run = TreeRun(WinMapReduce(3, 1, level=1), stream, Dear(), Prices(send_us=1.0))
    # All records once, each window's three parts of 6 or 7 once.
    assert run.busy_us() == pytest.approx(20 * 12 * (1.0 + 2.0) + 12 * 3.0 * 20)
    shares = [station.served for station in run.stations if "parts" in station.name]
    assert shares == [80, 80, 80]


@pytest.mark.parametrize("tree", ["WF(4)", "PF(2,3) L1", "WF(PF(2,2) L2, 2) L1", "KF(3)", "KF(WMR(2,2) L2, 2)"])
def test_more_cores_take_no_longer_and_never_less_than_the_longest_station(tree: str) -> None:
    work = Work(Extent(12, 4 if "WF(PF" in tree else 2))
    stream = TreeStream(work, 30, 60, keys=3)
    ends = []
    for cores in (1, 2, 4, 8, 64):
        run = TreeRun(parse_pattern(tree), stream, Dear(), PRICES, Machine(cores))
        busy = [station.busy_us for station in run.stations]
        assert run.happened.end_us >= max(*busy, sum(busy) / cores) * (1 - 1e-9)
        ends.append(run.happened.end_us)
    assert ends[0] == pytest.approx(sum(busy))
    assert all(later <= earlier * 1.02 for earlier, later in itertools.pairwise(ends))
    assert ends[-1] < 0.6 * ends[0]


def test_fusion_moves_work_and_does_not_change_it() -> None:
    stream = TreeStream(Work(Extent(12, 2)), 30, 60)
    runs = [TreeRun(PaneFarm(2, 3, level), stream, Dear(), PRICES) for level in (0, 1, 2)]
    assert [len(run.stations) for run in runs] == [2 + 3 + 4 + 2, 2 + 3 + 3 + 2, 2 + 3 + 2 + 2]
    # Level 2 orders in each of the three that answer windows, which get a pane if they have a window of it.
    copies = sum(Extent(6, 1).copies(pane, 3) for pane in range(60))
    assert runs[0].busy_us() == pytest.approx(runs[1].busy_us())
    assert runs[2].busy_us() - runs[1].busy_us() == pytest.approx((copies - 60) * PRICES.order_us)


def test_the_slowest_station_says_how_many_records_are_answered() -> None:
    stream = TreeStream(Work(Extent(6, 6)), 600, 40, sources=1, bunch=20)
    source = TreeRun(KeyFarm(1), stream, VirtualCount(0.5), Prices(source_us=4.0))
    assert source.records_per_s() == pytest.approx(1e6 / 4.0, rel=0.01)
    worker = TreeRun(KeyFarm(1), stream, VirtualCount(5.0), Prices(source_us=4.0))
    assert worker.records_per_s() == pytest.approx(1e6 / 5.0, rel=0.01)
    assert float(worker.latencies_us().min()) > float(source.latencies_us().max())  # its queue is full


def test_bunches_that_are_gathered_wait_for_the_next_window() -> None:
    stream = TreeStream(Work(Extent(6, 6)), 800, 20, keys=4, bunch=50)
    at_once = TreeRun(KeyFarm(4), stream, VirtualCount(0.1), Prices(source_us=1.0))
    gathered = TreeRun(KeyFarm(4), replace(stream, gathered=True), VirtualCount(0.1), Prices(source_us=1.0))
    check(gathered)
    # One round more: a bunch of each of the four keys.
    assert gathered.latencies_us().mean() - at_once.latencies_us().mean() == pytest.approx(200.0, abs=60.0)


def test_a_tree_that_cannot_do_the_work_is_refused() -> None:
    run = TreeRun(PaneFarm(2, 2), TreeStream(Work(Extent(6, 6)), 5, 20), Dear())
    with pytest.raises(OptionError, match="Use WinMapReduce"):
        run.answers()


def test_runs_are_repeatable() -> None:
    def run() -> list[tuple[float, Answer]]:
        stream = TreeStream(Work(Extent(12, 2)), 31, 40, keys=2, bunch=3)
        ran = TreeRun(parse_pattern("WF(PF(2,2) L2, 2) L1"), stream, Dear(), PRICES, Machine(3, 5))
        return list(zip([at_us for at_us, _ in ran.happened.results], ran.answers(), strict=True))

    assert run() == run()
