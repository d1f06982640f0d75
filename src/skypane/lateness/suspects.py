"""Suspects: times that may be wrong are held until the records that follow, or the clock, say what to make of them.

A suspect is *ahead* if its time is beyond the batch's clock, else *far*: in the past, but further ahead of the stream
than ``max_future``, as a record dated tomorrow is in a replay of last year.

* A far one is believed if ``support`` records reach it; if the stream is live and the time close to the clock, as
  after a pause; if its distance is usual for this stream, at most four times the median of the last ones; or if more
  records lie near or beyond it than have come with it or after it elsewhere.
* One ahead is believed when clock and stream have reached it, or if practically all records are ahead: then the
  clock is wrong.
* One is contradicted, and refused, when many records have come after it that are far behind it.

What is believed moves ``t_max`` to it, and what ``t_max`` reaches is believed. So a held record is always newer than
``t_max``, hence than the watermark: it is never late for having been held. And it is no stepping stone: the stream
coming near a wrong time does not make it right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from skypane.lateness.future_guard import FutureGuard, within_range
from skypane.model.ending import Ending
from skypane.model.groups import BoolArray, Int64Array

USUAL = 4
"""A step so many times the median one is nothing unusual for a stream."""
_CLOCK_IS_WRONG = 10
"""So many records ahead of the clock for one that is not."""
_SCALE_NEEDS = 3
"""Fewer known times say nothing of how far apart the records of a stream are."""


@dataclass(frozen=True)
class Suspects:
    """Times in doubt, and what has come since each of them; rows in the order of the table that has the records."""

    times_us: Int64Array
    others: Int64Array
    """Trusted records that came with it or after it."""
    behind: Int64Array
    """Trusted records that came after it, and far behind it."""
    held: BoolArray
    """Whether it came before this batch."""

    @classmethod
    def fresh(cls, times_us: Int64Array) -> Suspects:
        """Suspects of this batch, not held before."""
        none = np.zeros(len(times_us), dtype=np.int64)
        return cls(times_us, none, none, np.zeros(len(times_us), dtype=np.bool_))

    def only(self, chosen: BoolArray) -> Suspects:
        """Some of them."""
        return Suspects(self.times_us[chosen], self.others[chosen], self.behind[chosen], self.held[chosen])

    def witnesses_us(self, limit_us: int | None) -> Int64Array:
        """The held times up to a limit that nothing speaks against yet: they support others like them."""
        found = self.held & (self.behind == 0)
        if limit_us is not None:
            found &= self.times_us <= limit_us
        times_us: Int64Array = self.times_us[found]
        return times_us


@dataclass(frozen=True)
class Known:
    """What is known beside the suspects."""

    t_max_us: int | None
    """Committed by the step before."""
    recent_us: Sequence[int] = ()
    """The newest trusted times, from the step before."""
    trusted_us: int | None = None
    """The newest time of the batch that a task could trust."""
    newest_us: Sequence[int] = ()
    """The newest times of the batch up to the clock, suspects included."""
    records: int = 0
    """How many records the batch has, suspects included."""
    live_from_us: int | None = None
    """Times from here to the clock are what a live stream sends; ``None`` if the stream is not known to be live."""


@dataclass(frozen=True)
class Verdict:
    """What becomes of each suspect; those neither accepted nor refused stay held."""

    t_max_us: int | None
    recent_us: tuple[int, ...]
    suspects: Suspects
    """With the counts of what has come since."""
    accepted: BoolArray
    refused: BoolArray
    ahead: BoolArray
    """Which are beyond the clock."""

    @property
    def still_held(self) -> BoolArray:
        """Which suspects the guard neither accepts nor refuses yet."""
        return ~(self.accepted | self.refused)


def judge(guard: FutureGuard, known: Known, suspects: Suspects, now_us: int, ending: Ending | None = None) -> Verdict:
    """Judge the suspects of a batch, and those held so far, by the batch's clock; blind to order and task borders."""
    limit = guard.limit_us(known.t_max_us, now_us)
    court = _Court(guard, known, suspects, limit, paused=ending is not None)
    t_max = court.believe()
    if limit is not None and court.refutes_the_clock(t_max):
        unseen = suspects.times_us[~suspects.held & (suspects.times_us > limit)]
        known = replace(known, newest_us=guard.newest([*known.newest_us, *guard.newest_of(unseen)]))
        limit, court = None, _Court(guard, known, suspects, None, paused=ending is not None)
        t_max = court.believe()
    if ending is not None:
        t_max = court.believe_at_the_end(t_max, ending)
    times = suspects.times_us
    accepted = np.zeros(len(times), dtype=np.bool_) if t_max is None else times <= t_max
    counted = court.count(t_max)
    ahead = np.zeros(len(times), dtype=np.bool_) if limit is None else times > limit
    refused = ~accepted & (counted.behind >= guard.contradictions)
    if ending in {"auto", "all"}:
        refused |= ~accepted & court.hopeless(counted, ending)
    refused |= _too_many(guard, times, ~(accepted | refused))
    released = guard.newest_of(times[suspects.held & accepted])
    trusted = (*known.newest_us, *known.recent_us, *released)
    recent = guard.newest(t for t in trusted if t_max is not None and t <= t_max)
    return Verdict(t_max, recent, counted, accepted, refused, ahead)


