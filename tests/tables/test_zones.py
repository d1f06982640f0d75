"""Zones of tables: the same instants under names that Arrow, pandas and polars know, at any depth."""

from __future__ import annotations

import polars as pl
import pyarrow as pa

from skypane.queries.functions.calls import Call
from skypane.tables.zones import with_arrow_zones


def odd(zone: str) -> pa.Table:
    stamp = pa.timestamp("us", zone)
    kinds = {
        "at": stamp,
        "there": pa.timestamp("us"),
        "in": pa.struct([("start", stamp)]),
        "many": pa.list_(stamp),
        "by": pa.map_(stamp, stamp),
    }
    values = {"at": [0, None], "there": [1, 2], "in": [{"start": 3}, None], "many": [[4, 5], []], "by": [[(6, 7)], []]}
    return pa.table({name: pa.array(values[name], kind) for name, kind in kinds.items()}).replace_schema_metadata(
        {"note": "kept"}
    )


def test_zones_are_renamed_at_any_depth() -> None:
    assert with_arrow_zones(odd("GMT+2")).equals(odd("+02:00"), check_metadata=True)
    assert (plain := odd("Asia/Tokyo")) is with_arrow_zones(plain)


def test_polars_gets_times_of_an_offset_in_utc() -> None:
    def seen(records: pl.DataFrame) -> object:
        return records["at"].dtype

    assert Call.of(seen, "function")(None, None, odd("+05:30").select(["at"])) == pl.Datetime("us", "UTC")
