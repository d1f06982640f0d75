"""Offsets: a place in a stream as Spark stores it in its checkpoint, and what may be read from it on."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows

from skypane.model.errors import CheckpointError
from skypane.traffic import Position


@dataclass(frozen=True)
class SourceOffset:
    """Everything a restart needs to continue the same stream at the same record."""

    fingerprint: str  # of the stream, so that changed options are noticed
    arrived_us: int  # virtual time, from the start of the stream
    ties: int  # records read of those that arrive at exactly that microsecond
    records: int  # read so far
    start_us: int  # what virtual time zero is in event time
    began_us: int  # what virtual time zero is on the wall clock, for pacing

    @property
    def position(self) -> Position:
        """The place in the stream."""
        return Position(self.arrived_us, self.ties)

    def moved(self, place: Position, records: int) -> SourceOffset:
        """The offset after ``records`` more."""
        return SourceOffset(
            self.fingerprint,
            place.arrived_us,
            place.ties,
            self.records + records,
            self.start_us,
            self.began_us,
        )

    def as_dict(self) -> dict[str, Any]:
        """The offset as the dictionary that Spark stores."""
        return asdict(self)


def same_stream(stored: dict[str, Any], fingerprint: str, what: str) -> None:
    """Refuses a checkpoint of another stream."""
    if stored.get("fingerprint") != fingerprint:
        raise CheckpointError(
            f"the checkpoint belongs to another stream: {what} changed since it was started; "
            "restore what it was, or use a new checkpoint"
        )


def wall_clock_us() -> int:
    """Now, in microseconds since the epoch."""
    return time.time_ns() // 1000


def max_rows(limit: ReadLimit) -> int | None:
    """The most rows that Spark allows in this batch; None for no limit."""
    return limit.max_rows if isinstance(limit, ReadMaxRows) else None
