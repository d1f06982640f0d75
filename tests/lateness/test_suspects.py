"""Suspects: believed, held or refused by what follows and by the clock, however records are ordered and spread."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skypane.lateness.future_guard import FutureGuard
from skypane.lateness.suspects import Known, Suspects, Verdict, judge
from skypane.lateness.trust import TaskTrust
from skypane.model.ending import Ending

SECOND_US, HOUR_US = 1_000_000, 3_600_000_000
DAY_US = 24 * HOUR_US
NOW_US = 1_800_000_000_000_000
LAST_YEAR_US = NOW_US - 365 * DAY_US
GUARD = FutureGuard(HOUR_US)


@dataclass
class Fates:
    """A stream as the guard sees it: what is held, and what became of the others."""

    guard: FutureGuard = GUARD
    t_max_us: int | None = None
    recent_us: tuple[int, ...] = ()
    held: Suspects = field(default_factory=lambda: Suspects.fresh(np.zeros(0, dtype=np.int64)))
    advanced_us: int = 0
    accepted: list[int] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)

    def feed(self, *tasks: list[int], now_us: int = NOW_US) -> None:
        limit = self.guard.limit_us(self.t_max_us, now_us)
        witnesses = self.guard.newest_of(self.held.witnesses_us(limit))
        trusts, doubted = [], list[int]()
        for task in tasks:
            times = np.array(task, dtype=np.int64)
            trust = TaskTrust(self.guard, self.t_max_us, witnesses, limit)
            suspicious = trust.suspicious(times)
            self.accepted += times[~suspicious].tolist()
            doubted += times[suspicious].tolist()
            trusts.append(trust)
        known = Known(
            self.t_max_us,
            self.recent_us,
            max((trust.trusted_us for trust in trusts if trust.trusted_us is not None), default=None),
            self.guard.newest(t for trust in trusts for t in trust.newest_us),
            sum(map(len, tasks)),
            self.guard.live_from_us(self.t_max_us, self.advanced_us, now_us),
        )
        self._resolve(judge(self.guard, known, _both(self.held, doubted), now_us), now_us)

    def end(self, ending: Ending, now_us: int = NOW_US) -> None:
        known = Known(self.t_max_us, self.recent_us)
        self._resolve(judge(self.guard, known, self.held, now_us, ending), now_us)

    def _resolve(self, verdict: Verdict, now_us: int) -> None:
        suspects = verdict.suspects
        if self.t_max_us is not None:
            assert (self.held.times_us > self.t_max_us).all()
        self.accepted += suspects.times_us[verdict.accepted].tolist()
        self.refused += suspects.times_us[verdict.refused].tolist()
        self.advanced_us = self.advanced_us if verdict.t_max_us == self.t_max_us else now_us
        self.t_max_us, self.recent_us = verdict.t_max_us, verdict.recent_us
        kept = verdict.still_held
        self.held = Suspects(suspects.times_us[kept], suspects.others[kept], suspects.behind[kept], kept[kept])

    def outcome(self) -> tuple[object, ...]:
        order = np.lexsort((self.held.behind, self.held.others, self.held.times_us))
        held = [array[order].tolist() for array in (self.held.times_us, self.held.others, self.held.behind)]
        return sorted(self.accepted), sorted(self.refused), held, self.t_max_us, self.recent_us


def _both(held: Suspects, fresh: list[int]) -> Suspects:
    new = Suspects.fresh(np.array(fresh, dtype=np.int64))
    parts = zip(
        (held.times_us, held.others, held.behind, held.held),
        (new.times_us, new.others, new.behind, new.held),
        strict=True,
    )
    return Suspects(*(np.concatenate(pair) for pair in parts))


def batches(*, start: int = LAST_YEAR_US, count: int = 10, rows: int = 100, step: int = 10_000) -> list[list[int]]:
    return [[start + (batch * rows + row) * step for row in range(rows)] for batch in range(count)]


jumps = st.sampled_from([0, 1, SECOND_US, HOUR_US // 2, HOUR_US, HOUR_US + 1, 5 * HOUR_US, 30 * HOUR_US, -HOUR_US])


@settings(max_examples=300, deadline=None)
@given(
    steps=st.lists(st.lists(jumps, max_size=12), min_size=1, max_size=6),
    tasks=st.integers(2, 4),
    support=st.integers(1, 5),
    ahead_us=st.sampled_from([-DAY_US, 0, HOUR_US, 2 * DAY_US, 400 * DAY_US]),
    ending=st.sampled_from(["idle", "auto", "all"]),
    seed=st.integers(),
)
def test_neither_order_nor_tasks_change_a_fate(
    steps: list[list[int]], tasks: int, support: int, ahead_us: int, ending: Ending, seed: int
) -> None:
    rng, guard = random.Random(seed), FutureGuard(HOUR_US, support, max_held=5)
    whole, spread = Fates(guard), Fates(guard)
    now, time = NOW_US, NOW_US - 10 * DAY_US + ahead_us
    for step in steps:
        times = []
        for jump in step:
            time += jump
            times.append(time)
        whole.feed(times, now_us=now)
        rng.shuffle(times)
        spread.feed(*[times[i::tasks] for i in range(tasks)], now_us=now)
        assert whole.outcome() == spread.outcome()
        now += 5 * SECOND_US
    for fates in (whole, spread):
        fates.end(ending, now)
    assert whole.outcome() == spread.outcome()
    assert len(whole.accepted) + len(whole.refused) + len(whole.held.times_us) == sum(map(len, steps))
    assert len(whole.held.times_us) <= guard.max_held


@pytest.mark.parametrize("tasks", [1, 3])
@pytest.mark.parametrize("support", [2, 5])
def test_so_many_that_agree_are_believed_however_many_others_there_are(support: int, tasks: int) -> None:
    usual, later = batches(count=2)
    far_ahead = [LAST_YEAR_US + 30 * DAY_US + index for index in range(support)]
    for fresh in (far_ahead[1:], far_ahead):
        fates, times = Fates(FutureGuard(HOUR_US, support)), [*later, *fresh]
        fates.feed(usual)
        fates.feed(*[times[i::tasks] for i in range(tasks)])
        believed = len(fresh) == support
        assert fates.t_max_us == (far_ahead[-1] if believed else later[-1])
        assert sorted(fates.held.times_us.tolist()) == ([] if believed else fresh)
        assert len(fates.accepted) == 200 + (support if believed else 0)


POISON = {
    "tomorrow": LAST_YEAR_US + DAY_US,
    "two hours": LAST_YEAR_US + 2 * HOUR_US,
    "now": NOW_US,
    "ahead": NOW_US + HOUR_US,
    "the year 9999": 253_370_764_800_000_000,
    "the end of time": 2**63 - 1,
    "1970": 0,
    "the beginning of time": -(2**63),
}


@pytest.mark.parametrize("poison", POISON.values(), ids=POISON)
@pytest.mark.parametrize("rows", [1, 2, 100])
@pytest.mark.parametrize("alone", [False, True])
def test_one_poisoned_time_at_any_place_changes_no_other_fate(poison: int, rows: int, *, alone: bool) -> None:
    for place in range(11):
        plain, poisoned = Fates(), Fates()
        for number, batch in enumerate([*batches(rows=rows), []]):
            plain.feed(batch)
            if number == place and alone:
                poisoned.feed([poison])
            poisoned.feed(batch + [poison] * (number == place and not alone))
        for fates in (plain, poisoned):
            fates.end("auto")
        assert plain.t_max_us is not None
        if poison > 0 and (alone or place < 10):
            assert poisoned.t_max_us == plain.t_max_us
        poisoned.end("all")
        assert sorted([*poisoned.accepted, *poisoned.refused]) == sorted([*plain.accepted, poison])
        assert set(poisoned.refused) <= {poison}


def test_a_first_record_dated_tomorrow_is_refused_once_enough_records_contradict_it() -> None:
    fates = Fates()
    fates.feed([LAST_YEAR_US + DAY_US])
    assert fates.held.times_us.tolist() == [LAST_YEAR_US + DAY_US]
    for batch in batches():
        fates.feed(batch)
    assert len(fates.accepted) == 1000
    assert fates.refused == [LAST_YEAR_US + DAY_US]


@pytest.mark.parametrize("gap_us", [2 * HOUR_US, DAY_US])
@pytest.mark.parametrize("cut", [1, 3, 30])
@pytest.mark.parametrize("start_us", [LAST_YEAR_US, NOW_US - 30 * DAY_US], ids=["replayed", "to this day"])
def test_a_sparse_stream_is_believed(gap_us: int, cut: int, start_us: int) -> None:
    fates, times = Fates(), [start_us + i * gap_us for i in range(30)]
    for low in range(0, 30, cut):
        fates.feed(times[low : low + cut])
    fates.end("auto")
    assert fates.accepted == times
    assert fates.t_max_us == times[-1]


def test_after_a_pause_the_stream_goes_on() -> None:
    fates, times = Fates(), [LAST_YEAR_US + d * 8 * HOUR_US + i * SECOND_US for d in range(2) for i in range(12)]
    for time in times[:13]:
        fates.feed([time])
    assert fates.held.times_us.tolist() == [times[12]]
    fates.feed([times[13]])
    assert fates.accepted == times[:14]
    for time in times[14:]:
        fates.feed([time])
    assert fates.accepted == times


def test_in_a_live_stream_a_record_after_a_pause_is_believed_at_once() -> None:
    fates, night_us = Fates(), NOW_US - 8 * HOUR_US
    for i in range(12):
        fates.feed([night_us + i * SECOND_US], now_us=night_us + i * SECOND_US)
    backlog = replace(fates, accepted=[], refused=[])
    fates.feed([NOW_US - SECOND_US])
    assert fates.t_max_us == NOW_US - SECOND_US
    backlog.feed([NOW_US - SECOND_US, night_us + 20 * SECOND_US])
    assert backlog.t_max_us == night_us + 20 * SECOND_US
    fates.feed([NOW_US + DAY_US])
    assert fates.t_max_us == NOW_US - SECOND_US


@pytest.mark.parametrize("lag_s", [0, 3])
def test_a_time_ahead_of_the_clock_waits_for_the_clock_and_the_stream(lag_s: int) -> None:
    fates, ahead = Fates(), NOW_US + 10 * SECOND_US
    for second in range(20):
        now = NOW_US + second * SECOND_US
        newest = now - lag_s * SECOND_US
        fates.feed([newest - i * 1000 for i in range(200)] + [ahead] * (second == 0), now_us=now)
        assert fates.t_max_us == newest
        assert (ahead in fates.accepted) == (newest >= ahead)
    assert not fates.refused


def test_a_time_ahead_of_the_clock_is_believed_in_a_pause_once_the_clock_has_reached_it() -> None:
    fates, ahead = Fates(), NOW_US + 10 * SECOND_US
    fates.feed([NOW_US - i * 1000 for i in range(200)])
    fates.feed([NOW_US, ahead])
    fates.end("idle", NOW_US + 5 * SECOND_US)
    assert ahead not in fates.accepted
    fates.end("idle", NOW_US + 9 * SECOND_US)
    assert fates.t_max_us == ahead


@pytest.mark.parametrize("poison", [2 * HOUR_US, 2 * HOUR_US + 1, 25 * HOUR_US])
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_the_stream_coming_near_a_wrong_time_does_not_make_it_right(poison: int, rows: int) -> None:
    plain, poisoned = Fates(), Fates()
    for number, batch in enumerate(batches(count=60, rows=rows, step=HOUR_US // 6 // rows)):
        plain.feed(batch)
        poisoned.feed(batch + [LAST_YEAR_US + poison] * (number == 2))
        assert plain.t_max_us == poisoned.t_max_us
    poisoned.end("all")
    assert sorted([*poisoned.accepted, *poisoned.refused]) == sorted([*plain.accepted, LAST_YEAR_US + poison])


def test_a_time_a_day_ahead_of_the_clock_is_refused() -> None:
    fates = Fates()
    fates.feed([NOW_US + DAY_US, NOW_US])
    fates.feed([NOW_US - i for i in range(200)])
    assert fates.refused == [NOW_US + DAY_US]


def test_what_is_contradicted_confirms_nothing() -> None:
    fates = Fates()
    for number, (time,) in enumerate(batches(count=40, rows=1, step=SECOND_US)):
        fates.feed([LAST_YEAR_US + DAY_US] if number % 10 == 5 else [time])
        assert fates.t_max_us is None or fates.t_max_us < LAST_YEAR_US + HOUR_US


def test_a_stream_that_is_ahead_as_a_whole_says_that_the_clock_is_wrong() -> None:
    fates = Fates()
    for batch in batches(start=NOW_US + 2 * HOUR_US):
        fates.feed(batch, now_us=NOW_US)
    assert len(fates.accepted) == 1000
    # Now it is judged by itself, like a replay.
    fates.feed([NOW_US + 30 * DAY_US])
    assert fates.held.times_us.tolist() == [NOW_US + 30 * DAY_US]


def test_times_that_mean_for_ever_are_refused_however_many() -> None:
    fates, never = Fates(), 253_370_764_800_000_000
    for batch in batches(start=NOW_US - HOUR_US):
        fates.feed([*batch, *[never] * 30])
    fates.end("auto")
    assert len(fates.accepted) == 1000
    assert fates.refused == [never] * 300


def test_at_most_so_many_are_held_and_the_furthest_are_given_up() -> None:
    fates = Fates(FutureGuard(HOUR_US, max_held=3))
    fates.feed([NOW_US] * 100 + [NOW_US + i * 10 * SECOND_US for i in (1, 2, 3, 3, 4)])
    assert fates.held.times_us.tolist() == [NOW_US + 10 * SECOND_US, NOW_US + 20 * SECOND_US]
    assert len(fates.refused) == 3


def test_the_end_of_a_dense_history_does_not_believe_a_single_record_far_ahead() -> None:
    fates, stray = Fates(), LAST_YEAR_US + 3 * DAY_US
    for number, batch in enumerate(batches()):
        fates.feed(batch + [stray] * (number == 9))
    fates.end("auto")
    assert fates.held.times_us.tolist() == [stray]  # the next run will tell
    more = replace(fates, accepted=[*fates.accepted], refused=[])
    more.feed([LAST_YEAR_US + 11 * SECOND_US + i for i in range(100)])
    assert more.refused == [stray]
    fates.end("all")
    assert fates.accepted[-1] == stray


@pytest.mark.parametrize("records", [1, 2, 3])
def test_a_handful_of_records_far_apart_is_believed_at_the_end(records: int) -> None:
    fates, times = Fates(), [LAST_YEAR_US + i * DAY_US for i in range(records)]
    fates.feed(times)
    fates.end("auto")
    assert sorted(fates.accepted) == times


def test_without_a_limit_every_time_is_believed() -> None:
    fates = Fates(FutureGuard(None))
    fates.feed([0, NOW_US + 1000 * DAY_US], [5])
    assert sorted(fates.accepted) == [0, 5, NOW_US + 1000 * DAY_US]
