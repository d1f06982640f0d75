"""Window: one window as a function over windows gets it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pyarrow as pa


@dataclass(frozen=True)
class Window:
    """From ``start`` to just before ``end``; microseconds since the epoch where the years have five digits."""

    start_us: int
    end_us: int
    time_zone: str | None = "UTC"
    """How ``start`` and ``end`` are shown; ``None`` for times without a zone."""
    ranks: tuple[int, int] | None = None
    """Of a window of records: the ranks of its first and its last one, which is the one at ``end``."""
    partial: bool = False
    """Of a window of records: whether some are missing yet."""

    @property
    def start(self) -> datetime:
        """When it starts."""
        return self._shown(self.start_us)

    @property
    def end(self) -> datetime:
        """When it ends; its records are older than that."""
        return self._shown(self.end_us)

    @property
    def seconds(self) -> float:
        """How long it is."""
        return (self.end_us - self.start_us) / 1e6

    def __str__(self) -> str:
        if self.ranks is not None:
            first, last = self.ranks
            return f"{first} .. {last}{' (partial)' * self.partial}, {iso(self.start_us)} .. {iso(self.end_us)}"
        return f"[{iso(self.start_us)}, {iso(self.end_us)})"

    def _shown(self, time_us: int) -> datetime:
        shown: datetime = pa.scalar(time_us, pa.timestamp("us", self.time_zone)).as_py()
        return shown


def iso(time_us: int) -> str:
    """A time in UTC, for messages; any year will do."""
    return str(np.datetime64(time_us, "us")).removesuffix(".000000")
