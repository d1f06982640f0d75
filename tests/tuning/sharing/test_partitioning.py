"""The windows of a step are dealt out completely, once each; a task reads the panes of its windows, and no others."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skypane.flow.plan import PARTITIONINGS, Partitioning, StagePlan, WindowScheduling
from skypane.flow.shares import CutLimits, WindowCut, WindowShare
from skypane.model.errors import OptionError
from skypane.model.panes import NO_PANE, PaneRange, Span
from skypane.model.windows import WindowSpec
from skypane.tuning.sharing.stage import window_shares
from skypane.tuning.sharing.windows import cut_windows, partitioning, ring_windows

shapes = st.tuples(st.integers(1, 12), st.integers(1, 12)).map(lambda shape: WindowSpec(*shape))


@st.composite
def cut_limits(draw: st.DrawFn) -> CutLimits:
    window = draw(shapes)
    first = draw(st.one_of(st.just(NO_PANE), st.integers(-20, 20)))
    oldest = draw(st.integers(-60, 60))
    filled = PaneRange(oldest, oldest + draw(st.integers(1, 80)))
    begin = first if first != NO_PANE else int(window.first_window(np.array([filled.first]))[0])
    end = begin + draw(st.integers(0, 40))
    sealed = end * window.panes_per_slide + window.panes_per_window - 1
    span = Span(first, end, sealed, NO_PANE if first == NO_PANE else window.first_pane(first))
    return CutLimits(window, span, filled, looks_back=draw(st.integers(0, 2)), late=draw(st.booleans()))


@settings(max_examples=300, deadline=None)
@given(cutting=cut_limits(), kind=st.sampled_from(PARTITIONINGS), degree=st.integers(1, 9))
def test_every_window_and_every_pane_is_some_tasks_own(cutting: CutLimits, kind: Partitioning, degree: int) -> None:
    check_own(cutting, cut_windows(cutting, kind, degree), degree)


@settings(max_examples=300, deadline=None)
@given(cutting=cut_limits(), set_size=st.integers(1, 20), origin=st.integers(-30, 30), degree=st.integers(1, 9))
def test_so_it_is_with_any_sets(cutting: CutLimits, set_size: int, origin: int, degree: int) -> None:
    """Whatever a tuner chooses."""
    check_own(cutting, cutting.cut(set_size, origin, degree), degree)


def check_own(cutting: CutLimits, cut: WindowCut | None, degree: int) -> None:
    if cut is None:
        assert degree == 1 or len(cutting.windows) < 2
        return
    assert set(cut.tasks) <= set(range(degree))
    panes = np.arange(cutting.filled.first, cutting.filled.end)
    panes = panes[cutting.panes.in_some_window(panes)]
    assert set(cut.owner_of(panes).tolist()) <= set(cut.tasks)
    answered: list[int] = []
    for task in cut.tasks:
        runs = cut.runs_of(task, panes)
        windows = [w for run in runs for w in range(max(run.first, cutting.windows.start), run.end)]
        assert windows == sorted(set(windows))
        assert all(cut.task_of(window) == task for window in windows)
        answered += windows
        read = cut.read_by(task, panes)
        assert (read | (cut.owner_of(panes) != task)).all(), "a task reads what it owns"
        assert read.tolist() == [needed(cut, task, set(windows), pane) for pane in panes.tolist()]
    # Exactly the windows that a pane has a say in, and perhaps others that have no rows.
    asked = {w for w in cutting.windows for pane in panes.tolist() if looks_at(cut, w, pane)}
    assert len(answered) == len(set(answered))
    assert set(answered) >= asked


def looks_at(cut: WindowCut, window: int, pane: int) -> bool:
    """By the definition: the window has the pane, or one of those before that it looks back at does."""
    starts = [(window - back) * cut.panes.panes_per_slide for back in range(cut.looks_back + 1)]
    return any(start <= pane < start + cut.panes.panes_per_window for start in starts)


def needed(cut: WindowCut, task: int, windows: set[int], pane: int) -> bool:
    if any(looks_at(cut, window, pane) for window in windows):
        return True
    owner = int(cut.owner_of(np.array([pane]))[0])
    return owner == task or (task == cut.task_of(cut.span.first) and pane < cut.judged_before)


def cut_of(kind: Partitioning, size: int, slide: int, windows: int, degree: int) -> WindowCut:
    window = WindowSpec(size, slide)
    panes = PaneRange(0, (windows - 1) * window.panes_per_slide + window.panes_per_window)
    cut = cut_windows(CutLimits(window, Span(0, windows, panes.end, 0), panes), kind, degree)
    assert cut is not None
    return cut


def copies(cut: WindowCut, windows: int) -> int:
    panes = np.arange((windows - 1) * cut.panes.panes_per_slide + cut.panes.panes_per_window)
    return sum(int(cut.read_by(task, panes).sum()) for task in cut.tasks)


def test_batches_copy_as_few_records_as_the_paper_says() -> None:
    # Windows of 3 every 1, batches of 3: 5 copies for 3 records, against 9 if each window is on its own.
    assert copies(cut_of("batch", 3, 1, 9, 3), 9) == 3 * 5
    assert copies(cut_of("window", 3, 1, 9, 9), 9) == 9 * 3


@given(window=st.tuples(st.integers(1, 12), st.integers(1, 12)).filter(lambda shape: shape[1] < shape[0]))
def test_in_the_ring_a_set_shares_panes_with_its_neighbours_only(window: tuple[int, int]) -> None:
    spec = WindowSpec(*window)
    shared = spec.panes_per_window - spec.panes_per_slide
    size = ring_windows(spec)
    cut = cut_of("pane", *window, 6 * size, 6)
    panes = np.arange(6 * size * spec.panes_per_slide + shared)
    reads = [np.flatnonzero(cut.read_by(task, panes)) for task in range(6)]
    for task in range(1, 6):
        new = np.setdiff1d(reads[task], reads[task - 1])
        assert len(new) == size * spec.panes_per_slide >= shared
        assert len(np.intersect1d(reads[task], reads[task - 1])) == shared
    for task in range(2, 6):
        assert not len(np.intersect1d(reads[task], reads[task - 2]))


def test_tasks_take_turns_with_windows() -> None:
    cut = cut_of("window", 4, 1, 7, 3)
    assert [cut.task_of(window) for window in range(7)] == [0, 1, 2, 0, 1, 2, 0]
    assert [tuple(run) for run in cut.runs_of(1, np.arange(10))] == [(1, 2), (4, 5)]


def test_only_keys_with_too_many_rows_are_cut() -> None:
    window = WindowSpec(10, 1)
    limits = CutLimits(window, Span(0, 8, 17, 0), PaneRange(0, 17), visits=8)

    def shares(
        rows: dict[int, int], degree: int, how: WindowScheduling = "ranges", cut: CutLimits | None = limits
    ) -> list[WindowShare]:
        plan = StagePlan(key_tasks=degree, scheduling=how, cut_rows=5_000)
        return list(window_shares(plan, rows, 1, cut))

    heavy = shares({3: 1_000, 200: 1}, 4)
    assert [share.cut is None for share in heavy] == [False, False, False, True]
    assert [share.first_of_groups for share in heavy] == [True, False, False, True]
    assert len({share.groups for share in heavy}) == 2
    assert all(share.cut is None for share in shares({3: 600}, 4))
    assert all(share.cut is None for share in shares({3: 1_000}, 4, "round_robin"))
    assert len(shares({3: 1_000}, 2, "feedback")) == 8
    assert all(share.cut is None for share in shares({3: 1_000}, 4, cut=None))


def test_an_unknown_partitioning_is_named_with_the_known_ones() -> None:
    with pytest.raises(OptionError, match=r"'ring' is unknown.*batch, window, pane"):
        partitioning("ring")
