"""Degrees that follow the load: utilization that does not saturate, decisions that a replay repeats."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skypane.model.codec import plain, typed
from skypane.model.errors import OptionError
from skypane.tuning.elastic.controllers import ElasticDecision, Snapshot
from skypane.tuning.elastic.degrees import Degrees
from skypane.tuning.elastic.elastic import CONTROLLERS, Elastic
from skypane.tuning.elastic.elastic_degrees import ElasticDegrees
from skypane.tuning.elastic.elastic_state import ElasticState, StepLoad

SECOND = 1_000_000


def load(at_s: float, **other: Any) -> StepLoad:
    usual = StepLoad(
        cut_us=round(at_s * SECOND),
        t_max_us=round(at_s * SECOND),
        pane_work_us=0,
        window_work_us=0,
        window_in_driver=False,
        took_us=0,
        waited_us=0,
        panes=0,
        shards=0,
        backlog_us=0.0,
    )
    return replace(usual, **other)


def elastic(**options: Any) -> ElasticDegrees:
    return Elastic(**{"period": "1 second", "dwell": 1, **options}).degrees(max_degree=64)


def after(policy: ElasticDegrees, *loads: StepLoad) -> ElasticState:
    learned = None
    for one in loads:
        learned = policy.learn(learned, one)
    assert learned is not None
    return learned


def test_it_begins_with_the_fewest_and_the_first_step_only_sets_the_clock() -> None:
    policy = elastic(min_degree=2)
    assert policy.choose(None) == Degrees(2, 2)
    learned = after(policy, load(0, pane_work_us=100 * SECOND))
    assert learned.sample is None
    assert policy.choose(learned) == Degrees(2, 2)


@pytest.mark.parametrize("stretched", [1, 3, 20])
def test_utilization_does_not_saturate_when_steps_stretch_with_their_load(stretched: int) -> None:
    """Three cores' work for each second of the stream is utilization 3 of one task, however long the steps become."""
    policy = elastic()
    learned = after(
        policy, load(0), load(stretched, pane_work_us=2 * stretched * SECOND, window_work_us=stretched * SECOND)
    )
    assert learned.sample is not None
    assert learned.sample.rho_panes == pytest.approx(3.0)
    assert learned.sample.rho_windows == pytest.approx(3.0)


def test_both_stages_may_use_all_slots_so_each_is_measured_against_the_work_of_both() -> None:
    policy = elastic(controller="ds2")
    learned = after(policy, load(0), load(1, pane_work_us=3 * SECOND, window_work_us=SECOND))
    # Four cores' work, at nine tenths of their time.
    assert policy.target(learned) == Degrees(5, 5)


def test_what_is_not_parallel_leaves_less_of_the_period() -> None:
    policy = elastic()
    learned = after(policy, load(0), load(1, pane_work_us=SECOND, waited_us=200_000))
    assert learned.sample is not None
    assert learned.sample.rho_panes == pytest.approx(1 / 0.8)
    sample = policy.sample(learned, load(2, pane_work_us=SECOND, elsewhere_us=10 * SECOND), SECOND)
    assert sample.rho_panes == pytest.approx(1 / 0.5 / learned.loop.pane_degree)


def test_a_window_stage_in_the_driver_has_one_worker_and_takes_time_from_the_others() -> None:
    policy = elastic()
    learned = after(policy, load(0), load(1, pane_work_us=SECOND, window_work_us=250_000, window_in_driver=True))
    assert learned.sample is not None
    assert learned.sample.rho_windows == pytest.approx(0.25)
    assert learned.sample.rho_panes == pytest.approx(1 / 0.75)
    # A step that closes no window says nothing else about the one stage than about the other.
    nothing = after(policy, load(0), load(1, pane_work_us=SECOND, window_in_driver=True))
    assert nothing.sample is not None
    assert nothing.sample.rho_windows == nothing.sample.rho_panes


@pytest.mark.parametrize("controller", sorted(CONTROLLERS))
def test_what_the_driver_cannot_do_asks_for_no_tasks_without_end(controller: str) -> None:
    """More tasks do not help a window stage in the driver: no more are wanted than would do the work."""
    policy = elastic(controller=controller)
    busy = load(0, window_work_us=round(1.3 * SECOND), window_in_driver=True)
    learned = after(policy, *(replace(busy, cut_us=at * SECOND) for at in range(12)))
    assert policy.target(learned) <= Degrees(2, 2)
    assert learned.limit is not None
    said = "the window stage has 1.3 times the work that it can do in the driver, where it runs with few rows. Lower "
    assert learned.limit.startswith(f"{said}inline_rows")
    assert policy.learn(learned, load(12, window_work_us=100_000, window_in_driver=True)).limit is None


