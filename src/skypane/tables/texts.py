"""Texts: Arrow values as people read them - times of any zone, and of years that Python's datetimes do not know."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone, tzinfo
from typing import Any, Final

import numpy as np
import pyarrow as pa

from skypane.model.zones import zone_of

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)
_DAY_US: Final = 86_400_000_000
_CYCLE_US: Final = 146_097 * _DAY_US
"""After 400 years the calendar repeats, days of the week included."""
_PER_SECOND: Final = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_MANY_DIGITS: Final = 1e4
_TOO_MANY_DIGITS: Final = 1e13
"""From here on two digits behind the point are no longer exact."""


def column_texts(column: pa.ChunkedArray) -> list[str]:
    """The values of a column, each as text."""
    values, kind = column.cast(_with_numbers(column.type)).to_pylist(), column.type
    if pa.types.is_timestamp(kind):
        return _instant_texts(
            [None if value is None else value * 1_000_000 // _PER_SECOND[kind.unit] for value in values], kind.tz
        )
    return [value_text(value, kind) for value in values]


def _instant_texts(micros: Sequence[int | None], zone: str | None) -> list[str]:
    """With milliseconds; with microseconds if any of them has some."""
    fine = any(us is not None and us % 1_000 for us in micros)
    return ["null" if us is None else instant_text(us, zone, fine=fine) for us in micros]


def _with_numbers(kind: pa.DataType) -> pa.DataType:
    """The type with times as numbers: Python's datetimes end with the year 9999."""
    if pa.types.is_timestamp(kind):
        return pa.int64()
    if pa.types.is_date32(kind):
        return pa.int32()
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_with_numbers(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_with_numbers(kind.value_type)))
    if pa.types.is_map(kind):
        return pa.map_(_with_numbers(kind.key_type), _with_numbers(kind.item_type))
    return kind


def value_text(value: Any, kind: pa.DataType) -> str:
    """One value, whose times are numbers."""
    if value is None:
        return "null"
    if pa.types.is_nested(kind):
        return _nested_text(value, kind)
    if pa.types.is_timestamp(kind):
        return instant_text(value * 1_000_000 // _PER_SECOND[kind.unit], kind.tz)
    if pa.types.is_date32(kind):
        return str(np.datetime64(value, "D"))
    return _number_text(value) if isinstance(value, float) else str(value)


def _number_text(value: float) -> str:
    """Six digits; of a larger number all before the point and two behind it, since it may be a sum of money."""
    if not _MANY_DIGITS <= abs(value) < _TOO_MANY_DIGITS:
        return f"{value:.6g}"
    return f"{value:.2f}".rstrip("0").removesuffix(".")


def _nested_text(value: Any, kind: pa.DataType) -> str:
    if pa.types.is_struct(kind):
        return _struct_text(value, kind)
    if pa.types.is_map(kind):
        pairs = ((value_text(k, kind.key_type), value_text(v, kind.item_type)) for k, v in value)
        return "{" + ", ".join(f"{name}: {text}" for name, text in pairs) + "}"
    return "[" + ", ".join(value_text(item, kind.value_type) for item in value) + "]"


def _struct_text(value: dict[str, Any], kind: pa.StructType) -> str:
    texts = {field.name: value_text(value[field.name], field.type) for field in kind}
    of_rows = list(texts) == ["first", "last", "start", "end", "partial"]
    if not (of_rows or list(texts) == ["start", "end"]) or None in value.values():
        return "{" + ", ".join(f"{name}: {text}" for name, text in texts.items()) + "}"
    if of_rows:
        span = _struct_text(value, pa.struct([kind.field("start"), kind.field("end")]))
        return f"{value['first']} .. {value['last']}{' (partial)' * value['partial']}, {span}"
    # A window; unless it is long, the day of its end is clear.
    short = pa.types.is_timestamp(kind.field("end").type) and value["end"] - value["start"] < _DAY_US
    return f"{texts['start']} .. {texts['end'].rsplit(' ', 1)[-1] if short else texts['end']}"


def instant_text(micros: int, zone: str | None, *, fine: bool = False) -> str:
    """A time as a clock of the zone shows it, with milliseconds; in UTC, marked Z, if the zone is none that we know.

    ``fine``: with microseconds.
    """
    known = zone_of(zone) if zone is not None else timezone.utc
    days, rest_us = divmod(micros + (0 if known is None else _offset_us(micros, known)), _DAY_US)
    seconds, below_us = divmod(rest_us, 1_000_000)
    fraction = f"{below_us:06d}"[: 6 if fine else 3]
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{fraction}"
    return f"{np.datetime64(days, 'D')} {clock}{'Z' if known is None else ''}"


def _offset_us(micros: int, zone: tzinfo) -> int:
    try:
        at = (_EPOCH + timedelta(microseconds=micros)).astimezone(zone)
    except OverflowError:
        at = (_EPOCH + timedelta(microseconds=micros % _CYCLE_US)).astimezone(zone)
    offset = at.utcoffset()
    assert offset is not None
    return offset // timedelta(microseconds=1)


def table_texts(table: pa.Table) -> list[Sequence[str]]:
    """The rows of a table, each as the texts of its values."""
    return list(zip(*(column_texts(column) for column in table.columns), strict=True))
