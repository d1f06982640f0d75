"""Ownership: which worker stores a record of the live set (paper 4: RR, OD, LLW, LLW+)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Final, NamedTuple

from skypane_lab.kernels import live_queues


class Loads(NamedTuple):
    """What the emitter sees of each worker when it takes a record."""

    room: Sequence[bool]
    """Whether its queue has room."""
    stored: Sequence[int]
    """How many records it owns, as its counter says: what waits in its queue is not in it."""
    queued: Sequence[int]
    """How many records are on their way to it that it will own."""
    last_owner: int
    """Who got the record before."""


class Ownership(ABC):
    """Chooses an owner from what the emitter sees; the same loads, the same owner. Ties go to the first worker."""

    name: ClassVar[str]
    rule: ClassVar[int]
    """Its number in the compiled queues."""

    @abstractmethod
    def owner(self, record: int, loads: Loads) -> int | None:
        """The owner of the record with this number; ``None`` to be asked again when a queue has room."""


class RoundRobin(Ownership):
    """RR: the workers in turn, whatever they hold."""

    name = "rr"
    rule = live_queues.IN_TURN

    def owner(self, record: int, loads: Loads) -> int:
        """Every n-th record."""
        return record % len(loads.stored)


class OnDemand(Ownership):
    """OD: the first whose queue takes the record."""

    name = "od"
    rule = live_queues.FIRST_ROOM

    def owner(self, record: int, loads: Loads) -> int | None:  # noqa: ARG002 - every policy is asked alike
        """The first with room."""
        return next((worker for worker, room in enumerate(loads.room) if room), None)


class OnDemandOnwards(Ownership):
    """OD, read in another way: the search begins with the last owner, who goes on as long as its queue has room."""

    name = "od_on"
    rule = live_queues.NEXT_ROOM

    def owner(self, record: int, loads: Loads) -> int | None:  # noqa: ARG002
        """The first with room, from the last owner on."""
        degree = len(loads.room)
        onwards = ((loads.last_owner + step) % degree for step in range(degree))
        return next((worker for worker in onwards if loads.room[worker]), None)


class LeastLoaded(Ownership):
    """LLW: who holds least now. What waits in the queues has not been seen by the counters."""

    name = "llw"
    rule = live_queues.SMALLEST

    def owner(self, record: int, loads: Loads) -> int:  # noqa: ARG002
        """The smallest part."""
        return min(range(len(loads.stored)), key=loads.stored.__getitem__)


class LeastLoadedWithOwnership(Ownership):
    """LLW+: who will hold least, counting the records in its queue that it will own."""

    name = "llw+"
    rule = live_queues.SMALLEST_TO_BE

    def owner(self, record: int, loads: Loads) -> int:  # noqa: ARG002
        """The smallest part to be."""
        to_be = [stored + queued for stored, queued in zip(loads.stored, loads.queued, strict=True)]
        return min(range(len(to_be)), key=to_be.__getitem__)


OWNERSHIPS: Final[dict[str, Ownership]] = {
    policy.name: policy
    for policy in (RoundRobin(), OnDemand(), OnDemandOnwards(), LeastLoaded(), LeastLoadedWithOwnership())
}