def test_what_waits_at_the_source_is_work_too() -> None:
    policy = elastic(max_degree=8)
    idle = after(policy, load(0), load(1, pane_work_us=100_000))
    behind = after(policy, load(0), load(1, pane_work_us=100_000, backlog_us=2.0 * SECOND))
    assert policy.target(idle) == Degrees(1, 1)
    assert policy.target(behind) == Degrees(3, 3)
    assert behind.sample is not None
    assert behind.sample.rho_panes == pytest.approx(2.1)


def test_where_no_more_tasks_can_be_had_it_says_so() -> None:
    policy = elastic(max_degree=2)
    behind = load(1, pane_work_us=SECOND, backlog_us=30.0 * SECOND)
    learned = after(policy, load(0), behind)
    assert policy.target(learned) == Degrees(2, 2)
    assert learned.limit is not None
    assert "30 s of work wait at the source, and there are 2 tasks, the most" in learned.limit
    assert policy.learn(learned, load(2)).limit is None
    assert "Raise max_degree, or limit what a step takes in" in learned.limit
    assert after(elastic(max_degree=64), load(0), behind).limit is None


@pytest.mark.parametrize("max_degree", [None, 16])
def test_where_spark_has_no_more_slots_max_degree_is_no_remedy(max_degree: int | None) -> None:
    policy = Elastic(max_degree=max_degree, period="1 second").degrees(max_degree=2)
    learned = after(policy, load(0), load(1, pane_work_us=SECOND, backlog_us=30.0 * SECOND))
    assert learned.limit is not None
    assert "there are 2 tasks, the most that Spark can run here. Give it more cores, or limit what" in learned.limit


def test_where_the_cluster_does_not_give_them_it_says_so() -> None:
    policy = elastic(max_degree=8, controller="ds2")
    behind = load(1, pane_work_us=SECOND, backlog_us=3.0 * SECOND, ready=2)
    learned = after(policy, load(0, ready=2), behind)
    assert policy.target(learned) == Degrees(5, 5)
    assert learned.limit is not None
    assert "3 s of work wait at the source, and of 5 tasks that are wanted Spark can run 2 so far" in learned.limit
    assert after(policy, load(0), replace(behind, ready=5)).limit is None


def test_also_where_the_source_does_not_say_what_waits() -> None:
    policy = elastic(max_degree=2)
    assert after(policy, load(0), load(1, pane_work_us=round(1.9 * SECOND), backlog_us=None)).limit is None
    learned = after(policy, load(0), load(1, pane_work_us=3 * SECOND, backlog_us=None))
    assert policy.target(learned) == Degrees(2, 2)
    assert learned.limit is not None
    assert learned.limit.startswith("the stream brings 1.5 times the work that can be done, and there are 2 tasks")
    assert policy.learn(learned, load(2, pane_work_us=SECOND, backlog_us=None)).limit is None


def test_without_a_word_from_the_source_the_records_times_tell() -> None:
    """A source with a limit, behind: in two seconds a step has covered one second of the stream."""
    policy = elastic()
    step = load(2, t_max_us=SECOND, pane_work_us=2 * SECOND, backlog_us=None)
    learned = after(policy, load(0, backlog_us=None), step)
    assert learned.sample is not None
    assert learned.sample.rho_panes == pytest.approx(2.0)
    # A replay in no time covers years; only the clock counts then.
    fast = after(policy, load(0, backlog_us=None), replace(step, t_max_us=10**15))
    assert fast.sample is not None
    assert fast.sample.rho_panes == pytest.approx(1.0)


def test_a_clock_that_was_set_back_says_nothing() -> None:
    policy = elastic()
    learned = after(policy, load(5), load(4, pane_work_us=100 * SECOND))
    assert learned.sample is None
    assert learned.cut_us == 4 * SECOND


def test_a_restart_after_a_night_decides_nothing_from_the_night() -> None:
    policy = elastic(controller="ds2")
    learned = after(policy, load(0), load(1, pane_work_us=7 * SECOND))
    assert policy.target(learned) == Degrees(8, 8)
    again = policy.learn(learned, load(36_000, pane_work_us=9 * SECOND, first=True))
    assert policy.target(again) == Degrees(8, 8)
    assert again.cut_us == 36_000 * SECOND
    assert (again.sample, again.limit) == (None, None)
    assert policy.target(policy.learn(again, load(36_001, pane_work_us=9 * SECOND))) == Degrees(10, 10)


