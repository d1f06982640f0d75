"""AsOf: the rows of a table of intervals that were valid at an instant."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

import narwhals.stable.v2 as nw

from skypane.local.frames import frame_of
from skypane.model.columns import VALID_FROM, VALID_TO
from skypane.model.errors import OptionError, SchemaError

_FRACTION = re.compile(r"\.\d{1,6}(?!\d)")
"""Of a second; Python 3.10 knows three digits or six."""


def parse_instant(instant: datetime | str) -> datetime:
    """A time as people write it."""
    if isinstance(instant, datetime):
        return instant
    try:
        return datetime.fromisoformat(_FRACTION.sub(lambda found: found[0].ljust(7, "0"), instant))
    except (TypeError, ValueError):
        raise OptionError(
            f"as_of(df, {instant!r}): give a datetime, or a text such as '2026-01-01 14:03:07.200'."
        ) from None


def in_zone(instant: datetime, *, zoned: bool) -> datetime:
    """The instant as times with, or without, a zone are compared with it."""
    if zoned:
        return instant if instant.tzinfo else instant.replace(tzinfo=timezone.utc)
    return instant.astimezone(timezone.utc).replace(tzinfo=None) if instant.tzinfo else instant


def check_intervals(names: Sequence[str]) -> None:
    """Raise :class:`SchemaError` if there are no intervals."""
    for name in (VALID_FROM, VALID_TO):
        if name not in names:
            raise SchemaError(
                f"{name!r} is not a column; as_of() reads tables of emit='intervals' and of sp.skyline_intervals(). "
                f"The columns are: {', '.join(names)}."
            )


def as_of_frame(df: Any, instant: datetime) -> Any:
    """Of a pandas or polars DataFrame or an Arrow table."""
    frame = frame_of(df)
    check_intervals(frame.columns)
    kind = frame.schema[VALID_FROM]
    if not isinstance(kind, nw.Datetime):
        raise SchemaError(f"Column {VALID_FROM!r} has type {kind}; it must be a timestamp.")
    then = nw.lit(in_zone(instant, zoned=kind.time_zone is not None))
    return nw.to_native(frame.filter((nw.col(VALID_FROM) <= then) & (nw.col(VALID_TO) > then)))
