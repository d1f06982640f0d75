"""The rules of the live system by hand: where paper 4's are corrected, what the printed ones would tell."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skypane.kernels import reference
from skypane.kernels.sliding import STILL_ALIVE
from skypane.model.errors import OptionError
from skypane.model.groups import Float64Array, Int64Array
from skypane_lab.live import samples
from skypane_lab.live.lifetimes import dominated_at
from skypane_lab.live.ownership import OWNERSHIPS, Loads
from skypane_lab.live.queueing import run_queues
from skypane_lab.live.reduce import ASYNCHRONOUS, SYNCHRONOUS, Reduce
from skypane_lab.live.setup import LiveMachine, LiveSetup
from skypane_lab.live.system import LiveRun, LiveSystem
from skypane_lab.live.worker import LiveRecord, LiveWorker, Update


def run(
    reduce: Reduce,
    records: list[tuple[int, float, float]],
    within: int,
    degree: int = 1,
    queue_ns: int = 0,
    mark_every_ns: int | None = None,
) -> LiveRun:
    setup = LiveSetup(LiveMachine(0, queue_ns), degree, reduce=reduce, mark_every_ns=mark_every_ns)
    return LiveSystem(setup, within).run([record[0] for record in records], [record[1:] for record in records])


def live_sizes(dominated: Int64Array, window: int) -> Int64Array:
    """How many records are stored after each one, if every record expires ``window`` records after it came."""
    count = len(dominated)
    ends = np.minimum(dominated, np.arange(count) + window)
    leaving = np.bincount(ends[ends < count], minlength=count)
    return np.asarray(np.cumsum(1 - leaving), dtype=np.int64)


class EntersAtItsInfluence(Reduce):
    def entry(self, influence: int, time: int) -> int:
        return influence


def test_nobody_enters_before_its_time() -> None:
    """The second record dominates the first while its result pends; nothing dominated the first: influence 0."""
    records = [(10, 5.0, 5.0), (20, 1.0, 1.0)]
    right = run(ASYNCHRONOUS, records, 100, queue_ns=100)
    assert right.updates == [Update(10, 1, 0), Update(20, -1, 0), Update(20, 1, 1), Update(120, -1, 1)]
    printed = run(EntersAtItsInfluence("printed", owner_waits=False), records, 100, queue_ns=100)
    assert printed.updates[0] == Update(0, 1, 0)


class ReleasesUpToTheInfluence(Reduce):
    def safe(self, now: int, oldest_pending: int | None, influence: int | None) -> int:
        if oldest_pending is None:
            return now
        return min(now, oldest_pending) if influence is None else influence


def test_a_pending_record_holds_back_later_updates() -> None:
    """When the result of the third comes (influence 180), the fourth, which enters at 95, still pends."""
    records = [(0, 1.0, 100.0), (80, 50.0, 50.0), (90, 60.0, 60.0), (95, 100.0, 1.0), (120, 99.0, 2.0)]
    right = run(ASYNCHRONOUS, records, 100, queue_ns=100)
    assert right.updates == sorted(right.updates)
    assert right.updates[2:4] == [Update(95, 1, 3), Update(100, -1, 0)]
    printed = run(ReleasesUpToTheInfluence("printed", owner_waits=False), records, 100, queue_ns=100)
    assert sorted(printed.updates) == right.updates
    assert printed.updates.index(Update(100, -1, 0)) < printed.updates.index(Update(95, 1, 3))


class ForwardsAtTheBound(Reduce):
    def may_forward(self, update: int, bound: int) -> bool:
        return update <= bound


def test_at_one_instant_leaving_is_told_first() -> None:
    """Two records of one time: the first enters, the second puts an older one out."""
    records = [(0, 5.0, 5.0), (10, 9.0, 1.0), (10, 4.0, 4.0)]
    right = run(SYNCHRONOUS, records, 100)
    assert right.updates[1:4] == [Update(10, -1, 0), Update(10, 1, 1), Update(10, 1, 2)]
    printed = run(ForwardsAtTheBound("printed", owner_waits=True), records, 100)
    assert printed.updates[1:4] == [Update(10, 1, 1), Update(10, -1, 0), Update(10, 1, 2)]


def test_a_record_is_gone_at_the_instant_it_expires() -> None:
    worker = LiveWorker(10, SYNCHRONOUS)
    worker.advance(0)
    assert worker.take(LiveRecord(0, 0, (1.0,)), own=True) == 0
    worker.result(0, 0)
    worker.advance(9)
    assert worker.take(LiveRecord(1, 9, (2.0,)), own=False) == 10
    worker.advance(10)
    assert worker.stored == 0
    assert worker.take(LiveRecord(2, 10, (2.0,)), own=False) == 0


def test_a_pending_record_expires_like_others() -> None:
    """Its result comes after its time is over; the answer is as if it had come at once."""
    records = [(0, 1.0, 1.0), (30, 2.0, 2.0), (31, 9.0, 9.0)]
    slow, fast = run(ASYNCHRONOUS, records, 20, queue_ns=1_000), run(ASYNCHRONOUS, records, 20)
    assert slow.updates == fast.updates
    assert fast.updates == [
        Update(0, 1, 0),
        Update(20, -1, 0),
        Update(30, 1, 1),
        Update(50, -1, 1),
        Update(50, 1, 2),
        Update(51, -1, 2),
    ]


def test_marks_tell_expiries_while_no_record_comes() -> None:
    records = [(0, 1.0, 1.0), (10_000, 1.0, 1.0)]
    silent = run(ASYNCHRONOUS, records, 100, degree=3)
    marked = run(ASYNCHRONOUS, records, 100, degree=3, mark_every_ns=50)
    assert silent.updates == marked.updates
    assert silent.forwarded_ns[1] == 10_000
    assert marked.forwarded_ns[1] == 150


def test_the_policies_choose() -> None:
    loads = Loads(room=[False, True, True], stored=[4, 7, 3], queued=[0, 0, 2], last_owner=2)
    chosen = {name: policy.owner(7, loads) for name, policy in OWNERSHIPS.items()}
    assert chosen == {"rr": 1, "od": 1, "od_on": 2, "llw": 2, "llw+": 0}
    full = loads._replace(room=[False] * 3)
    assert OWNERSHIPS["od"].owner(7, full) is None
    assert OWNERSHIPS["od_on"].owner(7, full) is None


def test_the_synchronous_owner_waits_for_the_slowest() -> None:
    """Two workers, three records at once, 2 ns for a record and for a message; the owner of the first goes on at 6."""
    records = [(0, 1.0, 3.0), (0, 2.0, 2.0), (0, 3.0, 1.0)]
    assert run(ASYNCHRONOUS, records, 100, degree=2, queue_ns=1).completed_ns == [2, 4, 6]
    assert run(SYNCHRONOUS, records, 100, degree=2, queue_ns=1).completed_ns == [2, 8, 14]


def test_a_full_queue_stops_the_emitter() -> None:
    setup = LiveSetup(LiveMachine(0, queue_ns=5), 1, queue_size=1, emitter_stamps=True)
    found = LiveSystem(setup, 1_000).run([0, 0, 0, 0, 0], [(float(i), -float(i)) for i in range(5)])
    assert found.stamps == [0, 0, 0, 10, 20]
    assert found.completed_ns == [10, 20, 30, 40, 50]


def test_load_differences_are_sampled() -> None:
    """Two workers, incomparable records, all owned by the first one: the counters say 0, 1, 2."""
    setup = LiveSetup(LiveMachine(0, queue_ns=5), 2, 1_000, OWNERSHIPS["od"])
    arrivals, never = np.array([0, 10, 40]), np.full(3, STILL_ALIVE)
    assert run_queues(arrivals, never, 1_000, setup, sample_ns=8).differences.tolist() == [0, 1, 2, 2, 2]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=60), st.integers(1, 70))
def test_lifetimes_equal_brute_force(rows: list[tuple[int, int]], window: int) -> None:
    points: Float64Array = np.array(rows, dtype=np.float64)
    found = dominated_at(points, len(points))
    for i, row in enumerate(points):
        later = np.flatnonzero(reference.dominators(points[i + 1 :], row)) + i + 1
        assert found[i] == (later[0] if len(later) else STILL_ALIVE)
    sizes = live_sizes(found, window)
    for now in range(len(points)):
        alive = [i for i in range(max(0, now - window + 1), now + 1) if found[i] > now]
        assert sizes[now] == len(alive)


def test_a_sample_has_what_the_whole_stream_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "_CHUNK", 700)
    sample = samples.draw_sample("anticorrelated", 2_000, measured=500, seed=3)
    random = np.random.default_rng(3)
    counts = (700, 700, 600, 500)
    leaning = samples.LEANINGS["anticorrelated"]
    whole = dominated_at(np.concatenate([samples.leaning_points(leaning, random, n) for n in counts]), 2_500)
    for window in (100, 1_000, 2_000):
        assert sample.stored(window) == live_sizes(whole, window)[1_999]
    ends = np.append(sample.numbers, STILL_ALIVE)[np.minimum(sample.dominated, len(sample.numbers))]
    assert ends.tolist() == whole[sample.numbers].tolist()
    with pytest.raises(ValueError, match="fewer than the window"):
        sample.offered(2_001, LiveSetup(LiveMachine(1), 1))


def test_the_live_set_of_independent_points_has_the_size_that_theory_expects() -> None:
    """The skyline of six independent attributes: sums of sums of 1/k, five times over."""
    expected = np.ones(2_000)
    for _ in range(samples.ATTRIBUTES):
        expected = np.cumsum(expected / np.arange(1, 2_001))
    streams = [samples.leaning_points(0.0, np.random.default_rng(seed), 2_000) for seed in range(40)]
    assert np.mean([len(samples.stored_after(points)) for points in streams]) == pytest.approx(expected[-1], rel=0.03)


def test_more_workers_offer_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """With T_F alone, n workers are n times as fast as one thread, but for what the policy leaves unbalanced."""
    monkeypatch.setattr(samples, "_SETTLE", 1_000)
    sample = samples.draw_sample("independent", 20_000, measured=8_000)
    machine = LiveMachine(20_000, queue_ns=0)
    one = sample.sequential(20_000, machine)
    random = np.random.default_rng(1)
    whole = np.concatenate([samples.leaning_points(0.0, random, count) for count in (20_000, 8_000)])
    stored = live_sizes(dominated_at(whole, 28_000), 20_000)[21_000:].mean()
    assert one == pytest.approx(1e12 / 20_000 / stored, rel=0.01)
    four = sample.offered(20_000, LiveSetup(machine, 4, 100))
    in_turn = sample.offered(20_000, LiveSetup(machine, 4, 100, OWNERSHIPS["rr"]))
    assert 3.9 * one < four < 4.02 * one  # whole nanoseconds: smaller parts gain by rounding
    assert in_turn < four


def test_bad_options_are_named() -> None:
    with pytest.raises(OptionError, match="degree=0"):
        LiveSetup(LiveMachine(1), 0)
    with pytest.raises(OptionError, match="queue_size=0"):
        LiveSetup(LiveMachine(1), 1, 0)
