"""Reduce: how the owner of a record learns its influence time, and which updates may be sent meanwhile (paper 4).

Every worker finds the influence time within its part, 0 if nothing there dominates the record; the largest is the
record's. Three of paper 4's rules are corrected here, each where it stands, and one that it leaves open is settled;
tests show what goes wrong with the printed ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Reduce:
    """One way to wait for it, and the rules that both ways share."""

    name: str
    owner_waits: bool
    """Synchronous: the owner stops until it has the result. Asynchronous: it goes on with the next records."""

    def entry(self, influence: int, time: int) -> int:
        """When a record of this time enters.

        Paper 4 adds a pending record "at SIT". But that is 0 if nothing dominates the record, and it may lie before the
        record's own time if the dominator had expired when the record came: no record enters before it is there.
        """
        return max(influence, time)

    def has_happened(self, event: int, time: int) -> bool:
        """Whether an event comes before a record of this time.

        Paper 4 says that events with a *smaller* time do, and leaves open those of the same. A record lives until just
        before its time + within, so at that instant it is gone, and whom it kept out is in.
        """
        return event <= time

    def safe(self, now: int, oldest_pending: int | None, influence: int | None) -> int:  # noqa: ARG002
        """The worker sends no more updates before this instant: what it has from before may go.

        Paper 4 releases updates up to the influence time of the record whose result has just come, even while others
        pend. But a pending record can enter at its own time, which may be earlier: the time of the oldest pending
        record is the bound.
        """
        return now if oldest_pending is None else min(now, oldest_pending)

    def may_forward(self, update: int, bound: int) -> bool:
        """Whether the collector may forward an update, given the smallest bound of all workers.

        Paper 4 forwards updates *at* the bound, too. Two workers can have updates of one instant, one's record leaving
        as the other's enters, and the leaving must be told first: only what is before the bound may go.
        """
        return update < bound


SYNCHRONOUS: Final = Reduce("synchronous", owner_waits=True)
ASYNCHRONOUS: Final = Reduce("asynchronous", owner_waits=False)