def test_slots_count_when_they_are_there_but_are_decided_and_asked_for_at_once() -> None:
    policy = elastic(controller="ds2", max_degree=8)
    busy = load(1, pane_work_us=4 * SECOND, ready=1)
    learned = after(policy, load(0, ready=1), busy)
    assert policy.target(learned) == Degrees(5, 5)
    assert policy.choose(learned) == Degrees(1, 1)
    # They are on their way, so the same load asks for no more of them.
    waiting = policy.learn(learned, replace(busy, cut_us=2 * SECOND, ready=3))
    assert policy.target(waiting) == Degrees(5, 5)
    assert policy.choose(waiting) == Degrees(3, 3)
    # Where Spark adds executors because tasks wait, tasks must wait.
    allocated = policy.learn(waiting, replace(busy, cut_us=3 * SECOND, ready=None))
    assert policy.choose(allocated) == Degrees(5, 5)


def test_what_waits_does_not_become_more_while_slots_are_on_their_way() -> None:
    """Two seconds' work of one slot wait, period after period: that is two slots' work for a second, not more."""
    policy = elastic(controller="ds2", max_degree=64)
    busy = load(0, pane_work_us=SECOND, backlog_us=2.0 * SECOND, ready=1)
    learned = after(policy, *(replace(busy, cut_us=at * SECOND) for at in range(6)))
    assert policy.target(learned) == Degrees(4, 4)


def test_another_run_may_have_other_limits() -> None:
    learned = after(elastic(controller="ds2"), load(0), load(1, pane_work_us=20 * SECOND))
    assert elastic(max_degree=4).choose(learned) == Degrees(4, 4)
    assert elastic(min_degree=40).choose(learned) == Degrees(40, 40)
    again = elastic(max_degree=4, controller="ds2").learn(learned, load(2, pane_work_us=20 * SECOND))
    assert again.loop.pane_degree == 4
    assert again.sample is not None
    assert again.sample.rho_panes == pytest.approx(5.0)


def in_a_loop(policy: ElasticDegrees, before: float, after: float, seconds: float = 100) -> list[tuple[float, int]]:
    """When each step ended, and its degree: a stream that needs so many cores, from half of the time on others.

    Batches take all that has come, so steps stretch while there are too few tasks; 0.3 s of each are for nothing.
    """
    learned, now_s, taken_s = None, 0.0, 0.0
    found = []
    while now_s < seconds:
        cut_s = max(now_s, taken_s + 0.5)
        half = seconds / 2
        early_s, late_s = max(0.0, min(cut_s, half) - taken_s), max(0.0, cut_s - max(taken_s, half))
        work_s, taken_s = early_s * before + late_s * after, cut_s
        degree = policy.choose(learned)
        took_s = 0.3 + work_s / 2 / degree.panes + work_s / 2 / degree.windows
        now_s = cut_s + took_s
        half_us = round(work_s * SECOND / 2)
        step = load(cut_s, pane_work_us=half_us, window_work_us=half_us)
        learned = policy.learn(learned, replace(step, took_us=round(took_s * SECOND), waited_us=300_000))
        found.append((now_s, max(degree)))
    return found


@pytest.mark.parametrize("controller", sorted(CONTROLLERS))
@pytest.mark.parametrize(("before", "after"), [(1.0, 2.0), (0.5, 3.0), (3.0, 0.5), (4.0, 8.0)])
def test_it_reacts_within_some_periods_and_does_not_swing(controller: str, before: float, after: float) -> None:
    steps = in_a_loop(Elastic(controller=controller).degrees(max_degree=16), before, after)
    late = [(now_s, degree) for now_s, degree in steps if now_s > 50]
    # Within four periods, growing or shrinking: enough for the work, and not twice as many as it needs.
    settled = [degree for now_s, degree in late if now_s > 50 + 4 * 2.5 + (after < before) * 10]
    assert min(settled) >= after
    assert max(settled) <= max(2, 2 * after)
    degrees = [degree for _, degree in late]
    turns = [b - a for a, b in pairwise(degrees) if a != b]
    assert sum((a > 0) != (b > 0) for a, b in pairwise(turns)) <= 1
    # No step lasts much longer than two periods once the query has caught up with its beginning.
    assert max(b - a for (a, _), (b, _) in pairwise(steps) if a > 30) < 6.0


