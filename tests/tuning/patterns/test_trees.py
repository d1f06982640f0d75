from __future__ import annotations

import pytest

from skypane.model.errors import OptionError
from skypane.tuning.patterns import KeyFarm, PaneFarm, Pattern, WinFarm, WinMapReduce, WinSeq, Work
from skypane.tuning.patterns.extent import Extent, owner
from skypane.tuning.patterns.network import Function, Node, Role, nodes
from skypane.tuning.patterns.parse import parse_pattern

SPATIAL = Work(Extent(1_000, 10), counts="ms")
"""Paper 3's query: windows of a second every 10 ms."""
TUMBLING = Work(Extent(10, 10), counts="s")


@pytest.mark.parametrize(
    ("first", "second", "levels"),
    [
        (1, 1, (2, 1, 1)),
        (1, 5, (1 + 5 + 2, 5 + 2, 5 + 2)),
        (4, 1, (4 + 2 + 1, 4 + 2, 4 + 2)),
        (4, 5, (4 + 5 + 4, 4 + 5 + 3, 4 + 5 + 2)),
    ],
)
def test_fusion_of_two_stages_has_the_threads_of_the_paper(first: int, second: int, levels: tuple[int, ...]) -> None:
    for level, threads in enumerate(levels):
        assert PaneFarm(first, second, level).threads(SPATIAL) == threads + 2
        if first >= 2:
            assert WinMapReduce(first, second, level).threads(SPATIAL) == threads + 2


@pytest.mark.parametrize(
    ("tree", "threads"),
    [
        (WinSeq(), 3),
        (KeyFarm(4), 1 + 4 + 2),
        (WinFarm(60), 64),
        (PaneFarm(1, 60, level=1), 64),
        (WinFarm(PaneFarm(2, 3, level=2), 10, level=1), 64),
        (WinFarm(PaneFarm(2, 4, level=2), 8, level=1), 60),
        (WinFarm(PaneFarm(2, 3, level=2), 10), 1 + 10 * 7 + 1 + 2),
        (WinFarm(PaneFarm(2, 3, level=2), 10, level=2), 1 + 10 * 5 + 1 + 2),
        (WinFarm(PaneFarm(1, 1, level=1), 25, level=2), 1 + 25 + 1 + 2),
        (WinFarm(PaneFarm(1, 3, level=1), 10, level=2), 1 + 10 * 4 + 1 + 2),
        (KeyFarm(PaneFarm(2, 3, level=2), 10), 1 + 10 * 7 + 2),
        (KeyFarm(PaneFarm(2, 3, level=2), 10, level=1), 1 + 10 * 6 + 1 + 2),
        (KeyFarm(WinFarm(PaneFarm(2, 3, level=2), 4, level=1), 2, level=1), 1 + 2 * (1 + 4 * 6) + 1 + 2),
    ],
    ids=str,
)
def test_threads_of_trees(tree: Pattern, threads: int) -> None:
    assert tree.threads(SPATIAL) == threads


def test_fusing_all_to_all_copies_what_was_between() -> None:
    def roles(level: int) -> list[tuple[Role, ...]]:
        return [n.roles for n in nodes(PaneFarm(2, 2, level).network(SPATIAL))]

    panes, windows, order = Role.PANES, Role.WINDOWS, Role.ORDER
    assert roles(1) == [(Role.SEND_PANES,), (panes,), (panes,), (order, Role.SEND_WINDOWS), *[(windows,)] * 2, (order,)]
    assert roles(2) == [(Role.SEND_PANES,), *[(panes, Role.SEND_WINDOWS)] * 2, *[(order, windows)] * 2, (order,)]


