"""Intervals: one row for each time that a record was in the answer, when it has left: since when, and until when."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from skypane.flow.windows.emit.instants import InstantEmission
from skypane.model.columns import VALID_FROM, VALID_TO

if TYPE_CHECKING:
    from skypane.flow.live.base import LiveChanges


class Intervals(InstantEmission):
    """Half open: the answer as of an instant x has the rows with ``valid_from <= x < valid_to``."""

    name = "intervals"

    def columns(self) -> Mapping[str, pa.DataType]:
        """The columns with both ends of the interval."""
        return {VALID_FROM: pa.timestamp("us"), VALID_TO: pa.timestamp("us")}

    def sent(self, changes: LiveChanges) -> LiveChanges:
        """Send the records that leave: their interval is complete."""
        return changes.where(changes.change < 0)

    def marks(self, changes: LiveChanges, expires_us: pa.Array, time_type: pa.DataType) -> Mapping[str, pa.Array]:
        """From when it entered to now."""
        del expires_us
        return {
            VALID_FROM: pa.array(changes.since_us).cast(time_type),
            VALID_TO: pa.array(changes.at_us).cast(time_type),
        }
