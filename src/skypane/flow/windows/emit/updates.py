"""Updates: a row with +1 when a record enters the answer, and one with -1 when it leaves, with the instant and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from skypane.flow.live.causes import CAUSES, EXPIRED
from skypane.flow.windows.emit.instants import InstantEmission
from skypane.model.columns import AT, CAUSE, CHANGE, EXPIRES
from skypane.model.errors import OptionError

if TYPE_CHECKING:
    from skypane.flow.live.base import LiveChanges


@dataclass(frozen=True)
class Updates(InstantEmission):
    """In the order of the instants; at one instant what leaves comes before what enters."""

    name = "updates"

    expiries: bool = True
    """Whether rows with -1 are also sent for records that merely expire: who has seen ``expires`` knows."""

    def __post_init__(self) -> None:
        if not isinstance(self.expiries, bool):
            raise OptionError(f"expiries={self.expiries!r} must be true or false.")

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

    def sent(self, changes: LiveChanges) -> LiveChanges:
        """All of it, or all but expiries."""
        return changes if self.expiries else changes.where(changes.cause != EXPIRED)

    def marks(self, changes: LiveChanges, expires_us: pa.Array, time_type: pa.DataType) -> Mapping[str, pa.Array]:
        """The columns that mark each change: when, which way, and why."""
        return {
            AT: pa.array(changes.at_us).cast(time_type),
            CHANGE: pa.array(changes.change, pa.int8()),
            CAUSE: pa.array(CAUSES).take(pa.array(changes.cause)),
            EXPIRES: expires_us.cast(time_type),
        }
