"""PaneStats: the few numbers that a pane-stage task sends to the driver with its partials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from skypane.lateness.delay_histogram import DelayHistogram
from skypane.lateness.future_guard import FutureGuard
from skypane.model.ledger import Ledger

MOST_PANES = 1_024


@dataclass(frozen=True)
class PaneStats:
    """What one task, or all tasks of a step together, saw."""

    ledger: Ledger = field(default_factory=Ledger)
    between_windows: int = 0
    """Accepted records in the gaps between hopping windows."""
    suspects: int = 0
    """Records too far in the future to be judged by one task alone; not in the ledger yet."""
    newest_us: tuple[int, ...] = ()
    """The newest times seen, suspects included, newest first, as many as the future guard needs."""
    trusted_us: int | None = None
    """The newest time that the task itself could trust."""
    max_delay_us: int = 0
    overdue: DelayHistogram = field(default_factory=DelayHistogram)
    """How long the panes of the records had been over when they came."""
    newest_by_partition_us: Mapping[str, int] = field(default_factory=dict)
    """The newest trusted time of each source partition, where partitions are told apart."""
    records_by_pane: Mapping[int, int] = field(default_factory=dict)
    """Accepted records of the newest panes: whence latencies are known."""
    partial_rows_by_group: Mapping[int, int] = field(default_factory=dict)
    work_us: int = 0

    @property
    def records(self) -> int:
        """Everything the source delivered."""
        return self.ledger.delivered + self.suspects

    @classmethod
    def merge(cls, parts: Sequence[PaneStats], guard: FutureGuard) -> PaneStats:
        """All tasks of a step together; does not depend on how records were spread over them."""
        newest: dict[str, int] = {}
        for part in parts:
            for name, time_us in part.newest_by_partition_us.items():
                newest[name] = max(newest.get(name, time_us), time_us)
        return cls(
            ledger=sum((p.ledger for p in parts), Ledger()),
            between_windows=sum(p.between_windows for p in parts),
            suspects=sum(p.suspects for p in parts),
            newest_us=guard.newest(t for p in parts for t in p.newest_us),
            trusted_us=_max(p.trusted_us for p in parts),
            max_delay_us=max((p.max_delay_us for p in parts), default=0),
            overdue=DelayHistogram.merge(p.overdue for p in parts),
            newest_by_partition_us=newest,
            records_by_pane=newest_panes(added(p.records_by_pane for p in parts)),
            partial_rows_by_group=added(p.partial_rows_by_group for p in parts),
            work_us=sum(p.work_us for p in parts),
        )

    def to_json(self) -> dict[str, object]:
        """A form that survives JSON."""
        return {
            "ledger": self.ledger.to_json(),
            "between_windows": self.between_windows,
            "suspects": self.suspects,
            "newest_us": list(self.newest_us),
            "trusted_us": self.trusted_us,
            "max_delay_us": self.max_delay_us,
            "overdue": self.overdue.to_json(),
            "newest_by_partition_us": dict(self.newest_by_partition_us),
            "records_by_pane": [[p, n] for p, n in self.records_by_pane.items()],
            "partial_rows_by_group": [[g, n] for g, n in self.partial_rows_by_group.items()],
            "work_us": self.work_us,
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> PaneStats:
        """The inverse of :meth:`to_json`."""
        return cls(
            ledger=Ledger.from_json(body["ledger"]),
            between_windows=body["between_windows"],
            suspects=body["suspects"],
            newest_us=tuple(body["newest_us"]),
            trusted_us=body["trusted_us"],
            max_delay_us=body["max_delay_us"],
            overdue=DelayHistogram.from_json(body["overdue"]),
            newest_by_partition_us=body["newest_by_partition_us"],
            records_by_pane=dict(body["records_by_pane"]),
            partial_rows_by_group=dict(body["partial_rows_by_group"]),
            work_us=body["work_us"],
        )


def added(counts: Iterable[Mapping[int, int]]) -> dict[int, int]:
    """Counts by number, added up."""
    total: Counter[int] = Counter()
    for part in counts:
        total.update(part)
    return dict(total)


def newest_panes(records_by_pane: Mapping[int, int]) -> dict[int, int]:
    """The newest :data:`MOST_PANES`: a batch that replays a year must not send a year of panes to the driver."""
    return {pane: records_by_pane[pane] for pane in sorted(records_by_pane)[-MOST_PANES:]}


def _max(values: Iterable[int | None]) -> int | None:
    known = [v for v in values if v is not None]
    return max(known) if known else None
