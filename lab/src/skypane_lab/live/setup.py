"""LiveMachine and LiveSetup: what things cost, and how one key's live set is spread over workers."""

from __future__ import annotations

from dataclasses import dataclass

from skypane.model.errors import OptionError
from skypane_lab.live.ownership import OWNERSHIPS, Ownership
from skypane_lab.live.reduce import ASYNCHRONOUS, Reduce


@dataclass(frozen=True)
class LiveMachine:
    """Times in virtual nanoseconds, whole numbers, so that two runs never differ by rounding."""

    scan_ps: int
    """Picoseconds to compare a record with one that is stored: paper 4's T_F."""
    queue_ns: int = 300
    """One push or pop; paper 4: a few hundred nanoseconds."""

    def service_ns(self, stored: int) -> int:
        """A worker takes a record from its queue, scans its part and pushes the influence time."""
        return self.record_ns + self.scan_ps * stored // 1000

    @property
    def record_ns(self) -> int:
        """What a record costs a worker that has stored nothing."""
        return 2 * self.queue_ns

    @property
    def message_ns(self) -> int:
        """From a push to the pop at the other end."""
        return 2 * self.queue_ns


@dataclass(frozen=True)
class LiveSetup:
    """Workers, the queues before them, and the two choices of paper 4."""

    machine: LiveMachine
    degree: int
    queue_size: int = 10_000
    ownership: Ownership = OWNERSHIPS["llw+"]
    reduce: Reduce = ASYNCHRONOUS
    emitter_stamps: bool = False
    """A record's time is when the emitter takes it, so that full queues slow the stream down; else when it arrives."""
    mark_every_ns: int | None = None
    """After so long without a record the emitter sends a mark, so that the workers go on with their events."""

    def __post_init__(self) -> None:
        if self.degree < 1:
            raise OptionError(f"degree={self.degree!r} must be 1 or more.")
        if self.queue_size < 1:
            raise OptionError(f"queue_size={self.queue_size!r} must be 1 or more.")
