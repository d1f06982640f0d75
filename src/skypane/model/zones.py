"""Zones: the names that Spark has for time zones, as those that Arrow and Python know.

Spark takes more names than they do: ``GMT+2``, ``+2``, ``Z``, and Java's abbreviations such as ``PST``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta, timezone, tzinfo
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo

_OFFSET: Final = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?(?::?(\d{2}))?")
_ABBREVIATIONS: Final[Mapping[str, str]] = {
    "Z": "UTC",
    "UT": "UTC",
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "EST": "-05:00",
    "HST": "-10:00",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "MST": "-07:00",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}
"""What Java means by them (``ZoneId.SHORT_IDS``)."""


@cache
def zone_of(name: str) -> tzinfo | None:
    """The zone that Spark means by a name: a place, an offset or an abbreviation; ``None`` if Python has none."""
    offset = _offset(_ABBREVIATIONS.get(name, name))
    if offset is not None:
        return timezone(offset) if abs(offset) < timedelta(days=1) else None
    try:
        return ZoneInfo(_ABBREVIATIONS.get(name, name))
    except (KeyError, OSError, ValueError):  # not found, or not the name of a zone at all
        return None


@cache
def arrow_zone(name: str) -> str | None:
    """The name that Arrow has for a zone of Spark's; ``None`` if it has none: an offset with seconds."""
    name = _ABBREVIATIONS.get(name, name)
    offset = _offset(name)
    if offset is None:
        return name
    minutes, seconds = divmod(abs(offset) // timedelta(seconds=1), 60)
    sign = "-" if offset < timedelta() else "+"
    return None if seconds else f"{sign}{minutes // 60:02d}:{minutes % 60:02d}"


def _offset(name: str) -> timedelta | None:
    match = _OFFSET.fullmatch(name)
    if match is None:
        return None
    sign, hours, minutes, seconds = match.groups()
    offset = timedelta(hours=int(hours), minutes=int(minutes or 0), seconds=int(seconds or 0))
    return -offset if sign == "-" else offset
