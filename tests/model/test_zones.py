"""Names of time zones that Spark takes: each means the same zone to Arrow and to Python, or has no name."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pyarrow as pa
import pytest

from skypane.model.zones import arrow_zone, zone_of

NOON = datetime(2023, 11, 14, 12, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("name", "arrow", "hours"),
    [
        ("UTC", "UTC", 0),
        ("Z", "UTC", 0),
        ("UT", "UTC", 0),
        ("GMT+2", "+02:00", 2),
        ("+2", "+02:00", 2),
        ("+02:00", "+02:00", 2),
        ("UTC-03:30", "-03:30", -3.5),
        ("+0545", "+05:45", 5.75),
        ("+18:00", "+18:00", 18),
        ("+02:00:00", "+02:00", 2),
        ("PST", "America/Los_Angeles", -8),
        ("EST", "-05:00", -5),
        ("IST", "Asia/Kolkata", 5.5),
        ("Asia/Tokyo", "Asia/Tokyo", 9),
    ],
)
def test_names_of_spark_mean_the_same_to_arrow(name: str, arrow: str, hours: float) -> None:
    assert arrow_zone(name) == arrow
    found = zone_of(name)
    assert found is not None
    assert found.utcoffset(NOON.astimezone(found)) == timedelta(hours=hours)
    micros = int(NOON.timestamp() * 1e6)
    shown = pa.scalar(micros, pa.timestamp("us", arrow)).as_py()
    assert (shown, shown.utcoffset()) == (NOON, timedelta(hours=hours))


def test_an_offset_with_seconds_has_no_name_in_arrow() -> None:
    assert arrow_zone("+01:02:03") is None
    assert zone_of("+01:02:03") == timezone(timedelta(hours=1, minutes=2, seconds=3))


@pytest.mark.parametrize("name", ["Nowhere/Town", "GMT+99", "../../etc/passwd"])
def test_a_name_that_python_does_not_know_has_no_zone(name: str) -> None:
    assert zone_of(name) is None
