"""Batch plans: every record has a worker, shares are kept, and a plan follows from the committed state alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skypane.flow.plan import Routing
from skypane.flow.reports import TaskLoad
from skypane.model.errors import OptionError
from skypane.testing import batch_runs
from skypane.testing.batch_runs import Batch
from skypane.tuning.splitting.batch_plan import BatchOutcome, RoutingState, imbalance, splitting_factor
from skypane.tuning.splitting.batch_planner import MAX_PLANNED_PANES, BatchPlanner, cut, expected_records
from skypane.tuning.splitting.pane_strategies import PANE_STRATEGIES, SPLITTINGS, check_splitting
from skypane.tuning.splitting.pane_strategy import Allocation, PaneStrategy, Queues

counts = st.dictionaries(st.integers(-20, 60), st.integers(1, 5_000), max_size=12)
degrees = st.integers(1, 6)


def run_batch(
    planner: BatchPlanner,
    state: RoutingState | None,
    records_by_pane: dict[int, int],
    first_open: int | None,
    number: int = 0,
    busy_us: int = 1_000,
) -> tuple[Routing, RoutingState]:
    return batch_runs.run_batch(planner, state, Batch(records_by_pane, first_open, planner.degree, busy_us), number)


@pytest.mark.parametrize("name", PANE_STRATEGIES)
def test_panes_that_nobody_could_expect_have_a_worker(name: str) -> None:
    _, state = run_batch(BatchPlanner(name, 3), None, {7: 10, 8: 40}, 8)
    plan = BatchPlanner(name, 3).plan(state).routing
    for pane in (-(10**12), -1, 0, 7, 10**12):
        assert {plan.worker(pane, h) for h in range(2 * plan.width)} <= set(range(3))
    assert len(plan.table) % plan.width == 0


@given(counts, degrees)
def test_pane_round_robin_never_splits_and_needs_no_estimate(records_by_pane: dict[int, int], degree: int) -> None:
    planner = BatchPlanner("pane_rr", degree)
    _, state = run_batch(planner, None, {0: 10}, None)
    for plan in (planner.plan(None).routing, planner.plan(state).routing):
        assert all(plan.worker(pane, h) == pane % degree for pane in records_by_pane for h in range(5))


@given(counts.filter(bool), st.integers(2, 6))
def test_tuple_round_robin_deals_evenly_also_panes_that_nobody_expected(
    records_by_pane: dict[int, int], degree: int
) -> None:
    planner = BatchPlanner("tuple_rr", degree)
    plan = planner.plan(RoutingState(planner.plan(None).strategy, dict.fromkeys(records_by_pane, 1000))).routing
    for pane in (*records_by_pane, 10**9):
        shares = Counter(plan.worker(pane, h) for h in range(plan.width * degree))
        assert shares.keys() == set(range(degree))
        assert max(shares.values()) - min(shares.values()) <= degree


def test_adaptive_splits_a_pane_of_a_burst_and_no_usual_one() -> None:
    planner, state = BatchPlanner("adaptive", 4), None
    for pane in range(12):
        _, state = run_batch(planner, state, {pane: 100}, pane + 1)
    assert splits(planner.plan(state).routing) == {12: 1}
    burst = RoutingState(state.strategy, {12: 100, 13: 1_000}) if state else None
    assert splits(planner.plan(burst).routing) == {12: 1, 13: 4}


def test_measured_overload_makes_adaptive_pid_split_more() -> None:
    """Only the committed measurement differs between the two."""
    planner, factors = BatchPlanner("adaptive_pid", 4), {}
    for busy_us in (1, 20_000):
        state = None
        for pane in range(200):
            _, state = run_batch(planner, state, {pane: 100}, pane + 1, pane, busy_us)
        factors[busy_us] = splits(planner.plan(state).routing)[200]
    assert factors[1] == 1 < factors[20_000]


def test_the_period_is_what_workers_could_have_used() -> None:
    planner = BatchPlanner("tuple_rr", 4)
    state = RoutingState(planner.plan(None).strategy, cut_us=1_000, elsewhere_us=150)

    def period_us(cut_us: int, slots: int) -> float:
        outcome = BatchOutcome([TaskLoad(100, 1)] * 4, {}, None, cut_us, 300, 0, sinks_us=50, slots=slots)
        return planner.measurement(state, outcome).period_us

    # 1,000 us since the last batch: 150 for windows, 50 in sinks, 200 (of 300) to read and send.
    assert period_us(cut_us=2_000, slots=4) == 600
    # Half as many slots as workers: 200 us of work, so 100 to read and send; each worker has half the time.
    assert period_us(cut_us=2_000, slots=2) == 350
    # Batches without a pause: nothing but the work.
    assert period_us(cut_us=1_300, slots=4) == 100


def splits(plan: Routing) -> dict[int, int]:
    """Workers by planned pane."""
    return {
        plan.first_pane + i: len(set(plan.table[i * plan.width : (i + 1) * plan.width]))
        for i in range(len(plan.table) // plan.width)
    }


def test_what_came_replaces_what_was_planned() -> None:
    planner = BatchPlanner("pane_rr", 2)
    _, state = run_batch(planner, None, {4: 50}, None)
    _, state = run_batch(planner, state, {4: 7, 5: 3}, None)
    assert dict(state.strategy)["shards"] == [[4, [(0, 57)]], [5, [(1, 3)]]]
    closed = planner.close(state, 5)
    assert closed.strategy["shards"] == [[5, [(1, 3)]]]
    assert closed.expected == {5: 7, 6: 3}


@given(counts, st.integers(0, 50), st.none() | st.integers(-20, 80))
def test_expected_records_are_the_last_ones_moved_on(
    records_by_pane: dict[int, int], shift: int, first_open: int | None
) -> None:
    expected = expected_records(records_by_pane, shift, first_open)
    assert all(records_by_pane[pane - shift] == records for pane, records in expected.items())
    missing = {pane + shift for pane in records_by_pane} - set(expected)
    assert all(first_open is not None and pane < first_open for pane in missing)


def test_a_plan_is_bounded_however_many_panes_a_batch_has() -> None:
    expected = expected_records(dict.fromkeys(range(-5000, 5000, 3), 1), 0, None)
    assert min(expected) > 5_000 - MAX_PLANNED_PANES - 4
    planner = BatchPlanner("pane_rr", 2)
    plan = planner.plan(RoutingState(planner.plan(None).strategy, expected))
    assert len(plan.routing.table) <= MAX_PLANNED_PANES


def test_another_strategy_starts_anew() -> None:
    _, state = run_batch(BatchPlanner("adaptive", 4), None, {1: 10}, 1)
    assert BatchPlanner("tuple_rr", 4).plan(state).routing.splits_unplanned
    assert BatchPlanner("pane_rr", 4).plan(state).strategy["shards"] == [[1, [(1, 10)]]]


def test_with_another_degree_it_goes_on_with_what_it_has_learned() -> None:
    planner, state = BatchPlanner("adaptive", 4), None
    for pane in range(12):
        _, state = run_batch(planner, state, {pane: 100}, pane + 1)
    burst = RoutingState(state.strategy, {12: 100, 13: 1_000}) if state else None
    # One that had forgotten would not split at all, during the first panes.
    assert splits(BatchPlanner("adaptive", 3).plan(burst).routing) == {12: 1, 13: 3}
    _, after = run_batch(BatchPlanner("adaptive", 3), burst, {12: 100, 13: 1_000}, 13)
    assert splits(BatchPlanner("adaptive", 8).plan(RoutingState(after.strategy, {14: 1_000})).routing) == {14: 8}


def test_records_of_a_pane_are_counted_across_degrees() -> None:
    state = None
    for degree in (6, 2, 5, 1, 3):
        _, state = run_batch(BatchPlanner("tuple_rr", degree), state, {4: 60}, None)
    assert state is not None
    ((pane, shards),) = state.strategy["shards"]
    assert (pane, sum(dict(shards).values())) == (4, 300)


class Last(PaneStrategy):
    """A strategy that this package does not know."""

    name = "last"

    def __init__(self, degree: int, too_many: int = 0) -> None:
        super().__init__(degree)
        self.too_many = too_many

    def choose(self, pane: int, records: int, shards: Mapping[int, int], queues: Queues) -> list[Allocation]:
        return [Allocation(self.degree - 1, records + self.too_many)]


def test_a_strategy_may_be_given_as_an_object() -> None:
    for given_ in (Last, partial(Last, too_many=0), lambda degree: Last(degree, 0)):
        check_splitting(given_, 3)
        planner = BatchPlanner(given_, 3)
        assert planner.name == "last"
        _, state = run_batch(planner, None, {1: 10}, None)
        assert set(planner.plan(state).routing.table) == {2}


def test_a_strategy_that_distributes_wrongly_is_named() -> None:
    planner = BatchPlanner(partial(Last, too_many=1), 3)
    state = RoutingState(planner.plan(None).strategy, {1: 10})
    with pytest.raises(OptionError, match=r"The pane strategy last distributes 10 records over 3 .* \[\(2, 11\)\]"):
        planner.plan(state)


def test_a_gap_of_a_year_is_closed_at_once() -> None:
    planner = BatchPlanner("adaptive", 2)
    _, state = run_batch(planner, None, {1: 10, 2: 5}, None)
    closed = planner.close(state, 10**12)
    assert closed.strategy["shards"] == []
    assert closed.strategy["closed_before"] == 10**12
    assert planner.close(closed, 5) == closed


def test_an_empty_batch_changes_no_expectation() -> None:
    planner = BatchPlanner("tuple_rr", 3)
    _, state = run_batch(planner, None, {1: 10, 2: 5}, None)
    assert run_batch(planner, state, {}, 2)[1].expected == {2: 5}


@given(st.dictionaries(st.integers(0, 9), st.integers(1, 10**6), min_size=1), st.integers(1, 64))
def test_shares_are_cut_to_the_nearest_entry(shares: dict[int, int], width: int) -> None:
    entries = Counter(cut(shares, width))
    assert entries.total() == width
    assert all(abs(entries[w] - n * width / sum(shares.values())) < 1 for w, n in shares.items())


def test_splitting_factor_and_imbalance() -> None:
    tasks = [TaskLoad(1, 6, {1: 4, 2: 2}), TaskLoad(1, 2, {1: 2}), TaskLoad(1, 1, {})]
    assert splitting_factor(tasks) == 1.5
    assert imbalance(tasks) == 2.0
    assert splitting_factor([]) is None
    assert imbalance([TaskLoad(1, 0)]) is None


class NoName(Last):
    name = ""


class TakesAName(Last):
    name = "combine"


@pytest.mark.parametrize(
    ("splitting", "degree", "message"),
    [
        ("fair", None, r"splitting='fair' is unknown; it must be one of combine, pane_rr, tuple_rr, adaptive, adapt"),
        ("combine", 0, r"pane_degree=0 must be a whole number from 1"),
        ("pane_rr", 0, r"pane_degree=0 must be a whole number from 1"),
        ("pane_rr", True, r"pane_degree=True must be a whole number from 1"),
        (Last, 0, r"pane_degree=0 must be a whole number from 1"),
        (
            Last(4),
            None,
            r"is one strategy, for 4 workers. Give a class derived from sp.extend.PaneStrategy, or a function",
        ),
        (7, None, r"splitting=7 is no pane strategy. Give a class"),
        (str, None, r"makes '1', which is no pane strategy. Give a class"),
        (NoName, None, r"splitting: NoName has no name. Give it one"),
        (TakesAName, None, r"splitting: TakesAName has the name of a built-in strategy, 'combine'. Choose another"),
    ],
)
def test_bad_options_are_refused_by_name(splitting: Any, degree: int | None, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        check_splitting(splitting, degree)


def test_every_splitting_is_accepted() -> None:
    for splitting in SPLITTINGS:
        check_splitting(splitting, None)
        check_splitting(splitting, 3)


@pytest.mark.parametrize("name", PANE_STRATEGIES)
@pytest.mark.parametrize("stored", [{}, {"name": "NAME"}, {"name": "NAME", "degree": "two"}, {"name": 7}])
def test_what_a_strategy_cannot_read_is_forgotten(name: str, stored: dict[str, Any]) -> None:
    """No answer depends on it, so no query may end, or fail to start again, because of it."""
    stored = {key: name if value == "NAME" else value for key, value in stored.items()}
    planner = BatchPlanner(name, 3)
    damaged = RoutingState(stored, {1: 10})
    fresh = RoutingState(planner.plan(None).strategy, {1: 10})
    assert planner.plan(damaged).routing == planner.plan(fresh).routing
