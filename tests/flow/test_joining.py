"""Whoever joins: the bounds of all rows are those that one task finds, and only large keys are shared."""

from __future__ import annotations

from itertools import pairwise
from unittest import mock

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from skypane.flow.joining import LOCAL_JOIN, Bounds, DistributedJoin, JoinRows, JoinWork
from skypane.flow.plan import OWNERSHIPS, Ownership
from skypane.kernels import sliding
from skypane.kernels.sliding import EXACT, STILL_ALIVE
from skypane.model.panes import NO_PANE
from skypane.tuning.sharing.joins import JOIN_VISITS, JoinSharing


def joined_before(random: np.random.Generator, sizes: list[int]) -> JoinRows:
    """Rows of some keys, the younger ones fresh, the others joined, some of them dead."""
    rows, offsets = sum(sizes), np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    key = np.repeat(np.arange(len(sizes)), sizes)
    panes = random.integers(0, 12, rows)
    panes = panes[np.lexsort((panes, key))]
    values = random.integers(0, 5, (rows, 3)).astype(np.float64)
    old = JoinRows(values, panes, panes < 6, offsets, np.full(rows, NO_PANE), np.full(rows, STILL_ALIVE))
    before = old.some(np.flatnonzero(old.fresh))
    LOCAL_JOIN.join(before, EXACT)
    old.set_bounds(np.flatnonzero(old.fresh), before.critical, before.died)
    return old._replace(fresh=~old.fresh)


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.sampled_from([0, 1, 3, 40]), min_size=1, max_size=5),
    tasks=st.integers(1, 4),
    ownership=st.sampled_from(OWNERSHIPS),
    large=st.sampled_from([0, 2, 3, 100]),
    seed=st.integers(0, 2**32),
)
def test_the_bounds_are_those_of_one_task(
    sizes: list[int], tasks: int, ownership: Ownership, large: int, seed: int
) -> None:
    rows = joined_before(np.random.default_rng(seed), sizes)
    asked: list[JoinWork] = []

    def ask(join: JoinWork, tasks: int) -> list[Bounds]:
        asked.append(join)
        return [join.bounds_of(task) for task in range(tasks)]

    alone, shared = (rows._replace(critical=rows.critical.copy(), died=rows.died.copy()) for _ in range(2))
    with mock.patch.object(sliding, "BIG_KEY_ROWS", 0):
        LOCAL_JOIN.join(alone, EXACT)
        DistributedJoin(tasks, JoinSharing(ownership, large * JOIN_VISITS), ask).join(shared, EXACT)
    assert shared.critical.tolist() == alone.critical.tolist()
    assert shared.died.tolist() == alone.died.tolist()
    sent = [rows for join in asked for rows in np.diff(join.rows.offsets).tolist() if rows]
    alive = (rows.fresh | (rows.died == STILL_ALIVE)).tolist()
    parts = [slice(low, high) for low, high in pairwise(rows.offsets.tolist())]
    assert sent == [sum(alive[at]) for at in parts if at.stop - at.start > large and rows.fresh[at].any()]
