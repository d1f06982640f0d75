"""Updates: a row with +1 when a record enters the answer, and one with -1 when it leaves, with the instant and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from skypane.flow.live.causes import CAUSES, EXPIRED
from skypane.flow.windows.emit.instants import InstantEmission
from skypane.model.columns import AT, CAUSE, CHANGE, EXPIRES

if TYPE_CHECKING:
    from skypane.flow.live.base import Happened


@dataclass(frozen=True)
class Updates(InstantEmission):
    """In the order of the instants; at one instant what leaves comes before what enters."""

    name = "updates"

    expiries: bool = True
    """Whether rows with -1 are also sent for records that merely expire: who has seen ``expires`` knows."""

    @property
    def variant(self) -> str:
        """Without expiries other rows are sent."""
        return self.name if self.expiries else f"{self.name} without expiries"

    def without_expiries(self) -> Updates:
        """Whoever reads them looks at ``expires``."""
        return replace(self, expiries=False)

    def columns(self) -> Mapping[str, pa.DataType]:
        """When, +1 or -1, why, and when the record expires."""
        return {AT: pa.timestamp("us"), CHANGE: pa.int8(), CAUSE: pa.string(), EXPIRES: pa.timestamp("us")}

    def sent(self, happened: Happened) -> Happened:
        """All of it, or all but expiries."""
        return happened if self.expiries else happened.where(happened.cause != EXPIRED)

    def marks(self, happened: Happened, expires_us: pa.Array, time_type: pa.DataType) -> Mapping[str, pa.Array]:
        """As it happened."""
        return {
            AT: pa.array(happened.at_us).cast(time_type),
            CHANGE: pa.array(happened.change, pa.int8()),
            CAUSE: pa.array(CAUSES).take(pa.array(happened.cause)),
            EXPIRES: expires_us.cast(time_type),
        }
