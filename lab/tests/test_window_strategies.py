"""Laws of every window strategy: one update per window at a time, nothing lost, locality, merges for idle workers."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skypane.model.errors import OptionError
from skypane_lab.completion import WindowCompletion
from skypane_lab.strategies.window_strategies import WINDOW_STRATEGIES, window_strategy
from skypane_lab.strategies.window_strategy import Task


@settings(max_examples=100, deadline=None)
@given(
    name=st.sampled_from(WINDOW_STRATEGIES),
    degree=st.integers(1, 5),
    steps=st.lists(st.tuples(st.booleans(), st.integers(0, 5), st.integers(0, 7)), max_size=80),
    restart_at=st.integers(0, 80),
)
def test_partials_are_used_once_and_updates_of_a_window_never_overlap(
    name: str, degree: int, steps: list[tuple[bool, int, int]], restart_at: int
) -> None:
    strategy = window_strategy(name, degree)
    running: dict[int, Task] = {}
    content: dict[int, set[int]] = {}  # what went into a partial
    done: dict[int, set[int]] = {}
    offered: dict[int, set[int]] = {}
    number = 0

    def start() -> None:
        for worker, task in strategy.assign():
            assert worker not in running
            assert 0 <= worker < degree
            if not task.is_merge:
                assert not any(t.window == task.window and not t.is_merge for t in running.values())
            running[worker] = task

    def finish(worker: int) -> None:
        nonlocal number
        task = running.pop(worker)
        parts = content.pop(task.partial)
        if task.other is None:
            assert not parts & done.setdefault(task.window, set())
            done[task.window] |= parts
            strategy.finish(worker)
        else:
            number += 1
            content[number] = parts | content.pop(task.other)
            strategy.finish(worker, number)

    for index, (offers, window, pick) in enumerate(steps):
        if index == restart_at:
            body = json.loads(json.dumps(strategy.to_json()))
            strategy = window_strategy(name, degree)
            strategy.restore(body)
        if offers:
            number += 1
            content[number] = {number}
            offered.setdefault(window, set()).add(number)
            strategy.offer(window, number)
        elif running:
            finish(sorted(running)[pick % len(running)])
        start()
    while running:
        finish(next(iter(running)))
        start()
    assert done == offered
    assert strategy.waiting == 0
    assert strategy.idle == degree


def test_round_robin_leaves_a_worker_idle_rather_than_give_it_anothers_window() -> None:
    strategy = window_strategy("win_rr", 2)
    strategy.offer(0, 1)
    strategy.offer(2, 2)
    assert strategy.assign() == [(0, Task(0, 1))]
    assert strategy.waiting == 1


def test_feedback_gives_a_worker_the_same_window_first() -> None:
    strategy = window_strategy("win_fb", 2)
    strategy.offer(7, 1)
    strategy.offer(8, 2)
    assert strategy.assign() == [(0, Task(7, 1)), (1, Task(8, 2))]
    strategy.offer(3, 3)
    strategy.offer(8, 4)
    strategy.finish(1)
    assert strategy.assign() == [(1, Task(8, 4))]  # although window 3 is older
    strategy.finish(1)
    assert strategy.assign() == [(1, Task(3, 3))]


def test_merges_only_where_no_window_can_be_updated() -> None:
    strategy = window_strategy("win_fb_merge", 3)
    for partial in (1, 2, 3):
        strategy.offer(0, partial)
    strategy.offer(1, 4)
    assert strategy.assign() == [(0, Task(0, 1)), (1, Task(1, 4)), (2, Task(0, 2, 3))]
    strategy.finish(2, 5)
    assert strategy.assign() == []  # one partial waits, and its window is being updated
    strategy.finish(0)
    assert [task for _, task in strategy.assign()] == [Task(0, 5)]
    assert window_strategy("win_fb", 3).name == "win_fb"


def test_fewer_workers_end_what_they_do_and_get_nothing_more() -> None:
    strategy = window_strategy("win_fb", 3)
    for window in range(3):
        strategy.offer(window, window)
    assert len(strategy.assign()) == 3
    strategy.resize(1)
    for window in range(3, 6):
        strategy.offer(window, window)
    strategy.finish(2)
    assert strategy.assign() == []
    strategy.finish(0)
    assert [worker for worker, _ in strategy.assign()] == [0]
    strategy.resize(2)
    assert strategy.assign() == []  # worker 1 is still busy
    strategy.finish(1)
    assert [worker for worker, _ in strategy.assign()] == [1]


def test_a_window_is_complete_when_all_panes_are_closed_and_all_shards_are_in() -> None:
    completion = WindowCompletion(panes_per_window=2)
    completion.pane_closed([0, 1], shards=2)
    assert not completion.updated(0)
    assert not completion.updated(0)  # nothing outstanding, but a pane is missing
    completion.pane_closed([1, 2], shards=1)
    completion.pane_closed([0], shards=3)
    completion.merged(0)
    assert not completion.updated(0)
    assert completion.updated(0)
    assert completion.open_windows == 2


def test_an_unknown_strategy_is_named_with_the_known_ones() -> None:
    with pytest.raises(OptionError, match=r"'fast' is unknown.*win_rr, win_fb, win_fb_merge"):
        window_strategy("fast", 3)
