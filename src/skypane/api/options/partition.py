"""Partition: the column that names a record's partition of the source, and how to wait for partitions."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from skypane.api.options.declarations import check
from skypane.lateness.partitions import Across, SourcePartitions
from skypane.model.durations import Duration, parse_duration_us
from skypane.model.errors import OptionError


@dataclass(frozen=True)
class Partition:
    """The partitions of the source, whose progress is followed one by one: ``sp.stream(..., partition=...)``.

    column: the column that names a record's partition (Kafka's ``partition``, a sensor).
    across: ``"min"`` waits for the slowest partition, ``"max"`` follows the newest one.
    max_lag: with ``"min"``, a lagging partition delays answers by at most this; ``None``: by any time.
    timeout: a partition that has sent nothing for so long is not waited for.
    """

    column: str
    _: KW_ONLY
    across: Across = "min"
    max_lag: Duration | None = None
    timeout: Duration = "30 seconds"

    def __post_init__(self) -> None:
        if not isinstance(self.column, str) or not self.column:
            raise OptionError(f"Partition({self.column!r}): give the name of a column, e.g. sp.Partition('sensor').")
        check("partition", {name: value for name, value in vars(self).items() if name != "column"})

    def sources(self) -> SourcePartitions:
        """Convert to the policy of the flow, with durations in microseconds."""
        max_lag_us = None if self.max_lag is None else parse_duration_us(self.max_lag, "max_lag", zero_ok=True)
        return SourcePartitions(self.column, self.across, max_lag_us, parse_duration_us(self.timeout, "timeout"))
