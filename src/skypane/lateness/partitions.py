"""SourcePartitions: how far each partition of the source has come, and which of them to wait for.

The **front** is the time that the watermark stays behind, by the slack. Across several partitions it is the newest
time of all (``across="max"``: a lagging partition's records become late) or that of the partition that is least far
(``across="min"``), which is waited for up to ``max_lag``. A partition that has sent nothing for ``idle_timeout`` is not
waited for; nor is one of which a few records say that it is far behind, as one record of 1970 does. "Now" is the time
at which the source cut the batch, which a replay finds again in the offset log.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from skypane.model.durations import format_duration_us
from skypane.model.errors import OptionError

Across = Literal["min", "max"]


class PartitionSeen(NamedTuple):
    """One partition in one step: its newest trusted time, and how many records it sent."""

    newest_us: int
    records: int


class PartitionProgress(NamedTuple):
    """One partition: its newest trusted time, when it last sent a record, and how many it has sent."""

    newest_us: int
    seen_us: int
    records: int


Partitions = Mapping[str, PartitionProgress]


@dataclass(frozen=True)
class SourcePartitions:
    """Which column names the partition of a record, and how partitions are waited for."""

    column: str
    across: Across = "min"
    max_lag_us: int | None = None
    """How far behind the newest partition one may be and still be waited for; ``None``: any distance."""
    idle_timeout_us: int = 30_000_000
    support: int = 5
    """A partition with fewer records is waited for only if it is within ``reach_us`` of the newest."""
    reach_us: int | None = None

    def __post_init__(self) -> None:
        if self.across not in {"min", "max"}:
            raise OptionError(f"across={self.across!r} must be 'min' or 'max'.")

    def advance(
        self, before: Partitions, seen: Mapping[str, PartitionSeen], now_us: int
    ) -> dict[str, PartitionProgress]:
        """The partitions after a step; one that has been idle for long is forgotten until it sends again."""
        after = dict(before)
        for name, (newest, records) in seen.items():
            known = after.get(name, PartitionProgress(newest, now_us, 0))
            sent = min(known.records + records, self.support)
            after[name] = PartitionProgress(max(known.newest_us, newest), now_us, sent)
        return {name: p for name, p in sorted(after.items()) if now_us - p.seen_us < self.idle_timeout_us}

    def front_us(self, partitions: Partitions, t_max_us: int) -> int:
        """The time that the watermark stays behind."""
        if self.across == "max":
            return t_max_us
        awaited = [p.newest_us for p in partitions.values() if self._counts(p, t_max_us)]
        slowest = min(awaited, default=t_max_us)
        return slowest if self.max_lag_us is None else max(slowest, t_max_us - self.max_lag_us)

    def _counts(self, partition: PartitionProgress, t_max_us: int) -> bool:
        near = self.reach_us is None or partition.newest_us >= t_max_us - self.reach_us
        return near or partition.records >= self.support

    def describe(self) -> str:
        """Settings and values for ``explain()``."""
        if self.across == "max":
            return f"by {self.column}: the newest leads"
        bound = "" if self.max_lag_us is None else f", at most {format_duration_us(self.max_lag_us)}"
        idle = format_duration_us(self.idle_timeout_us)
        return f"by {self.column}: the slowest is waited for{bound}; one idle for {idle} is not"