LOADS = st.lists(
    st.builds(
        load,
        st.just(0),
        pane_work_us=st.integers(0, 10**8),
        window_work_us=st.integers(0, 10**8),
        window_in_driver=st.booleans(),
        took_us=st.integers(0, 10**8),
        waited_us=st.integers(0, 10**7),
        panes=st.integers(0, 9),
        shards=st.integers(0, 99),
        ready=st.none() | st.integers(1, 99),
        backlog_us=st.none() | st.floats(0, 1e9),
    ),
    max_size=12,
)


@settings(max_examples=60)
@given(LOADS, st.sampled_from(sorted(CONTROLLERS)), st.lists(st.integers(1, 10**7), min_size=12, max_size=12))
def test_a_replay_from_any_manifest_decides_the_same(loads: list[StepLoad], controller: str, gaps: list[int]) -> None:
    policy = elastic(controller=controller, min_degree=2, max_degree=9, dwell=2)
    learned: ElasticState | None = None
    now_us = 0
    for one, gap_us in zip(loads, gaps, strict=False):
        now_us += gap_us
        step = replace(one, cut_us=now_us, t_max_us=now_us // 2)
        stored = None if learned is None else typed(plain(learned), ElasticState)
        assert policy.choose(stored) == policy.choose(learned)
        assert policy.learn(stored, step) == policy.learn(learned, step)
        learned = policy.learn(learned, step)
        for degrees in (policy.target(learned), policy.choose(learned)):
            assert all(2 <= (degree or 0) <= 9 for degree in degrees)


class Nameless:
    """Nobody could say who has decided."""

    def decide(self, seen: Snapshot) -> ElasticDecision:
        return ElasticDecision(seen.pane_degree, seen.window_degree)


class Twice:
    """A controller of one's own."""

    name = "twice"

    def decide(self, seen: Snapshot) -> ElasticDecision:
        return ElasticDecision(2 * seen.pane_degree, 2 * seen.window_degree)


def test_a_controller_of_ones_own() -> None:
    wish = Elastic(controller=Twice(), period="1 second", max_degree=6)
    policy = wish.degrees(max_degree=64)
    learned = after(policy, load(0), load(1), load(2), load(3))
    assert policy.target(learned) == Degrees(6, 6)
    assert wish.explain(8) == "elastic, 1 to 6 tasks (max_degree=6), decided by twice every 1 s"


@pytest.mark.parametrize(
    ("elastic", "max_degree", "says"),
    [
        (Elastic(), 2, "1 to 2 tasks (as many as Spark can run here), decided by ds2 every 2500 ms"),
        (Elastic(max_degree=100), 2, "1 to 2 tasks (max_degree=100, but Spark can run no more here), decided by"),
        (Elastic(max_degree=2), 2, "1 to 2 tasks (max_degree=2), decided by"),
        (Elastic(max_degree=1), 2, "but always one task (max_degree=1): there is nothing to decide"),
        (Elastic(), 1, "but always one task (as many as Spark can run here): there is nothing to decide"),
        (Elastic(2, 2), 4, "but always 2 tasks (max_degree=2): there is nothing to decide"),
    ],
)
def test_the_limits_are_told_as_they_can_be_had(elastic: Elastic, max_degree: int, says: str) -> None:
    assert elastic.explain(max_degree).startswith(f"elastic, {says}")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_degree": 0}, "min_degree=0 must be a whole number from 1"),
        ({"max_degree": True}, "max_degree=True must be a whole number"),
        ({"min_degree": 4, "max_degree": 3}, "max_degree=3 is less than min_degree=4"),
        ({"controller": "pid"}, "controller='pid' is unknown; it must be one of fuzzy, threshold, ds2"),
        ({"controller": 7}, "controller=7 must be one of fuzzy, threshold, ds2, or an object with a name"),
        ({"controller": Twice}, r"controller=Twice is a class; give an object: Twice\(\)"),
        ({"controller": Nameless()}, r"must be one of .* or an object with a name, which is text, and decide"),
        ({"period": "soon"}, "period='soon' is not a duration"),
        ({"dwell": 0}, "dwell=0 must be a whole number"),
    ],
)
def test_what_cannot_be_meant_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        Elastic(**options)