@pytest.mark.parametrize(("n", "pane"), [(1, 10), (2, 20), (3, 10), (7, 10), (8, 40), (10, 100), (25, 250)])
def test_inner_panes_are_the_gcd_of_the_window_and_n_slides(n: int, pane: int) -> None:
    tree = WinFarm(PaneFarm(1, 1), n)
    workers = [n for n in nodes(tree.network(SPATIAL)) if Role.PANES in n.roles]
    assert {n.functions[0].over.pane for n in workers} == {pane}
    assert f"panes of {pane} ms" in tree.describe(SPATIAL)
    second = Node((Function(Role.WINDOWS, Extent(1_000 // pane, 10 * n // pane)),))
    assert list(nodes(tree.network(SPATIAL))).count(second) == n


@pytest.mark.parametrize(
    ("tree", "work", "says"),
    [
        (PaneFarm(2, 3), TUMBLING, "do not. Use WinMapReduce"),
        (PaneFarm(2, 3), Work(Extent(3, 5)), "do not"),
        (WinFarm(PaneFarm(2, 3), 100), SPATIAL, "fewer than 100 replicas"),
        (PaneFarm(2, 3), Work(Extent(4, 2), decomposable=False), "Use WinFarm"),
        (WinMapReduce(2, 3), Work(Extent(4, 2), decomposable=False), "Use WinFarm"),
        (KeyFarm(WinFarm(WinMapReduce(2, 1), 4), 2), Work(Extent(4, 2), decomposable=False), "Use WinFarm"),
    ],
    ids=str,
)
def test_what_a_tree_cannot_do_is_refused_with_a_remedy(tree: Pattern, work: Work, says: str) -> None:
    assert not tree.legal(work)
    with pytest.raises(OptionError, match=says):
        tree.check(work)


def test_what_a_tree_can_do() -> None:
    whole = Work(Extent(4, 2), decomposable=False)
    for tree in (WinSeq(), KeyFarm(3), WinFarm(3), KeyFarm(WinFarm(3), 2)):
        assert tree.legal(whole)
        assert tree.legal(TUMBLING)
    assert WinMapReduce(2, 3).legal(TUMBLING)
    assert WinFarm(PaneFarm(2, 3), 99).legal(SPATIAL)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: WinMapReduce(1, 3), "n=1 must be a whole number from 2"),
        (lambda: PaneFarm(0, 3), "n=0 must be a whole number from 1"),
        (lambda: PaneFarm(1, True), "m=True must be"),
        (lambda: PaneFarm(1, 1, 3), "level=3 is unknown"),
        (lambda: KeyFarm(PaneFarm(2, 3)), r"n is missing, .* KeyFarm\(PaneFarm\(2, 3\), 4\)"),
        (lambda: KeyFarm(4, PaneFarm(2, 3)), r"the other way round, KeyFarm\(PaneFarm\(2, 3\), 4\)"),  # type: ignore[arg-type]
        (lambda: PaneFarm(1, 1, 1.0), "level=1.0 is unknown"),  # type: ignore[arg-type]
        (lambda: WinFarm(KeyFarm(2), 2), "WinFarm cannot hold KeyFarm; it replicates PaneFarm, WinMapReduce, WinSeq"),
        (lambda: KeyFarm(KeyFarm(2), 2), "KeyFarm cannot hold KeyFarm"),
        (lambda: WinFarm(WinFarm(2), 2), "WinFarm cannot hold WinFarm"),
        (lambda: WinFarm(3, 2), "must be a pattern"),
        (lambda: WinFarm(0), "n=0 must be"),
        (lambda: WinFarm(PaneFarm(1, 1)), r"n is missing, .* WinFarm\(PaneFarm\(1, 1\), 4\)"),
    ],
)
def test_what_is_no_tree_is_refused(make: object, says: str) -> None:
    with pytest.raises(OptionError, match=says):
        make()  # type: ignore[operator]


TREES = [
    "WS",
    "KF(4)",
    "WF(60)",
    "PF(1,60) L1",
    "WMR(2,3)",
    "WF(PF(2,3) L2, 10) L1",
    "KF(WF(WMR(2,1) L1, 3), 2) L2",
]


@pytest.mark.parametrize("text", TREES)
def test_text_and_tree_are_the_same(text: str) -> None:
    tree = parse_pattern(text)
    assert str(tree) == text
    assert parse_pattern(str(tree)) == tree
    names = {"WinSeq": WinSeq, "KeyFarm": KeyFarm, "WinFarm": WinFarm, "PaneFarm": PaneFarm}
    assert eval(repr(tree), {**names, "WinMapReduce": WinMapReduce}) == tree


def test_whole_names_are_read_too() -> None:
    assert parse_pattern("Win_Farm(PaneFarm(2, 3), 10)") == WinFarm(PaneFarm(2, 3), 10)
    assert parse_pattern("WinSeq()") == WinSeq()
    assert parse_pattern("WinFarm(WinSeq( ), 3) L1") == WinFarm(3, level=1)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "KF",
        "KF(",
        "KF(2",
        "KF(2))",
        "XF(2)",
        "PF(2)",
        "PF(2,3,4,5)",
        "KF(two)",
        "KF;2",
        "KF()",
        "KF(2,)",
        "WS(",
        "WS(,)",
    ],
)
def test_text_that_is_no_tree_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match="is no tree of patterns"):
        parse_pattern(text)


def test_a_tree_describes_itself() -> None:
    tree = KeyFarm(WinFarm(PaneFarm(2, 3, level=2), 10, level=1), 2)
    assert tree.describe(SPATIAL).splitlines() == [
        "KF(WF(PF(2,3) L2, 10) L1, 2): keys are distributed over 2 by their hash",
        "  WF(PF(2,3) L2, 10) L1: the windows of a key go to 10 in turn, a record to 10 of them",
        "    PF(2,3) L2: 2 answer panes of 100 ms, 3 answer windows of 10 panes, one every 1",
    ]
    assert tree.workers == 2 * 10 * 5


def test_places_and_windows_against_the_definition() -> None:
    for size in range(1, 8):
        for slide in range(1, 10):
            windows = Extent(size, slide)
            for place in range(40):
                having = [j for j in range(60) if j * slide <= place < j * slide + size]
                assert list(windows.windows_of(place)) == having
                for n in (1, 2, 3):
                    owners = {owner(j, 5, n) for j in having}
                    assert windows.copies(place, n) == len(owners)


def test_trees_are_values() -> None:
    assert WinFarm(PaneFarm(2, 3), 10) == WinFarm(PaneFarm(2, 3), 10)
    assert len({WinFarm(2), WinFarm(WinSeq(), 2), KeyFarm(2)}) == 2
    assert WinFarm(2).fused(1) == WinFarm(2, level=1)
    assert WinFarm(n=2) == WinFarm(2)
    with pytest.raises(AttributeError):
        WinFarm(2).degree = 3  # type: ignore[misc]
