"""Texts: Arrow values as people read them - times of any zone, and of years that Python's datetimes do not know."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone, tzinfo
from functools import cache
from typing import Any, Final
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)
_DAY_US: Final = 86_400_000_000
_CYCLE_US: Final = 146_097 * _DAY_US
"""After 400 years the calendar repeats, days of the week included."""
_PER_SECOND: Final = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_OFFSET: Final = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?")


def column_texts(column: pa.ChunkedArray) -> list[str]:
    """The values of a column, each as text."""
    numbers = column.cast(_with_numbers(column.type))
    return [value_text(value, column.type) for value in numbers.to_pylist()]


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
    return f"{value:.6g}" if isinstance(value, float) else str(value)


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


def instant_text(micros: int, zone: str | None) -> str:
    """A time as a clock of the zone shows it, with milliseconds; in UTC, marked Z, if the zone is none that we know."""
    known = _zone(zone) if zone is not None else timezone.utc
    days, rest_us = divmod(micros + (0 if known is None else _offset_us(micros, known)), _DAY_US)
    seconds, millis = divmod(rest_us // 1_000, 1_000)
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{millis:03d}"
    return f"{np.datetime64(days, 'D')} {clock}{'Z' if known is None else ''}"


def _offset_us(micros: int, zone: tzinfo) -> int:
    try:
        at = (_EPOCH + timedelta(microseconds=micros)).astimezone(zone)
    except OverflowError:
        at = (_EPOCH + timedelta(microseconds=micros % _CYCLE_US)).astimezone(zone)
    offset = at.utcoffset()
    assert offset is not None
    return offset // timedelta(microseconds=1)


@cache
def _zone(name: str) -> tzinfo | None:
    """Of a name that Spark takes for a zone: a place, or an offset."""
    if match := _OFFSET.fullmatch(name):
        sign, hours, minutes = match.groups()
        offset = timedelta(hours=int(hours), minutes=int(minutes or 0))
        return timezone(-offset if sign == "-" else offset) if offset < timedelta(days=1) else None
    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError):  # not found, or not the name of a zone at all
        return None


def table_texts(table: pa.Table) -> list[Sequence[str]]:
    """The rows of a table, each as the texts of its values."""
    return list(zip(*(column_texts(column) for column in table.columns), strict=True))
