"""Values as text: times of any zone and any year."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skypane.tables.texts import column_texts, instant_text, table_texts

SECOND = 1_000_000
YEAR_10000 = 253_402_300_800 * SECOND


@pytest.mark.parametrize(
    ("micros", "zone", "text"),
    [
        (0, None, "1970-01-01 00:00:00.000"),
        (-1, "UTC", "1969-12-31 23:59:59.999"),
        (0, "GMT+1", "1970-01-01 01:00:00.000"),
        (0, "UTC-03:30", "1969-12-31 20:30:00.000"),
        (0, "+0545", "1970-01-01 05:45:00.000"),
        (1_750_000_000 * SECOND, "Europe/Rome", "2025-06-15 17:06:40.000"),
        (0, "PST", "1969-12-31 16:00:00.000"),
        (0, "Nowhere/Town", "1970-01-01 00:00:00.000Z"),
        (0, "GMT+99", "1970-01-01 00:00:00.000Z"),
        (0, "../../etc/passwd", "1970-01-01 00:00:00.000Z"),
        (YEAR_10000, "UTC", "10000-01-01 00:00:00.000"),
        (YEAR_10000 - 1, "GMT+1", "10000-01-01 00:59:59.999"),
        (YEAR_10000 + 180 * 86_400 * SECOND, "Europe/Rome", "10000-06-29 02:00:00.000"),
        (2**63 - 1, "GMT+1", "294247-01-10 05:00:54.775"),
        (-(2**63), "Asia/Kathmandu", "-290308-12-22 01:44:05.224"),
    ],
)
def test_instants(micros: int, zone: str | None, text: str) -> None:
    assert instant_text(micros, zone) == text


@given(
    at=st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1)),  # noqa: DTZ001 - hypothesis wants it so
    zone=st.sampled_from(["UTC", "America/St_Johns", "Asia/Kathmandu", "Europe/Rome"]),
)
def test_instants_within_pythons_years_are_pythons(at: datetime, zone: str) -> None:
    aware = at.replace(tzinfo=timezone.utc)
    micros = (aware - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(microseconds=1)
    wanted = aware.astimezone(ZoneInfo(zone)).replace(tzinfo=None).isoformat(" ", "milliseconds")
    assert instant_text(micros, zone) == wanted


def test_windows_nested_values_and_nulls() -> None:
    stamp = pa.timestamp("us", "GMT+1")
    window = pa.struct([("start", stamp), ("end", stamp)])
    rows = [
        {"window": {"start": 0, "end": SECOND}, "day": 0, "x": 1 / 3, "many": [YEAR_10000], "by": [("a", 0)]},
        {"window": {"start": 0, "end": 2 * 86_400 * SECOND}, "day": 2**30, "x": None, "many": None, "by": None},
    ]
    plain = {
        "window": pa.array([row["window"] for row in rows], window),
        "day": pa.array([row["day"] for row in rows], pa.int32()).cast(pa.date32()),
        "x": pa.array([row["x"] for row in rows], pa.float64()),
        "many": pa.array([row["many"] for row in rows], pa.list_(stamp)),
        "by": pa.array([row["by"] for row in rows], pa.map_(pa.string(), stamp)),
    }
    assert table_texts(pa.table(plain)) == [
        (
            "1970-01-01 01:00:00.000 .. 01:00:01.000",
            "1970-01-01",
            "0.333333",
            "[10000-01-01 01:00:00.000]",
            "{a: 1970-01-01 01:00:00.000}",
        ),
        ("1970-01-01 01:00:00.000 .. 1970-01-03 01:00:00.000", "2941775-04-07", "null", "null", "null"),
    ]
    odd = pa.chunked_array(
        [pa.array([{"a": 1, "at": 5_000}], pa.struct([("a", pa.int8()), ("at", pa.timestamp("ms"))]))]
    )
    assert column_texts(odd) == ["{a: 1, at: 1970-01-01 00:00:05.000}"]


def test_microseconds_are_shown_where_there_are_some() -> None:
    times = pa.chunked_array([pa.array([1, None, SECOND], pa.timestamp("us", "UTC"))])
    assert column_texts(times) == ["1970-01-01 00:00:00.000001", "null", "1970-01-01 00:00:01.000000"]
    assert column_texts(times[1:]) == ["null", "1970-01-01 00:00:01.000"]


def test_large_numbers_keep_their_digits() -> None:
    numbers = [26374.93, 1234567.894, 100000.0, -20000.5, 0.1234567, 9999.996, 1e13, float("inf"), float("nan")]
    assert column_texts(pa.chunked_array([numbers])) == [
        "26374.93",
        "1234567.89",
        "100000",
        "-20000.5",
        "0.123457",
        "10000",
        "1e+13",
        "inf",
        "nan",
    ]