class _Court:
    """The suspects up to a limit, in order of time."""

    def __init__(
        self, guard: FutureGuard, known: Known, suspects: Suspects, limit_us: int | None, *, paused: bool
    ) -> None:
        self._guard, self._known, self._all, self._limit_us = guard, known, suspects, limit_us
        within = np.ones(len(suspects.times_us), dtype=np.bool_) if limit_us is None else suspects.times_us <= limit_us
        where = np.flatnonzero(within)
        self._where = where[np.argsort(suspects.times_us[where], kind="stable")]
        self._times = suspects.times_us[self._where]
        held_us = suspects.times_us[within & suspects.held]
        # Of a pause, what is held is all there is; else only what has just come says where the stream is now.
        stones = suspects.behind == 0 if paused else ~suspects.held
        self._stones = np.sort(suspects.times_us[within & stones])
        self._gaps = _Gaps(guard.newest([*known.newest_us, *known.recent_us, *guard.newest_of(held_us)]))

    def believe(self) -> int | None:
        """The newest time to believe."""
        guard, known = self._guard, self._known
        witnesses = guard.newest_of(self._all.witnesses_us(self._limit_us))
        anchor = guard.anchor(known.t_max_us, guard.newest([*known.newest_us, *witnesses]))
        t_max = max((t for t in (anchor, known.trusted_us) if t is not None), default=None)
        while True:
            t_max = guard.trusted_until(t_max, self._stones)
            further = [self._live(t_max), self._usual_step(t_max), self._majority(t_max)]
            newest = max((step for step in further if step is not None), default=None)
            if newest is None or (t_max is not None and newest <= t_max):
                return t_max
            t_max = newest

    def _beyond(self, t_max_us: int | None) -> int:
        """The first suspect that is not believed."""
        return 0 if t_max_us is None else int(np.searchsorted(self._times, t_max_us, side="right"))

    def _live(self, t_max_us: int | None) -> int | None:
        """The newest time, if it is what a live stream sends, and nothing comes from elsewhere."""
        live_from = self._known.live_from_us
        if live_from is None or not len(self._stones) or self._trusted(t_max_us):
            return None
        return int(self._stones[-1]) if self._stones[-1] >= live_from else None

    def _usual_step(self, t_max_us: int | None) -> int | None:
        """The next time, if its distance is usual for this stream, and nothing has come elsewhere since."""
        index = self._beyond(t_max_us)
        if t_max_us is None or index == len(self._times) or self._all.others[self._where[index]]:
            return None
        step = int(self._times[index])
        return step if self._gaps.usual(step, step - t_max_us) else None

    def _majority(self, t_max_us: int | None) -> int | None:
        """The newest time near or beyond which more records lie than have come elsewhere since."""
        first = self._beyond(t_max_us)
        since = self._all.others[self._where[first:]] + self._trusted(t_max_us)
        agreed = self._near_or_beyond(first) > since
        return int(self._times[first:][agreed][-1]) if agreed.any() else None

    def _near_or_beyond(self, first: int) -> Int64Array:
        """For each suspect that is not believed, how many others are near it or beyond it.

        One that trusted records speak against has no vote: two wrong times do not make each other right.
        """
        times, votes = within_range(self._times[first:]), self._all.behind[self._where[first:]] == 0
        voters = times[votes]
        beyond = len(voters) - np.searchsorted(voters, times - (self._guard.max_future_us or 0))
        others: Int64Array = beyond - votes
        return others

    def _trusted(self, t_max_us: int | None) -> int:
        """How many records of the batch are believed."""
        fresh = self._all.times_us[~self._all.held]
        return self._known.records - int((fresh > t_max_us).sum() if t_max_us is not None else len(fresh))

    def refutes_the_clock(self, t_max_us: int | None) -> bool:
        """Whether practically all records are ahead of the clock."""
        assert self._limit_us is not None
        ahead = self._all.times_us > self._limit_us
        if int(ahead.sum()) < self._guard.support:
            return False
        others = int(self._all.others[ahead].max()) + self._trusted(t_max_us)
        return int(ahead.sum()) >= _CLOCK_IS_WRONG * others

    def believe_at_the_end(self, t_max_us: int | None, ending: Ending) -> int | None:
        """The newest time to believe when nothing more comes for now."""
        first = self._beyond(t_max_us)
        times, behind, votes = self._times[first:], self._all.behind[self._where[first:]], self._near_or_beyond(first)
        alone = (votes == 0) & self._gaps.known
        credible = behind <= votes if ending == "all" else (behind == 0) & ~alone
        return int(times[credible][-1]) if credible.any() else t_max_us

    def hopeless(self, counted: Suspects, ending: Ending) -> BoolArray:
        """Which suspects will not be believed after the end."""
        if ending == "all":
            return np.ones(len(counted.times_us), dtype=np.bool_)
        ahead = np.zeros(len(counted.times_us), dtype=np.bool_)
        if self._limit_us is not None:
            ahead = counted.times_us > self._limit_us + (self._guard.max_future_us or 0)
        within = np.zeros(len(ahead), dtype=np.bool_)
        within[self._where] = True
        within &= counted.behind > 0
        ahead &= counted.others >= ahead.sum()
        return within | ahead

    def count(self, t_max_us: int | None) -> Suspects:
        """The suspects, with the believed records of this batch counted."""
        trusted = self._trusted(t_max_us)
        far = self._all.held & (t_max_us is not None)
        if t_max_us is not None:
            far &= self._all.times_us > t_max_us + (self._guard.max_future_us or 0)
        return replace(self._all, others=self._all.others + trusted, behind=self._all.behind + far * trusted)


class _Gaps:
    """How far apart the newest times of a stream are."""

    def __init__(self, newest_us: Sequence[int]) -> None:
        self._times = within_range(np.array(sorted(newest_us), dtype=np.int64))
        self._gaps = np.diff(self._times)

    @property
    def known(self) -> bool:
        """Whether there are enough times to tell."""
        return len(self._times) >= _SCALE_NEEDS

    def usual(self, time_us: int, gap_us: int) -> bool:
        """Whether a step of ``gap_us`` that ends at ``time_us`` is like the others."""
        others = np.sort(self._gaps[self._times[1:] != time_us])
        return len(others) > 0 and gap_us <= USUAL * int(others[(len(others) - 1) // 2])


def _too_many(guard: FutureGuard, times_us: Int64Array, kept: BoolArray) -> BoolArray:
    """Which to give up so that at most ``max_held`` stay: the furthest, all of one time or none."""
    given_up = np.zeros(len(times_us), dtype=np.bool_)
    if int(kept.sum()) > guard.max_held:
        cut = np.partition(times_us[kept], guard.max_held)[guard.max_held]
        given_up[kept & (times_us >= cut)] = True
    return given_up
