"""Distinct options: the columns that make the id of a record, and how far apart duplicates can be."""

from __future__ import annotations

from collections.abc import Sequence

from skypane.api.options.declarations import option_at
from skypane.flow.distinct.distinct import Distinct
from skypane.model.durations import Duration, parse_duration_us
from skypane.model.errors import OptionError


def distinct_of(columns: str | Sequence[str] | None, within: Duration | None) -> Distinct | None:
    """What makes two records duplicates; ``None`` where duplicates are not found."""
    if columns is None and within is None:
        return None
    if columns is None:
        raise OptionError(f"within={within!r} needs distinct_by=..., the columns that make the id of a record.")
    option_at("query.distinct_by").check(columns)
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    if not names:
        raise OptionError("distinct_by=[] names no column. Name those that make the id of a record, or leave it out.")
    if len(set(names)) < len(names):
        raise OptionError(f"distinct_by={list(names)!r} names a column twice.")
    if within is None:
        raise OptionError(
            f"distinct_by={list(names)!r} needs within=..., e.g. within='10 minutes': so far apart two records with "
            "one id can be and still be duplicates. Ids are remembered for so long."
        )
    option_at("query.within").check(within)
    return Distinct(names, parse_duration_us(within, "within", zero_ok=True))
