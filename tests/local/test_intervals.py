"""The history of a live skyline of one table, and what it was as of an instant."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import skypane as sp
from skypane.kernels import sliding
from skypane.queries.preferences import Preferences
from skypane.queries.skyline_intervals import SkylineIntervals
from tests.support.frames import MAKERS, TYPES, rows_of

EPOCH = datetime(2026, 1, 1, tzinfo=timezone.utc)
SCHEMA = pa.schema(
    [("ts", pa.timestamp("us", "UTC")), ("city", pa.string()), ("price", pa.int64()), ("stars", pa.int64())]
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "ts": st.integers(0, 12).map(lambda us: EPOCH + timedelta(microseconds=us)),
            "city": st.sampled_from(["ulm", None]),
            "price": st.integers(0, 3),
            "stars": st.integers(0, 3),
        }
    ),
    max_size=25,
)
ASKED: dict[str, Any] = {"time": "ts", "minimize": "price", "maximize": "stars", "by": "city"}


@settings(max_examples=150, deadline=None)
@given(rows=ROWS, life=st.sampled_from([1, 3, 5, 40]), big_key_rows=st.sampled_from([2, sliding.BIG_KEY_ROWS]))
def test_intervals_equal_the_closed_form_pair_by_pair(rows: list[dict[str, Any]], life: int, big_key_rows: int) -> None:
    sliding.BIG_KEY_ROWS = big_key_rows
    found = sp.skyline_intervals(pa.Table.from_pylist(rows, SCHEMA), within=timedelta(microseconds=life), **ASKED)
    query = SkylineIntervals("ts", life, Preferences.of("price", "stars"))
    expected = [row for city in ("ulm", None) for row in query.reference([r for r in rows if r["city"] == city])]
    assert sorted(map(repr, found.to_pylist())) == sorted(
        repr(row) for row in pa.Table.from_pylist(expected, found.schema).to_pylist()
    )


@settings(max_examples=50, deadline=None)
@given(rows=ROWS, at=st.integers(0, 30))
def test_as_of_is_the_skyline_of_what_was_live_then(rows: list[dict[str, Any]], at: int) -> None:
    table, instant = pa.Table.from_pylist(rows, SCHEMA), EPOCH + timedelta(microseconds=at)
    history = sp.skyline_intervals(table, within=timedelta(microseconds=5), **ASKED)
    live = table.filter(pa.array([r["ts"] <= instant < r["ts"] + timedelta(microseconds=5) for r in rows], pa.bool_()))
    wanted = sp.skyline(live, minimize="price", maximize="stars", by="city")
    found = sp.as_of(history, instant).select(SCHEMA.names)
    assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, wanted.to_pylist()))


@pytest.mark.parametrize("library", MAKERS)
def test_every_kind_of_table_comes_back_as_what_it_was(library: str) -> None:
    times = [EPOCH + timedelta(seconds=second) for second in (0, 2, 3)]
    table = MAKERS[library](pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "price": [2, 3, 1]}))
    history = sp.skyline_intervals(table, time="ts", within="10 seconds", minimize="price")
    assert isinstance(history, TYPES[library])
    assert [(price, (low - EPOCH).seconds, (high - EPOCH).seconds) for _, price, low, high in rows_of(history)] == [
        (2, 0, 3),
        (1, 3, 13),
    ]
    now = sp.as_of(history, "2026-01-01 00:00:02.5")
    assert isinstance(now, TYPES[library])
    assert [price for _, price, _, _ in rows_of(now)] == [2]


@pytest.mark.parametrize("library", MAKERS)
@pytest.mark.parametrize(
    "kind", [pa.timestamp(unit, zone) for unit in ("ms", "us", "ns") for zone in (None, "Asia/Kolkata")]
)
def test_as_of_reads_times_of_every_zone_and_unit(library: str, kind: pa.TimestampType) -> None:
    """Without a zone the instant is meant as the table shows its times."""
    times = pa.array([EPOCH + timedelta(seconds=second) for second in (0, 2)], pa.timestamp("us", "UTC"))
    table = MAKERS[library](pa.table({"ts": times.cast(kind), "price": [2, 1]}))
    history = sp.skyline_intervals(table, time="ts", within="10 seconds", minimize="price")
    shown = "2026-01-01 05:30:01.5" if kind.tz else "2026-01-01 00:00:01.5"
    for instant in (shown, "2026-01-01 00:00:01.5+00:00", EPOCH + timedelta(seconds=1)):
        assert [row[1] for row in rows_of(sp.as_of(history, instant))] == [2]
    assert rows_of(sp.as_of(history, datetime(9000, 1, 1, tzinfo=timezone.utc))) == []


def test_nanoseconds_are_compared_as_they_are() -> None:
    times = pd.to_datetime(["2026-01-01", "2026-01-01 00:00:00.000000001"], format="ISO8601")
    history = sp.skyline_intervals(
        pd.DataFrame({"ts": times, "price": [2, 1]}), time="ts", within="1 second", minimize="price"
    )
    assert (history["valid_to"] - history["valid_from"]).tolist() == [pd.Timedelta(1, "ns"), pd.Timedelta(1, "s")]
    assert [sp.as_of(history, instant)["price"].tolist() for instant in times] == [[2], [1]]


@pytest.mark.parametrize("year", [1850, 2050, 2100])
def test_nanoseconds_reach_far(year: int) -> None:
    times = pd.to_datetime([f"{year}-01-01", f"{year}-01-02"]).as_unit("ns")
    table = pd.DataFrame({"ts": times, "price": [1, 2]})
    history = sp.skyline_intervals(table, time="ts", within="2 days", minimize="price")
    assert history["valid_from"].dt.strftime("%Y-%m-%d").tolist() == [f"{year}-01-01", f"{year}-01-03"]
    assert history["valid_to"].dt.strftime("%Y-%m-%d").tolist() == [f"{year}-01-03", f"{year}-01-04"]
    with pytest.raises(sp.DataError, match="2 rows: time out of range"):
        sp.skyline_intervals(table, time="ts", within="26000 days", minimize="price")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"time": "price"}, sp.SchemaError, "Time column 'price' has type int64; it must be a timestamp"),
        ({"time": "when"}, sp.SchemaError, "'when' is not a column"),
        ({"within": "0 s"}, sp.OptionError, "within='0 s' must be longer than zero"),
    ],
)
def test_mistakes_are_told(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        sp.skyline_intervals(SCHEMA.empty_table(), **{**ASKED, "within": "1 s", **options})
    with pytest.raises(sp.SchemaError, match="'valid_from' is not a column; as_of"):
        sp.as_of(SCHEMA.empty_table(), EPOCH)
    for instant in ("noon", pd.NaT):
        with pytest.raises(sp.OptionError, match="give a datetime, or a text such as"):
            sp.as_of(SCHEMA.empty_table(), instant)
    with pytest.raises(sp.SchemaError, match="'valid_to' has type String; it must be a timestamp"):
        sp.as_of(pa.table({"valid_from": pa.array([EPOCH]), "valid_to": ["later"]}), EPOCH)


@pytest.mark.parametrize("library", MAKERS)
def test_a_column_of_an_added_name_is_refused_not_replaced(library: str) -> None:
    table = MAKERS[library](SCHEMA.empty_table().append_column("Valid_To", pa.array([], pa.string())))
    with pytest.raises(sp.SchemaError, match="have a column 'Valid_To', which the result adds"):
        sp.skyline_intervals(table, within="1 s", **ASKED)
