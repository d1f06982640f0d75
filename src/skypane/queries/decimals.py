"""Decimals: sums that cannot wrap around, and sums and means in the types that Spark gives them."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal

import pyarrow as pa
import pyarrow.compute as pc

_SPARK_DIGITS = 38
_ROOM = 38
"""Digits to spare in a running sum: no stream has 10**38 records."""
_TABLE_DIGITS = 19
"""Of the largest number of rows of a table."""
_EXACT = Context(prec=200)


def running_type(kind: pa.DataType) -> pa.DataType:
    """The type of running sums: so wide that they are exact, and it shows which type was summed."""
    return pa.decimal256(kind.precision + _ROOM, kind.scale)


def adding_type(kind: pa.DataType) -> pa.DataType:
    """In which the values of one table are added up: no wider than that many can need, since wide ones are slow."""
    return pa.decimal128(38, kind.scale) if kind.precision + _TABLE_DIGITS <= 38 else running_type(kind)


def total(running: pa.ChunkedArray) -> pa.ChunkedArray:
    """Running sums as Spark's ``sum``: ten digits more than the values, at most 38; null where that is too few."""
    digits, scale = _digits(running), running.type.scale
    largest = pa.scalar(Decimal((0, (9,) * digits, -scale)), pa.decimal256(digits, scale)).cast(running.type)
    fits = pc.less_equal(pc.abs(running), largest)
    return pc.if_else(fits, running, pa.scalar(None, running.type)).cast(pa.decimal128(digits, scale))


def mean(running: pa.ChunkedArray, counts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Running sums by counts as Spark's ``avg``: four digits more, all behind the point; null where they overflow."""
    precision, scale = running.type.precision - _ROOM, running.type.scale
    kind = pa.decimal128(min(precision + 4, _SPARK_DIGITS), min(scale + 4, _SPARK_DIGITS))
    pairs = zip(total(running).to_pylist(), counts.to_pylist(), strict=True)
    means = [None if sum_ is None else _fitting(mean_of(sum_, scale, count), kind) for sum_, count in pairs]
    return pa.chunked_array([pa.array(means, kind)])


def mean_of(sum_: Decimal, scale: int, count: int) -> Decimal:
    """Rounded half up like Spark does it: to 38 digits behind the point first, then to the digits of the result."""
    digits = min(scale + 4, _SPARK_DIGITS)
    unscaled = int(_EXACT.scaleb(sum_, _SPARK_DIGITS))
    fine = _half_up(unscaled, count)
    return _EXACT.scaleb(Decimal(_half_up(fine, 10 ** (_SPARK_DIGITS - digits))), -digits)


def exact_total(values: Sequence[Decimal]) -> Decimal:
    """The sum with all its digits (Python's own rounds to 28)."""
    found = Decimal(0)
    for value in values:
        found = _EXACT.add(found, value)
    return found


def _digits(running: pa.ChunkedArray) -> int:
    return int(min(running.type.precision - _ROOM + 10, _SPARK_DIGITS))


def _half_up(numerator: int, denominator: int) -> int:
    whole = (2 * abs(numerator) + denominator) // (2 * denominator)
    return whole if numerator >= 0 else -whole


def _fitting(value: Decimal, kind: pa.DataType) -> Decimal | None:
    return value if len(value.as_tuple().digits) <= kind.precision else None
