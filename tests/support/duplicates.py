"""Duplicates by brute force: what must hold of accepted records and duplicates, and which of them are which."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from skypane.flow.distinct.distinct import Distinct
from skypane.testing.oracle import micros

Row = dict[str, Any]


def id_of(distinct: Distinct, row: Row) -> tuple[Any, ...] | None:
    """The id of a record, if it has one."""
    values = tuple(_one_nan(row[name]) for name in distinct.columns)
    return None if any(value is None for value in values) else values


def _one_nan(value: Any) -> Any:
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def assert_distinct(
    distinct: Distinct,
    accepted: Iterable[Row],
    duplicates: Iterable[Row],
    time: str = "ts",
    *,
    allow_twice: bool = False,
) -> None:
    """No two accepted records are duplicates of one another; each duplicate is one of an accepted record."""
    times: dict[Any, list[int]] = defaultdict(list)
    for row in accepted:
        if (own := id_of(distinct, row)) is not None:
            when = _micros(row[time])
            assert allow_twice or all(abs(when - other) > distinct.within_us for other in times[own]), (
                f"accepted twice: {row}"
            )
            times[own].append(when)
    for row in duplicates:
        own = id_of(distinct, row)
        near = [other for other in times[own] if abs(_micros(row[time]) - other) <= distinct.within_us]
        assert own is not None, f"a duplicate without an id: {row}"
        assert near, f"no duplicate: {row}"


def first_of_each(
    distinct: Distinct, batches: Sequence[Sequence[Row]], tie: Callable[[Row], Any], time: str = "ts"
) -> list[Row]:
    """The accepted records, where none is late and every time is believed: batch by batch, the oldest first."""
    accepted: list[Row] = []
    times: dict[Any, list[int]] = defaultdict(list)
    for batch in batches:
        for row in sorted(batch, key=lambda row: (_micros(row[time]), tie(row))):
            own, when = id_of(distinct, row), _micros(row[time])
            if own is None or all(abs(when - other) > distinct.within_us for other in times[own]):
                accepted.append(row)
                times[own].append(when)
    return accepted


def _micros(when: datetime | int) -> int:
    return when if isinstance(when, int) else micros(when)
