"""AsOf: the rows of a table of intervals that were valid at an instant."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import Any, Final, Literal

import narwhals.stable.v2 as nw

from skypane.local.frames import frame_of
from skypane.model.columns import VALID_FROM, VALID_TO
from skypane.model.errors import OptionError, SchemaError
from skypane.model.zones import zone_of

_FRACTION = re.compile(r"\.\d{1,6}(?!\d)")
"""Of a second; Python 3.10 knows three digits or six."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)
_FARTHEST: Final = 2**63 - 1


def parse_instant(instant: datetime | str) -> datetime:
    """A time as people write it."""
    if isinstance(instant, datetime) and isinstance(instant.year, int):  # NaT is a datetime, too, of no year
        return instant
    try:
        return datetime.fromisoformat(_FRACTION.sub(lambda found: found[0].ljust(7, "0"), instant))
    except (TypeError, ValueError):
        raise OptionError(
            f"as_of(df, {instant!r}): give a datetime, or a text such as '2026-01-01 14:03:07.200'."
        ) from None


def micros_of(instant: datetime, zone: str | None) -> int:
    """The instant as a number, since 1970; without a zone of its own it is meant in this one, or as it stands."""
    if instant.tzinfo is None:
        instant = instant.replace(tzinfo=(zone and zone_of(zone)) or timezone.utc)
    return (instant - _EPOCH) // timedelta(microseconds=1)


def check_intervals(names: Sequence[str]) -> None:
    """Raise :class:`SchemaError` if there are no intervals."""
    for name in (VALID_FROM, VALID_TO):
        if name not in names:
            raise SchemaError(
                f"{name!r} is not a column; as_of() reads tables of .emit('intervals') and of sp.skyline_intervals(). "
                f"The columns are: {', '.join(names)}."
            )


def as_of_frame(df: Any, instant: datetime) -> Any:
    """Of a pandas or polars DataFrame or an Arrow table."""
    frame = frame_of(df)
    check_intervals(frame.columns)
    kind = _timestamps(frame, VALID_FROM)
    _timestamps(frame, VALID_TO)
    unit: Literal["ns", "us"] = "ns" if kind.time_unit == "ns" else "us"
    # As numbers: libraries do not compare times of other zones or units. Those too far for nanoseconds are nowhere.
    then = micros_of(instant, kind.time_zone)
    if unit == "ns":
        then = then * 1_000 + int(getattr(instant, "nanosecond", 0))  # a pandas Timestamp has some
    then = max(-_FARTHEST, min(then, _FARTHEST))
    since, until = (nw.col(name).dt.timestamp(unit) for name in (VALID_FROM, VALID_TO))
    return nw.to_native(frame.filter((since <= then) & (until > then)))


def _timestamps(frame: nw.DataFrame[Any], name: str) -> nw.Datetime:
    """The type of a column; raises :class:`SchemaError` if it is none of timestamps."""
    kind = frame.schema[name]
    if not isinstance(kind, nw.Datetime):
        raise SchemaError(f"Column {name!r} has type {kind}; it must be a timestamp.")
    return kind
